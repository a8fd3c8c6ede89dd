"""What conditions said, for a scenario file: as the context of each turn, or, for one that changed its mind, in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from falai.session.jsontext import is_list, is_object, json_equal, json_text
from falai.web.playground.turns import Happened

__all__ = ["conditions_spec", "is_plain", "verdicts"]


def conditions_spec(turns: Sequence[Happened]) -> dict[str, Any]:
    """The conditions of the agent of these turns. By its path one looks up in a turn's context what it says there."""
    changing = _changing(turns)
    return {name: _results(turns, name) if name in changing else {"path": f"context.{name}"} for name in _names(turns)}


def verdicts(context: Any, one: Happened, turns: Sequence[Happened]) -> dict[str, Any]:
    """The context of a turn: the author's own, if it is data, and for each condition the arguments with which it held."""
    found: dict[str, Any] = dict(context) if is_plain(context) else {}
    changing = _changing(turns)
    said: dict[str, list[Any]] = {name: [] for name, _, _ in one.recorded.conditions if name not in changing}
    for name, argument, held in one.recorded.conditions:
        if held and name in said and not any(json_equal(argument, other) for other in said[name]):
            said[name].append(argument)
    return {**found, **said}


def is_plain(context: Any) -> bool:
    """Whether a context is data that a file can hold."""
    try:
        return is_object(context) and bool(json_text(context))
    except TypeError:
        return False


def _names(turns: Sequence[Happened]) -> Sequence[str]:
    return tuple(turns[0].agent.plan.conditions)


def _changing(turns: Sequence[Happened]) -> set[str]:
    """The conditions of which a context cannot tell: those that said two things of one argument in one turn, those
    whose argument is a list, which is looked for as a whole, and those whose name would be a path."""
    found = {name for name in _names(turns) if "." in name}
    for one in turns:
        said: dict[tuple[str, str], bool] = {}
        for name, argument, held in one.recorded.conditions:
            if said.setdefault((name, json_text(argument)), held) is not held or is_list(argument):
                found.add(name)
    return found


def _results(turns: Sequence[Happened], name: str) -> dict[str, Any]:
    said = [held for one in turns for called, _, held in one.recorded.conditions if called == name]
    return {"results": said or [False]}
