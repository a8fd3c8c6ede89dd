"""The graph that a run walks: from each step the moves that the turn can make, told in words.

A move is an exit that can be taken. An end is drawn out by the flow's `onEnd`: `reset` leads to the
first step, `stay` to the talk step that was taken last (T-12.8, T-12.9).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from falai.flow.definition import (
    Collect,
    Do,
    If,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    Prompt,
    Say,
    Step,
    Wait,
    WaitEvent,
)
from falai.flow.durations import parse_duration
from falai.flow.exits import Exit, exits, moves_of
from falai.flow.places import listing
from falai.flow.plan import FlowPlan
from falai.flow.registries import Registries
from falai.session.jsontext import quoted

__all__ = ["Graph", "Move", "closure", "is_short", "lasts", "start_words"]

_SHORT_MS = 10_000


@dataclass(frozen=True, slots=True)
class Move:
    """From a step along an exit. `target` is a step's id; with `None` the run leaves the flow."""

    source: Step
    exit: Exit
    target: str | None

    @property
    def words(self) -> tuple[str, ...]:
        """What happens, as a trail tells it."""
        way = self.exit
        told = (*_step_words(self.source, way), *_branch_words(self.source, way), *_moved_words(self.source, way))
        forgotten = (f"{_names(way.clear)} {'is' if len(way.clear) == 1 else 'are'} forgotten",) if way.clear else ()
        over = () if not (way.ends and self.target) else (f"the flow is over and goes on at {quoted(self.target)}",)
        return (*told, *forgotten, *over)


class Graph:
    """The moves of one flow."""

    def __init__(self, flow: FlowPlan, names: Registries) -> None:
        self.flow = flow
        self.ways: Mapping[str, list[Exit]] = {
            s.id: [way for way in (*exits(flow, s), *moves_of(flow, s, names)) if _possible(flow, s, way)]
            for s in flow.steps
        }
        stays = self._stays() if flow.flow.on_end == "stay" and flow.talk_steps else ()
        self.moves: Mapping[str, tuple[Move, ...]] = {
            step.id: tuple(move for way in self.ways[step.id] for move in self._drawn(step, way, stays))
            for step in flow.steps
        }

    @property
    def first(self) -> str | None:
        return self.flow.steps[0].id if self.flow.steps else None

    def reach(self, starts: Iterable[str]) -> set[str]:
        """The steps to which a run can come from these, themselves among them."""
        return closure(starts, lambda step_id: (move.target for move in self.moves[step_id]))

    def before(self, goal: str) -> set[str]:
        """The steps from which a run can come to this one, itself among them."""
        sources: dict[str, list[str]] = {}
        for step_id, moves in self.moves.items():
            for move in moves:
                if move.target is not None:
                    sources.setdefault(move.target, []).append(step_id)
        return closure([goal], lambda step_id: sources.get(step_id, ()))

    def leaves(self, step_id: str) -> bool:
        """Whether a run can be over with this step: by the end of the flow, `stay` and `reset` included, or a chain."""
        return any(way.step is None for way in self.ways[step_id])

    def _drawn(self, step: Step, way: Exit, stays: Iterable[str]) -> Iterator[Move]:
        if not way.ends:
            yield Move(step, way, way.step)
        elif way.resets or self.flow.flow.on_end == "reset":
            yield Move(step, way, self.first)
        elif isinstance(step, Collect | Prompt) and stays:
            yield Move(step, way, step.id)
        else:
            targets = tuple(stays)
            yield from (Move(step, way, target) for target in targets or (None,))

    def _stays(self) -> tuple[str, ...]:
        """The talk steps on which a run that is over can stay: one that it took, or the last in the list."""
        reached = self._plainly({self.flow.steps[0].id})
        talks = [step.id for step in self.flow.talk_steps]
        silent = self._plainly({self.flow.steps[0].id}, without=talks)
        if any(way.ends for step_id in silent - set(talks) for way in self.ways[step_id]):
            reached |= self._plainly({talks[-1]})
        return tuple(step_id for step_id in talks if step_id in reached)

    def _plainly(self, starts: set[str], without: Iterable[str] = ()) -> set[str]:
        stop = frozenset(without)
        return closure(starts, lambda at: () if at in stop else (way.step for way in self.ways[at]))


def is_short(flow: FlowPlan, step: Step) -> bool:
    """Whether the wait only delays the next message (T-11.21)."""
    if not isinstance(step, Wait) or parse_duration(step.wait) > _SHORT_MS:
        return False
    ahead = flow.step(exits(flow, step)[0].step)
    return isinstance(ahead, Say | Collect | Prompt)


def lasts(flow: FlowPlan, step: Step) -> bool:
    """Whether other runs can go on while one stands at the step."""
    return isinstance(step, Collect | Prompt | Wait | WaitEvent) and not is_short(flow, step)


def start_words(flow: FlowPlan) -> str:
    """How a trail begins."""
    trigger = flow.triggers[0] if flow.triggers else None
    match trigger:
        case OnAnyMessage():
            return "starts on any message"
        case OnMessage():
            return "starts on a message"
        case OnMention():
            return "starts when it is mentioned" if trigger.phrases else "starts beside every message"
        case OnEvent():
            return f"starts on the event {quoted(trigger.event)}"
        case None:
            return "starts"
        case _:
            return "starts on silence"


def _possible(flow: FlowPlan, step: Step, way: Exit) -> bool:
    """Whether the turn ever takes this exit (T-5.3, T-11.21)."""
    if not isinstance(step, Wait) or way.kind in ("next", "then"):
        return True
    if is_short(flow, step) or step.else_ is None:
        return False
    return way.branch is None or way.branch.when is None


def _step_words(step: Step, way: Exit) -> tuple[str, ...]:
    name = quoted(step.id)
    match step:
        case Collect():
            return (f"{name} asks for {_names(step.collect)}",) if step.collect else (f"{name} speaks",)
        case Prompt():
            return (f"{name} speaks",)
        case Say():
            return (f"{name} is said",)
        case Do():
            return (f"{name} is done" if way.kind != "onFail" else f"{name} fails",)
        case Wait():
            early = way.kind in ("else", "branch")
            return (f"{name} waits {step.wait}" + (", and the customer writes" if early else ""),)
        case If():
            return (f"{name} {'does not hold' if way.kind == 'else' else 'holds'}",)
        case _:
            return (f"{name} waits for {quoted(step.event)}" + (", which does not come" if way.kind == "else" else ""),)


def _branch_words(step: Step, way: Exit) -> tuple[str, ...]:
    if way.branch is None:
        return ()
    said = (
        quoted(way.branch.when) if way.branch.when is not None else f"{way.path.partition('.')[0]} of {quoted(step.id)}"
    )
    return (f"the branch {said} is taken",)


def _moved_words(step: Step, way: Exit) -> tuple[str, ...]:
    if way.kind != "move":
        return ()
    return ("its action moves the run" if isinstance(step, Do) else "a tool moves the run",)


def _names(slugs: Iterable[str]) -> str:
    return listing(list(dict.fromkeys(slugs)), "and")


def closure(starts: Iterable[str], ahead: Callable[[str], Iterable[str | None]]) -> set[str]:
    """All that is ahead of these, themselves among it."""
    found: set[str] = set()
    left = list(starts)
    while left:
        step_id = left.pop()
        if step_id not in found:
            found.add(step_id)
            left += [target for target in ahead(step_id) if target is not None]
    return found
