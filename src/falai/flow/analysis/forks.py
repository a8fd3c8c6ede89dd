"""Steps that nothing reaches, and forks that are none: ways out that are always, or never, taken."""

from __future__ import annotations

from collections.abc import Iterator

from falai.flow.analysis.facts import Facts
from falai.flow.analysis.judging import OTHER, UNKNOWN, judge, tested
from falai.flow.analysis.moves import is_short
from falai.flow.analysis.spots import at_step
from falai.flow.definition import Branch, Collect, If, Predicate, Prompt, Step, ToFlow, Wait, WaitEvent
from falai.flow.exits import exits
from falai.flow.places import Notice, listing
from falai.flow.plan import branches_of
from falai.session.jsontext import json_equal, quoted

__all__ = ["forks"]


def forks(facts: Facts) -> Iterator[Notice]:
    """Every finding of this file, step by step."""
    for step in facts.flow.steps:
        if step.id not in facts.reachable:
            yield _unreachable(facts, step)
            continue
        if isinstance(step, If | Wait | WaitEvent):
            yield from _same_exits(facts, step)
        if isinstance(step, If):
            yield from _decided(facts, step)
        if isinstance(step, Collect):
            yield from _never_asks(facts, step)
        if isinstance(step, Wait):
            yield from _dead_exits(facts, step)
        if isinstance(step, Collect | Prompt | Wait):
            yield from _shadowed(facts, step)
        if isinstance(step, Collect | Prompt):
            yield from _too_late(facts, step)


def _unreachable(facts: Facts, step: Step) -> Notice:
    """The likeliest reason is told: a fork without an else is over, and does not go on to the next step (F-8.32)."""
    before = facts.flow.steps[max(facts.flow.positions[step.id] - 1, 0)]
    what, fix = "no path leads here", "Lead a step to it, or take it out"
    if isinstance(before, If) and before.id in facts.reachable and before.else_ is None and before.then is not None:
        what += f": {quoted(before.id)} has no else, so the flow ends there when its condition does not hold"
        fix = f"Give {quoted(before.id)} an else that leads here, or take the step out"
    return at_step(facts.flow, step).notice("unreachable", what, fix)


# --- exits -------------------------------------------------------------------------------------


def _same_exits(facts: Facts, step: If | Wait | WaitEvent) -> Iterator[Notice]:
    """`then` and `else` lead to one place, with the same fields forgotten and the same input."""
    if not _leads_alike(facts, step) or (isinstance(step, Wait) and (step.branches or is_short(facts.flow, step))):
        return
    fix = "Give else a target of its own" if isinstance(step, If) else "Give else a target of its own, or leave it out"
    yield at_step(facts.flow, step).notice("same-exits", _alike_words(facts, step), fix, facts.trail(step.id))


def _leads_alike(facts: Facts, step: If | Wait | WaitEvent) -> bool:
    ways = {way.kind: way for way in exits(facts.flow, step)}
    then, other = ways.get("then") or ways["next"], ways.get("else")
    if other is None or (then.step, then.flow, set(then.clear)) != (other.step, other.flow, set(other.clear)):
        return False
    return json_equal(_input(step.then), _input(step.else_))


def _input(target: object) -> object:
    return target.input if isinstance(target, ToFlow) else None


def _alike_words(facts: Facts, step: If | Wait | WaitEvent) -> str:
    way = exits(facts.flow, step)[0]
    place = f"the step {quoted(way.step)}" if way.step else f"the flow {quoted(way.flow)}" if way.flow else "the end"
    match step:
        case If():
            return f"whether the condition holds or not, {place} comes next"
        case Wait():
            return f"whether the customer writes or not, {place} comes next"
        case _:
            return f"whether {quoted(step.event)} comes or not, {place} comes next"


def _decided(facts: Facts, step: If) -> Iterator[Notice]:
    fork = facts.fork(step)
    values = {slug: facts.values(step.id, slug) for slug in fork.allowed}
    failing = [slug for slug in values if not values[slug] & fork.allowed[slug]]
    if not failing and (fork.open or any(values[slug] - fork.allowed[slug] for slug in values)):
        return
    if _leads_alike(facts, step):
        return
    if failing:
        what = f"it never holds: {_state(failing[0], values[failing[0]])} on every path that leads here"
    elif values:
        what = (
            f"it always holds: {listing([_state(s, values[s]) for s in values], 'and')} on every path that leads here"
        )
    else:
        what = "it always holds: it tests nothing"
    fix = "Take the step out, or test what you meant"
    yield at_step(facts.flow, step).key("if").notice("decided-if", what, fix, facts.trail(step.id))


def _state(slug: str, values: frozenset[str]) -> str:
    if values <= {UNKNOWN}:
        return f"{slug} is not known"
    literal = next(iter(values)) if len(values) == 1 else OTHER
    if literal != OTHER:
        return f"{slug} is {literal.removeprefix('= ')}"
    return f"{slug} is known" if UNKNOWN not in values else f"{slug} has another value"


