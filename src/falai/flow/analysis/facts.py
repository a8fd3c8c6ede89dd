"""What can be true at each step: every reachable pair of a step and a value of one field.

Each field is walked alone, so that a flow of hundreds of steps and dozens of fields stays cheap. A
walk knows less than the turn, and so takes more ways than the turn can take: what no walk reaches is
reached by no run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial

from falai.flow.analysis.judging import UNKNOWN, Domains, Judged, Values, domains_of, judge
from falai.flow.analysis.moves import Graph, Move, is_short, start_words
from falai.flow.analysis.search import Reached, search
from falai.flow.analysis.world import World
from falai.flow.definition import Collect, Do, If, OnEvent, Prompt, Say, Step
from falai.flow.plan import FlowPlan

__all__ = ["Facts"]

State = tuple[str, str]
"""A step's id and a value of the field that is walked; without a field the value is the empty text."""


class Facts:
    """One flow as the checks see it: its graph, and what is reached in it with which values."""

    def __init__(self, world: World, flow: FlowPlan) -> None:
        self.world = world
        self.flow = flow
        self.graph: Graph = world.graphs[flow.id]
        self.domains: Domains = domains_of(flow)
        self._forks = {step.id: judge(step.if_, self.domains) for step in flow.steps if isinstance(step, If)}
        self._walks: dict[str, Reached[State]] = {}

    def fork(self, step: If) -> Judged:
        """The step's condition taken apart."""
        return self._forks[step.id]

    def walk(self, slug: str) -> Reached[State]:
        """What is reached with which values of the field; of the empty text: what is reached at all."""
        if slug not in self._walks:
            self._walks[slug] = search(self._starts(slug), partial(self._ahead, slug))
        return self._walks[slug]

    def values(self, step_id: str, slug: str) -> Values:
        """The values that the field may have when a run comes to the step."""
        return frozenset(value for value in self.domains[slug] if (step_id, value) in self.walk(slug))

    @cached_property
    def reachable(self) -> frozenset[str]:
        """The steps that every walk reaches."""
        found = {step.id for step in self.flow.steps if (step.id, "") in self.walk("")}
        for slug in self.domains:
            found = {step_id for step_id in found if self.values(step_id, slug)}
        return frozenset(found)

    @cached_property
    def brought(self) -> frozenset[str]:
        """The tested fields that any message may bring."""
        return frozenset(slug for slug in self.domains if self.world.can_be_set(slug) and self.world.anywhere(slug))

    def trail(self, step_id: str) -> tuple[str, ...]:
        """The shortest way to a reachable step."""
        return self.walk("").trail((step_id, ""))

    def _starts(self, slug: str) -> Iterator[tuple[State, Callable[[], tuple[str, ...]]]]:
        first = self.graph.first
        if first is not None:
            for value in self._at_start(slug) if slug else ("",):
                yield (first, value), lambda: (start_words(self.flow),)

    def _at_start(self, slug: str) -> Values:
        """A session may hold anything when a run starts, but for what `clearOnStart` forgets (T-6.6, T-9.9)."""
        if slug not in (self.flow.flow.clear_on_start or ()):
            return self.domains[slug]
        delayed = any(isinstance(trigger, OnEvent) for trigger in self.flow.triggers)
        brought = self.world.writes_unseen or self.world.anywhere(slug) or delayed
        return self.domains[slug] if brought else frozenset((UNKNOWN,))

    def _ahead(self, slug: str, state: State) -> Iterator[tuple[State, Callable[[], tuple[str, ...]]]]:
        step_id, value = state
        for move in self.graph.moves[step_id]:
            if move.target is None:
                continue
            for after in sorted(self._after(slug, value, move)) if slug else ("",):
                yield (move.target, after), partial(_told, move, slug, value, after)

    def _after(self, slug: str, value: str, move: Move) -> Values:
        """The values that the field may have behind a move; none when the move cannot be made."""
        step = move.source
        if isinstance(step, If):
            fork = self._forks[step.id]
            open_ = fork.may_fail(slug, value) if move.exit.kind == "else" else fork.may_hold(slug, value)
            values = frozenset((value,)) if open_ else frozenset[str]()
        else:
            values = self._at_exit(slug, value, move)
        return self._cleared(slug, step) if values and slug in move.exit.clear else values

    def _at_exit(self, slug: str, value: str, move: Move) -> Values:
        step, branch = move.source, move.exit.branch
        if isinstance(step, Do):
            return self.domains[slug]
        if isinstance(step, Say) or is_short(self.flow, step):
            return frozenset((value,))
        values = self._waited(slug, frozenset((value,)))
        if isinstance(step, Collect) and slug in step.collect:
            values |= self.domains[slug] - {UNKNOWN}
        if branch is not None:
            test = judge(branch.if_, self.domains)
            values = self._waited(slug, frozenset(v for v in values if test.may_hold(slug, v)))
        return values

    def _waited(self, slug: str, values: Values) -> Values:
        """While a run waits, messages are read, and other runs of the session go on."""
        if not values:
            return values
        known = self.domains[slug] - {UNKNOWN} if self.world.sets(slug) else frozenset[str]()
        unknown = frozenset((UNKNOWN,)) if self.world.unsets(slug, self.flow) else frozenset[str]()
        return values | known | unknown

    def _cleared(self, slug: str, step: Step) -> Values:
        """A wait that ends early forgets before this message's fields are written (T-5.3, T-9.8)."""
        at_once = isinstance(step, If | Say | Do) or is_short(self.flow, step)
        late = not isinstance(step, Collect | Prompt) and self.world.anywhere(slug)
        brought = not at_once and (self.world.writes_unseen or late)
        return self.domains[slug] if brought else frozenset((UNKNOWN,))


def _told(move: Move, slug: str, before: str, after: str) -> tuple[str, ...]:
    return (*move.words, *value_words(move, slug, before, after)) if slug else move.words


def value_words(move: Move, slug: str, before: str, after: str) -> tuple[str, ...]:
    """What happens to the field on a move."""
    asks = isinstance(move.source, Collect) and slug in move.source.collect
    if slug in move.exit.clear or (before == after and not (asks and after == UNKNOWN)):
        return ()
    if asks and after == UNKNOWN == before:
        return (f"{slug} is given up",) if move.exit.branch is None else ()
    if before == UNKNOWN:
        return (f"{slug} is given" if asks else f"{slug} becomes known",)
    return (f"{slug} is forgotten",) if after == UNKNOWN else (f"{slug} changes",)
