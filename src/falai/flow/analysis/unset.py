"""Fields that a template names before they have a value, and fields that are forgotten for good."""

from __future__ import annotations

from collections.abc import Iterator

from falai.flow.analysis.facts import Facts
from falai.flow.analysis.judging import UNKNOWN, tested
from falai.flow.analysis.moves import lasts
from falai.flow.analysis.search import Reached
from falai.flow.analysis.spots import at_step
from falai.flow.analysis.uses import Use, flow_uses, step_uses
from falai.flow.analysis.witness import At, Paths
from falai.flow.analysis.world import asked_in
from falai.flow.definition import Collect, Do, If, Predicate, Prompt, Say, Step, Wait
from falai.flow.exits import Exit, exits
from falai.flow.places import Notice
from falai.flow.plan import branches_of
from falai.session.jsontext import quoted

__all__ = ["forgotten_for_good", "never_set", "unset"]


# --- nothing sets it ---------------------------------------------------------------------------


def never_set(facts: Facts) -> Iterator[Notice]:
    """Templates that name a field which no step asks for, no message brings and no code writes (T-11.20, T-15.5)."""
    for use in flow_uses(facts.flow):
        yield from _never_set(facts, use, ())
    for step in facts.flow.steps:
        if step.id in facts.reachable:
            for use in step_uses(facts.flow, step):
                yield from _never_set(facts, use, facts.trail(step.id))


def _never_set(facts: Facts, use: Use, trail: tuple[str, ...]) -> Iterator[Notice]:
    if not facts.world.can_be_set(use.slug):
        declared = use.slug in facts.world.names.fields
        why = (
            "nothing in these flows sets it"
            if declared
            else "there is no such field, and nothing in these flows sets it"
        )
        fix = "Ask for it, correct its name, or silence this when the host writes it into the session"
        yield use.place.notice("never-set", f"{{{{data.{use.slug}}}}} never has a value: {why}", fix, trail)


# --- some path comes without it ----------------------------------------------------------------


def unset(facts: Facts, paths: Paths) -> Iterator[Notice]:
    """Fixed texts and parameters to which a path leads without a field that they name."""
    safe = tested(facts.flow.flow.while_) or set[str]()
    brought = {*asked_in(facts.flow.steps), *facts.world.forgetters} - safe
    for slug, uses in _fixed_uses(facts).items():
        if slug in brought:
            reached = paths.without(slug)
            for step, use in uses:
                yield from _unset(facts, step, use, reached)


def _fixed_uses(facts: Facts) -> dict[str, list[tuple[Step, Use]]]:
    """Field → the steps that name it, each with its first use."""
    found: dict[str, dict[str, tuple[Step, Use]]] = {}
    for step in facts.flow.steps:
        for use in step_uses(facts.flow, step) if step.id in facts.reachable else ():
            if use.fixed:
                found.setdefault(use.slug, {}).setdefault(step.id, (step, use))
    return {slug: list(by_step.values()) for slug, by_step in found.items()}


def _unset(facts: Facts, step: Step, use: Use, reached: Reached[At]) -> Iterator[Notice]:
    own = isinstance(step, Collect) and use.slug in step.collect
    for at in reached:
        code, why, fix = _OWN if own else _told(facts, use.slug, at)
        if at.step == step.id and code and _goes_out(facts, step, [earlier.step for earlier in reached.path(at)], at):
            what = f"{{{{data.{use.slug}}}}} may have no value: {why}"
            yield use.place.notice(code, what, fix, reached.trail(at))
            return


_OWN = ("asked-late", "the question goes out only while it is not known", "Take it out of the question")


def _goes_out(facts: Facts, step: Step, path: list[str], at: At) -> bool:
    """Whether the text is sent on that path: `once` on the first visit (T-11.7); a question only while each
    field of its step is unknown and was not asked for (T-16.2)."""
    before = set(path[:-1])
    if at.phase == "forgotten" and at.by:
        before |= facts.graph.before(at.by)
    if isinstance(step, Say):
        return not step.once or step.id not in before
    if not isinstance(step, Collect):
        return True
    env = dict(at.env)
    asked = asked_in(other for other in facts.flow.steps if other.id in before)
    return not set(asked) & set(step.collect) and all(UNKNOWN in env.get(slug, {UNKNOWN}) for slug in step.collect)


def _told(facts: Facts, slug: str, at: At) -> tuple[str, str, str]:
    guard = f'Put a step before it with {{"known": [{quoted(slug)}]}} as its if, or another text'
    match at.phase:
        case "given up":
            return "maybe-unset", f"the step {quoted(at.by)} gives up asking after a while", guard
        case "left":
            return "maybe-unset", f"the step {quoted(at.by)} can be left before it has been answered", guard
        case "forgotten":
            where = f"on the way out of the step {quoted(at.by)}" if at.by else "when the flow starts"
            return "cleared-use", f"it is forgotten {where}", guard
        case "straight" if facts.world.askers.get(slug) == frozenset((facts.flow.id,)):
            return "asked-late", "the flow asks for it only later", "Ask first, or write another text"
        case _:
            return "", "", ""


# --- forgotten, looked at again, not asked for ---------------------------------------------------


def forgotten_for_good(facts: Facts) -> Iterator[Notice]:
    """`clear` takes a field away that steps behind it look at, and nothing behind it can bring it back."""
    for step in facts.flow.steps:
        for way in exits(facts.flow, step) if step.id in facts.reachable else ():
            for slug in dict.fromkeys(way.clear):
                yield from _for_good(facts, step, way, slug)


def _for_good(facts: Facts, step: Step, way: Exit, slug: str) -> Iterator[Notice]:
    reached = facts.graph.reach([way.step or ""])
    behind = [step for step in facts.flow.steps if step.id in reached]
    if facts.world.anywhere(slug) or facts.world.names.tools or any(_brings(s, slug) for s in behind):
        return
    if facts.world.gives(slug, facts.flow) and any(lasts(facts.flow, s) for s in (step, *behind)):
        return
    looking = next((s for s in behind if _looks_at(facts, s, slug)), None)
    if looking is not None:
        what = f"{quoted(slug)} is forgotten, the step {quoted(looking.id)} looks at it, and nobody asks for it again"
        fix = "Lead back to the step that asks for it, or keep it"
        yield (
            at_step(facts.flow, step)
            .key(way.path)
            .key("clear")
            .notice("clear-unasked", what, fix, facts.trail(step.id))
        )


def _brings(step: Step, slug: str) -> bool:
    return isinstance(step, Do) or (isinstance(step, Collect) and slug in step.collect)


def _looks_at(facts: Facts, step: Step, slug: str) -> bool:
    tests: list[Predicate | None] = [step.if_] if isinstance(step, If) else []
    if isinstance(step, Collect | Prompt | Wait):
        tests += [branch.if_ for branch in branches_of(step)]
    named = any(use.slug == slug for use in step_uses(facts.flow, step))
    return named or any(slug in (tested(test) or ()) for test in tests)
