"""Ways that go round: without an end, without a wait, or asking without bound.

A loop is *silent* when nothing in it parks the run or waits for the customer: after one round with
its fields given or given up, a step that asks is passed without a word (T-11.2), so it is silent too.
An action may defer, so a loop with one is never called silent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial

from falai.flow.analysis.facts import Facts
from falai.flow.analysis.judging import Values, is_code, tested
from falai.flow.analysis.moves import Move, is_short
from falai.flow.analysis.spots import at_step
from falai.flow.analysis.witness import Paths
from falai.flow.definition import Collect, Do, If, OnSilence, Prompt, Say, Step, Wait, WaitEvent
from falai.flow.exits import Exit, exits
from falai.flow.places import Notice, listing
from falai.flow.plan import branches_of
from falai.session.jsontext import quoted

__all__ = ["confirmations", "loops"]

_MOST_TRIES = 2000
Env = Mapping[str, Values]
Walk = Callable[[str], set[str]]
Guard = Callable[[Facts, Step], bool]


def loops(facts: Facts, paths: Paths) -> Iterator[Notice]:
    """Every loop once, at its first step in the list."""
    closed = _closed_loops(facts)
    for region in closed:
        yield from _closed(facts, region)
    inside = frozenset[str]().union(*closed)
    yield from _possible(facts, paths, inside)
    yield from _once(facts)


# --- no way to an end --------------------------------------------------------------------------


def _closed_loops(facts: Facts) -> list[frozenset[str]]:
    """The loops that are never left, each with all of its steps."""
    graph = facts.graph
    leaving = [step_id for step_id in graph.moves if step_id in facts.reachable and graph.leaves(step_id)]
    ending = set[str]().union(*(graph.before(step_id) for step_id in leaving))
    lost = [step.id for step in facts.flow.steps if step.id in facts.reachable and step.id not in ending]
    regions: dict[frozenset[str], None] = {}
    for step_id in lost:
        ahead = frozenset(graph.reach([step_id]))
        if ahead <= graph.before(step_id):
            regions[ahead] = None
    return list(regions)


def _closed(facts: Facts, region: frozenset[str]) -> Iterator[Notice]:
    steps = [step for step in facts.flow.steps if step.id in region]
    first = min(steps, key=lambda step: (len(facts.trail(step.id)), facts.flow.positions[step.id]))
    round_ = _named(steps)
    forgotten = {slug for step in steps for move in facts.graph.moves[step.id] for slug in move.exit.clear}
    if all(_is_silent(facts, step, forgotten) for step in steps):
        asked = " once nothing is left to ask for" if any(isinstance(step, Collect) for step in steps) else ""
        what = f"from here it goes round ({round_}) without a wait{asked}: the limit of 50 steps ends it as failed"
        fix = "Lead a step of the loop out of it, or wait in it"
        yield at_step(facts.flow, first).notice("endless-loop", what, fix, facts.trail(first.id))
    elif not _has_premise(facts):
        until = _until(facts, steps, forgotten)
        what = f"no step behind this one leads to an end ({round_}): it goes round {until}"
        yield at_step(facts.flow, first).notice(
            "never-ends", what, "Lead a step of the loop out of it", facts.trail(first.id)
        )


def _has_premise(facts: Facts) -> bool:
    """Whether a condition can end a run between its steps (T-7.4)."""
    return facts.flow.flow.while_ is not None or any(trigger.if_ is not None for trigger in facts.flow.triggers)


def _until(facts: Facts, steps: list[Step], forgotten: set[str]) -> str:
    """How long: a run that a silence began is over at the first wake after the customer wrote (F-6.6)."""
    triggers = facts.flow.triggers
    if all(isinstance(step, Do) or _is_silent(facts, step, forgotten) for step in steps):
        return "until the limit of 50 steps ends it as failed, unless an action defers"
    if triggers and all(isinstance(trigger, OnSilence) for trigger in triggers) and _wakes(steps):
        return "until the customer writes"
    return "for ever, and blocks the next run"


def _wakes(steps: list[Step]) -> bool:
    return any(isinstance(step, Wait | WaitEvent) for step in steps)


def _named(steps: list[Step]) -> str:
    return listing([quoted(step.id) for step in steps], "and")


def _is_silent(facts: Facts, step: Step, forgotten: set[str]) -> bool:
    if isinstance(step, Collect):
        return bool(step.collect) and not forgotten & set(step.collect)
    return isinstance(step, Say | If) or is_short(facts.flow, step)


# --- round without a wait, when conditions hold --------------------------------------------------


def _possible(facts: Facts, paths: Paths, inside: frozenset[str]) -> Iterator[Notice]:
    """Loops of silent steps whose conditions, of data alone, hold together: nothing in them can change the data."""
    found: set[str] = set()
    for step in facts.flow.steps:
        if step.id in found or step.id in inside or step.id not in facts.reachable or not _passes(facts, step):
            continue
        way = _Round(facts, step).find([dict(at.env) for at in paths.everywhere if at.step == step.id])
        if way is not None:
            found |= {move.source.id for move in way}
            yield _possible_loop(facts, step, way)


def _possible_loop(facts: Facts, step: Step, way: list[Move]) -> Notice:
    told = [
        f"{quoted(move.source.id)} {'does not hold' if move.exit.kind == 'else' else 'holds'}"
        for move in way
        if isinstance(move.source, If)
    ]
    when = f" while {listing(told, 'and')}" if told else ""
    what = f"it goes round ({_named([move.source for move in way])}) without a wait{when}: the limit of 50 steps ends it as failed"
    fix = "Clear what shall be asked again on the way back, lead elsewhere, or wait in the loop"
    trail = (*facts.trail(step.id), *(line for move in way for line in move.words))
    return at_step(facts.flow, step).notice("possible-loop", what, fix, trail)


def _passes(facts: Facts, step: Step) -> bool:
    """Whether a run can go on from the step at once, with nothing but data deciding."""
    if isinstance(step, If):
        return not is_code(step.if_)
    return _is_silent(facts, step, set())


class _Round:
    """The search for a way from a step back to it on which no two conditions contradict each other."""

    def __init__(self, facts: Facts, start: Step) -> None:
        self.facts = facts
        self.start = start
        self.tries = 0

    def find(self, envs: list[Env]) -> list[Move] | None:
        """The way round, with one of these assumptions at its start."""
        ways = (self._from(self.start, env, frozenset((self.start.id,))) for env in envs)
        return next((way for way in ways if way is not None), None)

    def _from(self, step: Step, env: Env, passed: frozenset[str]) -> list[Move] | None:
        self.tries += 1
        if self.tries > _MOST_TRIES:
            return None
        for move in self.facts.graph.moves[step.id]:
            ahead = self.facts.flow.step(move.exit.step)
            if ahead is None or move.exit.clear or move.exit.branch is not None or not _passes(self.facts, ahead):
                continue
            for narrowed in self._assumed(move, env):
                if ahead.id == self.start.id:
                    return [move]
                rest = None if ahead.id in passed else self._from(ahead, narrowed, passed | {ahead.id})
                if rest is not None:
                    return [move, *rest]
        return None

    def _assumed(self, move: Move, env: Env) -> Iterator[Env]:
        if not isinstance(move.source, If):
            if move.exit.kind in ("next", "then"):
                yield env
            return
        test = self.facts.fork(move.source)
        if move.exit.kind != "else":
            yield from _narrowed(env, test.allowed) if not test.opaque and test.silenced is not True else ()
        elif test.silenced is True:  # with the gate closed nothing would be said at all
            yield env
        else:
            for slug, allowed in test.allowed.items():
                yield from _narrowed(env, {slug: self.facts.domains[slug] - allowed})


def _narrowed(env: Env, allowed: Env) -> Iterator[Env]:
    left = {slug: env.get(slug, values) & values for slug, values in allowed.items()}
    if all(left.values()):
        yield {**env, **left}


# --- words that go out once ----------------------------------------------------------------------


def _once(facts: Facts) -> Iterator[Notice]:
    """A loop of timed waits whose every word is `once`: later rounds do nothing."""
    for step in facts.flow.steps:
        if not (isinstance(step, Say) and step.once and step.id in facts.reachable):
            continue
        region = facts.graph.reach([step.id]) & facts.graph.before(step.id)
        steps = [other for other in facts.flow.steps if other.id in region]
        loops = any(move.target in region for move in facts.graph.moves[step.id])
        waits = any(isinstance(other, Wait) for other in steps)
        if (
            loops
            and waits
            and all(isinstance(other, Wait) or (isinstance(other, Say) and other.once) for other in steps)
        ):
            what = f"it is said once, and the loop around it ({_named(steps)}) does nothing else"
            fix = "Leave out once, or lead out of the loop"
            yield at_step(facts.flow, step).key("once").notice("once-in-loop", what, fix, facts.trail(step.id))


# --- asking for ever -----------------------------------------------------------------------------


def confirmations(facts: Facts) -> Iterator[Notice]:
    """A step leads back and clears a field; from there the flow comes through a step that asks for it to
    this one again, and on the way no function and no host condition decides. Clearing sets the count of
    asks back (F-8.6), so `maxAsks` never ends it. Of what any message may bring, a branch and a way with an
    action are let pass: there the customer, or code, says each time what shall be asked anew."""
    walks = {mode: cache(partial(_unguarded, facts, guards)) for mode, guards in _GUARDS.items()}
    for step in facts.flow.steps:
        for way in exits(facts.flow, step):
            if way.step is None or facts.flow.positions[way.step] > facts.flow.positions[step.id]:
                continue
            endless = [slug for slug in dict.fromkeys(way.clear) if _is_endless(facts, walks, step, way, slug)]
            if endless:
                yield _confirmation(facts, step, endless)


def _is_endless(facts: Facts, walks: Mapping[str, Walk], step: Step, way: Exit, slug: str) -> bool:
    field = facts.world.names.fields.get(slug)
    if field is None or way.step is None or (field.mode != "asked" and way.branch is not None):
        return False
    return _comes_back(facts, walks[field.mode], way.step, step.id, slug)


def _confirmation(facts: Facts, step: Step, slugs: list[str]) -> Notice:
    named = listing([quoted(slug) for slug in slugs], "and")
    what = f"it clears {named} and goes back, and nothing ends that: {'it' if len(slugs) == 1 else 'they'} may be asked for ever"
    fix = "Put an if with a function, or a condition of your own, in between that looks at view.run.visits"
    trail = facts.trail(step.id) if step.id in facts.reachable else ()
    return at_step(facts.flow, step).notice("endless-confirmation", what, fix, trail)


def _comes_back(facts: Facts, unguarded: Walk, start: str, end: str, slug: str) -> bool:
    """Whether the flow can go from `start` through a step that asks for `slug` to `end` without code deciding."""
    asking = [s.id for s in facts.flow.steps if isinstance(s, Collect) and slug in s.collect]
    return any(step_id in unguarded(start) and end in unguarded(step_id) for step_id in asking)


def _unguarded(facts: Facts, guards: Guard, start: str) -> set[str]:
    """The steps to which the flow can come from `start`, itself among them, without passing a guard."""
    found: set[str] = set()
    ahead = [start]
    while ahead:
        step = facts.flow.step(ahead.pop())
        if step is None or step.id in found or guards(facts, step):
            continue
        found.add(step.id)
        ahead += [move.exit.step for move in facts.graph.moves[step.id] if move.exit.step is not None]
    return found


def _guarded(facts: Facts, step: Step) -> bool:
    """Whether code has a word in where this step leads."""
    if any(way.kind == "move" for way in facts.graph.ways[step.id]):
        return True
    predicates = [step.if_] if isinstance(step, If) else []
    if isinstance(step, Collect | Prompt | Wait):
        predicates += [branch.if_ for branch in branches_of(step) if branch.if_ is not None]
    return any(tested(predicate) is None for predicate in predicates)


def _acts(facts: Facts, step: Step) -> bool:
    return _guarded(facts, step) or isinstance(step, Do)


_GUARDS: Mapping[str, Guard] = {"asked": _guarded, "anywhere": _acts}
"""Mode of a field → the steps that see to it that it is not asked for ever."""