def _never_asks(facts: Facts, step: Collect) -> Iterator[Notice]:
    if step.collect and all(s in facts.domains and UNKNOWN not in facts.values(step.id, s) for s in step.collect):
        named = listing(list(dict.fromkeys(step.collect)), "and")
        what = f"it never asks: {named} {'is' if len(set(step.collect)) == 1 else 'are'} known on every path that leads here"
        fix = "Take the step out, or clear what it shall ask for anew on the way to it"
        yield at_step(facts.flow, step).notice("never-asks", what, fix, facts.trail(step.id))


def _dead_exits(facts: Facts, step: Wait) -> Iterator[Notice]:
    """A short wait only delays the next message (T-11.21); without `else` branches are not looked at (T-5.3)."""
    place = at_step(facts.flow, step)
    if is_short(facts.flow, step):
        names = [name for name in ("else", "branches") if getattr(step, "else_" if name == "else" else name)]
        for name in names:
            never = "else is never taken" if name == "else" else "nothing looks at its branches"
            what = f"{never}: a wait of at most 10s before words only delays them"
            fix = "Wait longer, or take it out"
            yield place.key(name).notice("dead-exit", what, fix, facts.trail(step.id))
    elif step.else_ is None:
        for index, branch in enumerate(branches_of(step)):
            if branch.when is None:  # W4 speaks of the others
                what = "nothing looks at this branch: a wait without else goes on when its time is over, not at a reply"
                there = place.key("branches").item(index)
                yield there.notice("unjudged-branch", what, "Give the step an else", facts.trail(step.id))


# --- branches ----------------------------------------------------------------------------------


def _shadowed(facts: Facts, step: Collect | Prompt | Wait) -> Iterator[Notice]:
    """An earlier branch hits whenever this one does (T-9.11). What differs while a run stays is let pass."""
    branches = branches_of(step)
    for index, later in enumerate(branches):
        staying = facts.flow.flow.on_end == "stay"
        wide = [i for i in range(index) if _covers(facts, branches[i], later)]
        found = [i for i in wide if not (staying and branches[i].when is None)]
        if found:
            what = f"branches[{found[0]}] is taken whenever this one could be"
            place = at_step(facts.flow, step).key("branches").item(index)
            yield place.notice("shadowed-branch", what, "Put it first, or take it out", facts.trail(step.id))


def _covers(facts: Facts, earlier: Branch, later: Branch) -> bool:
    if earlier.when is not None and (later.when is None or earlier.when.strip() != later.when.strip()):
        return False
    return earlier.if_ is None or _follows(facts, earlier.if_, later.if_)


def _follows(facts: Facts, wide: Predicate, narrow: Predicate | None) -> bool:
    """Whether `wide` holds whenever `narrow` does: of fields by their values, of all else when both say the same."""
    if callable(wide) or callable(narrow):
        return wide is narrow
    given, needed = judge(narrow, facts.domains).allowed, judge(wide, facts.domains)
    if any(not given.get(slug, facts.domains[slug]) <= values for slug, values in needed.allowed.items()):
        return False
    by_value = ("known",) if needed.opaque else ("known", "equals")
    said = narrow or {}
    return all(name in by_value or (name in said and json_equal(said[name], wide[name])) for name in wide)


def _too_late(facts: Facts, step: Collect | Prompt) -> Iterator[Notice]:
    """A step with nothing to ask for goes on at once (T-15.10); so does one whose only answer has been read."""
    if facts.flow.flow.on_end == "stay":
        return
    place = at_step(facts.flow, step).key("branches")
    if not (isinstance(step, Collect) and step.collect):
        if step.branches:
            what = "the step asks for nothing, so it speaks and goes on in the same turn: no answer is waited for"
            fix = "Ask for a field there, or put the branches on a wait with an else"
            yield place.notice("branch-too-late", what, fix, facts.trail(step.id))
        return
    for index, branch in enumerate(branches_of(step)):
        slug = _read_by_reply(facts, step, branch)
        if slug is not None:
            what = f"{quoted(slug)} is read by the reply of this step, which then goes on at once: the branch comes too late"
            fix = "Put an if step behind this one"
            yield place.item(index).key("if").notice("branch-too-late", what, fix, facts.trail(step.id))


def _read_by_reply(facts: Facts, step: Collect, branch: Branch) -> str | None:
    """The one field of the step, when only the step's own reply reads it and the branch needs it."""
    (slug, *others) = dict.fromkeys(step.collect)
    field = facts.world.names.fields.get(slug)
    needed = tested(branch.if_) or ()
    return slug if not others and field is not None and field.mode == "asked" and slug in needed else None
