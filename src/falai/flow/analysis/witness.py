"""Paths on which one field has no value: each is a path that a run can take.

Where `facts` takes more ways than there are, this takes fewer. It keeps what the path has assumed of
the other fields, so that no path needs a condition to hold here and to fail there. Once the field
should have been there, a function or an action ends the path: either may have seen to it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from itertools import chain
from typing import NamedTuple

from falai.flow.analysis.facts import Facts, value_words
from falai.flow.analysis.judging import UNKNOWN, Values, is_code, judge
from falai.flow.analysis.moves import Move, lasts, start_words
from falai.flow.analysis.search import Reached, search
from falai.flow.definition import Branch, Collect, Do, If, Prompt, Say, Step, Wait, WaitEvent
from falai.flow.exits import Exit
from falai.flow.plan import branches_of

__all__ = ["At", "Paths"]

_MOST = 3
"""How many assumptions are followed to one step in one phase: enough for small forks, and bounded."""

Env = Mapping[str, Values]
Packed = tuple[tuple[str, Values], ...]
Ahead = tuple["At", Callable[[], tuple[str, ...]]]


class At(NamedTuple):
    """A step to which a path leads without the field.

    `phase`: `straight` from a trigger without a fork; `open` before anything was asked; `given up` or
    `left` behind the step `by` that asks for it; `forgotten` since it was cleared.
    """

    step: str
    phase: str
    by: str = ""
    env: Packed = ()

    @property
    def late(self) -> bool:
        return self.phase not in ("straight", "open")


class Paths:
    """The paths of one flow."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts

    @cached_property
    def everywhere(self) -> Reached[At]:
        """Where runs come at all, and what they have assumed."""
        return self._search("", _starts(self._facts, ""))

    def without(self, slug: str) -> Reached[At]:
        """Where runs come without the field: since their start, or since it was cleared."""
        return self._search(slug, chain(_starts(self._facts, slug), self._clearing(slug)))

    def _search(self, slug: str, starts: Iterable[Ahead]) -> Reached[At]:
        known: defaultdict[tuple[str, str], set[At]] = defaultdict(set)

        def ahead(at: At) -> Iterator[Ahead]:
            for move, target, phase, by in _moves(self._facts, slug, at):
                found = known[target, phase]
                for env in _behind(self._facts, slug, slug, move, at) if len(found) < _MOST else ():
                    after = At(target, phase, by, env)
                    if after not in found and len(found) < _MOST:
                        found.add(after)
                        yield after, partial(_words, move, slug)

        return search(starts, ahead)

    def _clearing(self, slug: str) -> Iterator[Ahead]:
        """Behind each move that clears the field, which may have been known until then."""
        for at in self.everywhere if slug in self._facts.world.forgetters else ():
            for move in self._facts.graph.moves[at.step]:
                if slug in move.exit.clear and move.target is not None:
                    for env in _behind(self._facts, "", slug, move, at):
                        yield At(move.target, "forgotten", at.step, env), partial(self._told, at, move)

    def _told(self, at: At, move: Move) -> tuple[str, ...]:
        return (*self.everywhere.trail(at), *move.words)


def _starts(facts: Facts, slug: str) -> Iterator[Ahead]:
    first = facts.graph.first
    if first is None:
        return
    forgotten = slug in (facts.flow.flow.clear_on_start or ())
    tests = [judge(trigger.if_, facts.domains) for trigger in facts.flow.triggers]
    fitting = [test for test in tests if slug not in test.allowed]
    for test in fitting or ([] if tests else [judge(None, facts.domains)]):
        if test.silenced is True:
            continue
        phase = "forgotten" if forgotten else "open" if test.code or not tests else "straight"
        for begun in _narrowed(facts, slug, _at_start(facts), test.allowed):
            for env in _narrowed(facts, slug, begun, judge(facts.flow.flow.while_, facts.domains).allowed):
                yield At(first, phase, env=_packed(facts, env)), lambda: (start_words(facts.flow),)


def _at_start(facts: Facts) -> Env:
    """No value for a field that no other flow and no message brings, nor for what `clearOnStart` forgets, if no message of the
    same turn can bring it (T-9.9)."""
    forgotten = facts.flow.flow.clear_on_start or ()
    return {
        slug: frozenset((UNKNOWN,))
        for slug in facts.domains
        if not facts.world.brings(slug, facts.flow) or (slug in forgotten and not facts.world.anywhere(slug))
    }


