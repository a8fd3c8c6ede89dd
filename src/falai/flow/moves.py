"""What an action or a tool may hand back beside its result: a move of the run, and a text to say.

A move is what a step's `then` may be (F-8.5), or a reset; it comes as an object or in wire form.
What comes back while a turn runs is read here, and what is wrong is said in words, never raised out
of the turn. Where an action or a tool may lead it declares as *aims*: a move without what it does on
the way. So the checks know every way through a flow, whatever code decides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal, NamedTuple

from falai.errors import Problem
from falai.flow.definition import Move, Reset, To, ToFlow
from falai.flow.places import Finding, Place, listing
from falai.session.jsontext import is_list, is_object, quoted, show, to_plain

__all__ = ["NOTHING", "Aim", "Beside", "aim_of", "check_moves", "read_aims", "read_beside"]

_PLACES = {"end": "end", "reset": "start"}
_MEMBERS: Mapping[str, tuple[str, ...]] = {"step": ("step", "clear"), "flow": ("flow", "input"), "reset": ("reset",)}


class Aim(NamedTuple):
    """Where a move leads: to a step or a flow by its id, to the end of the flow, or to its start once more."""

    kind: Literal["step", "flow", "end", "reset"]
    name: str = ""

    @property
    def words(self) -> str:
        """The aim as an author reads it."""
        return f"the {self.kind} {quoted(self.name)}" if self.name else f"the {_PLACES[self.kind]} of the flow"


class Beside(NamedTuple):
    """What stands beside a result, read."""

    move: Move | None = None
    say: str | None = None


NOTHING = Beside()


def read_beside(move: object, say: object, declared: Collection[Aim]) -> Beside:
    """The move and the text of a result; null is absent (T-11.18).

    Raises `ValueError`, in words that follow the name of what returned it, when the text is none, and
    when the move is none or is not among the `declared` aims.
    """
    if move is None and say is None:
        return NOTHING
    if say is not None and not (isinstance(say, str) and say.strip()):
        raise ValueError(f"returned {show(say)} to say, and a text is expected")
    return Beside(None if move is None else _declared_move(move, declared), say)


def _declared_move(raw: object, declared: Collection[Aim]) -> Move:
    try:
        move = read_move(raw)
    except ValueError as wrong:
        raise ValueError(f"returned a move that cannot be made: {wrong}") from None
    aim = aim_of(move)
    if aim not in declared:
        known = listing([one.words for one in declared], "and") if declared else "none"
        raise ValueError(f"returned a move to {aim.words}, which is not among the moves that it declares ({known})")
    return move


def read_move(raw: object) -> Move:
    """A move, as an object or in wire form. Raises `ValueError` for anything else."""
    if isinstance(raw, str):
        return _name(raw, "the move")
    given = _members(raw)
    kinds = [kind for kind in _MEMBERS if kind in given]
    if len(kinds) != 1:
        found = f"{' and '.join(kinds)} are given" if kinds else f"{show(raw)} is given"
        raise ValueError(f"a move names one of step, flow and reset, and {found}")
    for member in given:
        if member not in _MEMBERS[kinds[0]]:
            raise ValueError(f"a move to a {kinds[0]} has no {show(member)}")
    return _MAKERS[kinds[0]](given)


def aim_of(move: Move) -> Aim:
    """Where a move leads."""
    match move:
        case Reset():
            return Aim("reset")
        case To():
            return Aim("step", move.step)
        case ToFlow():
            return Aim("flow", move.flow)
        case _:
            return Aim("end") if move == "end" else Aim("step", move)


def read_aims(declared: Any, place: Place) -> tuple[tuple[Aim, ...], list[Problem]]:
    """The aims that an action or a tool declares in `moves`, and what is wrong with them."""
    here = place.key("moves")
    if declared is None:
        return (), []
    if not is_list(declared):
        return (), [here.problem("bad-definition", f"moves is {show(declared)}", "Write a list of moves")]
    aims: dict[Aim, None] = {}
    problems: list[Problem] = []
    for index, raw in enumerate(declared):
        try:
            aims[_declared(raw)] = None
        except ValueError as wrong:
            fix = 'Write a step\'s id, "end", ToFlow("<flow>") or Reset()'
            problems.append(here.item(index).problem("bad-definition", f"{here.name}[{index}]: {wrong}", fix))
    return tuple(aims), problems


def check_moves(
    moves: Iterable[Aim], who: str, place: Place, steps: Collection[str], flows: Sequence[str] | None
) -> Iterator[Finding]:
    """Whether the steps and flows are there to which an action, or a tool, says that it may move."""
    for aim in moves:
        what = f"{who} may move to {aim.words}"
        if aim.kind == "step" and aim.name not in steps:
            yield place.problem("unknown-step", f"{what}, and there is no such step", "Add it, or take it out of moves")
        elif aim.kind == "flow" and flows is not None and aim.name not in flows:
            yield place.notice("unknown-flow", f"{what}, and there is no such flow", "Add it, or take it out of moves")


def _declared(raw: object) -> Aim:
    """What a move does on the way is said by the result that makes it: a declaration says where it leads."""
    move = read_move(raw)
    if isinstance(move, To | ToFlow) and (getattr(move, "clear", None) or getattr(move, "input", None) is not None):
        raise ValueError("it says more than where the move leads, and that is for the result to say")
    if isinstance(move, ToFlow) and "{{" in move.flow:
        raise ValueError(f"{show(move.flow)} has a placeholder, and a move names its flow as it is")
    return aim_of(move)


def _members(raw: object) -> Mapping[str, Any]:
    if isinstance(raw, Reset):
        return {"reset": True}
    if isinstance(raw, To | ToFlow):
        raw = {field.name: getattr(raw, field.name) for field in fields(raw)}
    return {key: value for key, value in raw.items() if value is not None} if is_object(raw) else {}


def _to(given: Mapping[str, Any]) -> Move:
    clear = given.get("clear", ())
    if not is_list(clear) or not all(isinstance(slug, str) for slug in clear):
        raise ValueError(f"clear is {show(clear)}, and a list of fields is expected")
    return To(_name(given["step"], "step"), clear=tuple(clear))


def _to_flow(given: Mapping[str, Any]) -> Move:
    try:
        return ToFlow(_name(given["flow"], "flow"), input=to_plain(given.get("input"), "input"))
    except TypeError as error:
        raise ValueError(str(error)) from None


def _reset(given: Mapping[str, Any]) -> Move:
    if given["reset"] is not True:
        raise ValueError(f"reset is {show(given['reset'])}, and true is expected")
    return Reset()


_MAKERS = {"step": _to, "flow": _to_flow, "reset": _reset}


def _name(value: object, what: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{what} is {show(value)}, and an id is expected")
    return value