def _premise(facts: Facts, slug: str, step: Step, env: Env) -> Iterator[Env]:
    """What must hold when a run goes on after it has waited (T-7.4)."""
    flow = facts.flow.flow
    tests = [flow.while_] if flow.while_ is not None else [trigger.if_ for trigger in facts.flow.triggers]
    envs = [env]
    for test in tests if lasts(facts.flow, step) else ():
        allowed = judge(test, facts.domains).allowed
        envs = [narrowed for one in envs for narrowed in _narrowed(facts, slug, one, allowed)]
    yield from envs


def _moves(facts: Facts, slug: str, at: At) -> Iterator[tuple[Move, str, str, str]]:
    """The moves that are followed, each with its target, and the phase behind it."""
    step = facts.flow.step(at.step)
    if step is None or (at.late and _may_see_to_it(step)):
        return
    for move in facts.graph.moves[at.step]:
        if move.exit.step is not None and move.target is not None and move.exit.kind != "move":
            yield move, move.target, *_phase(slug, step, move.exit, at)


def _behind(facts: Facts, before: str, slug: str, move: Move, at: At) -> Iterator[Packed]:
    """What is assumed behind a move, without the field `before` it and without the field `slug` after it."""
    cleared = {name: frozenset((UNKNOWN,)) for name in move.exit.clear if name in facts.domains}
    for env in _assumed(facts, before, move, dict(at.env)):
        for behind in _premise(facts, slug, move.source, {**env, **cleared}):
            yield _packed(facts, behind)


def _may_see_to_it(step: Step) -> bool:
    if isinstance(step, If):
        return is_code(step.if_)
    coded = isinstance(step, Collect | Prompt | Wait) and any(is_code(b.if_) for b in branches_of(step))
    return coded or isinstance(step, Do)


def _phase(slug: str, step: Step, way: Exit, at: At) -> tuple[str, str]:
    if slug in way.clear:
        return "forgotten", step.id
    if isinstance(step, Collect) and slug in step.collect:
        return ("given up", step.id) if way.branch is None else ("left", step.id)
    forked = isinstance(step, If | Do | WaitEvent) or way.kind in ("else", "branch", "onFail")
    return ("open" if forked and at.phase == "straight" else at.phase), at.by


def _assumed(facts: Facts, slug: str, move: Move, env: Env) -> Iterator[Env]:
    """What a run assumes on a move, in each of the ways in which it can come about; none when it cannot."""
    step, branch = move.source, move.exit.branch
    if isinstance(step, If):
        test = facts.fork(step)
        if move.exit.kind != "else":
            yield from _narrowed(facts, slug, env, test.allowed) if test.silenced is not True else ()
            return
        for name, allowed in test.allowed.items():
            yield from _narrowed(facts, slug, env, {name: facts.domains[name] - allowed})
        if test.may_fail_aloud:
            yield env
        return
    later = env if isinstance(step, Say) else _waited(facts, step, env)
    yield from [later] if branch is None else _of_branch(facts, slug, later, branch)


def _of_branch(facts: Facts, slug: str, env: Env, branch: Branch) -> Iterator[Env]:
    test = judge(branch.if_, facts.domains)
    yield from _narrowed(facts, slug, env, test.allowed) if test.silenced is not True else ()


def _narrowed(facts: Facts, slug: str, env: Env, allowed: Env) -> Iterator[Env]:
    narrowed = dict(env)
    for name, values in allowed.items():
        whole = frozenset((UNKNOWN,)) if name == slug else env.get(name, facts.domains.get(name, values))
        left = whole & values
        if not left:
            return
        if name != slug:
            narrowed[name] = left
    yield narrowed


def _waited(facts: Facts, step: Step, env: Env) -> Env:
    """While a run waits, a field that it asks for, or that any message may bring, can get its value: nothing is
    assumed of it any more. An action may do as it likes."""
    if isinstance(step, Do):
        return {}
    brought = facts.brought.union(step.collect) if isinstance(step, Collect) else facts.brought
    return {name: values for name, values in env.items() if UNKNOWN not in values or name not in brought}


def _words(move: Move, slug: str) -> tuple[str, ...]:
    return (*move.words, *value_words(move, slug, UNKNOWN, UNKNOWN))


def _packed(facts: Facts, env: Env) -> Packed:
    """What differs from nothing assumed at all."""
    return tuple((name, env[name]) for name in sorted(env) if env[name] != facts.domains.get(name))
