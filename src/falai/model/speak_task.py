"""What the speak call is asked, as plain data: every template rendered, every name given out (M-7, M-8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from falai.flow.definition import Instruction
from falai.flow.phrases import split_phrases
from falai.flow.plan import AgentPlan, FieldPlan
from falai.flow.templates import Roots, render, roots
from falai.model.envelopes import speak_keys
from falai.model.inputs import SpeakInput
from falai.model.quoting import unmarked, written, written_line
from falai.model.sections import identity, known_facts, today
from falai.model.tasks import FieldTask, InstructionTask, SpeakTask

__all__ = ["speak_task"]

_UNDECLARED: Final = FieldPlan("", "string")


def speak_task(plan: AgentPlan, given: SpeakInput) -> SpeakTask:
    """The task of a talk step or, without a run, of the idle speaker (M-7.1, M-8.2)."""
    scope = roots(data=given.data, context=given.context, input=given.run.input if given.run else None)
    flow, step = given.flow, given.step
    pending = given.pending if given.fixed_after is None else ()
    return SpeakTask(
        agent=plan.name,
        identity=identity(plan, scope),
        today=today(plan, given.now_ms),
        flow=flow.name if flow else None,
        flow_description=written_line((flow and flow.flow.description) or "", scope),
        step_id=step.id if step else None,
        guideline="\n".join(filter(None, (_guideline(plan, given, scope), *map(unmarked, given.sentences)))),
        fields=tuple(
            _field(plan, given, slug, key, scope) for slug, key in zip(pending, speak_keys(pending), strict=True)
        ),
        known=known_facts(plan.fields, given.data) if given.run else (),
        refused=given.refused,
        corrected=given.corrected,
        instructions=tuple(_instructions(given.instructions, scope)),
        kind=given.kind,
        text=given.text,
        retry=given.retry and bool(given.history) and given.history[-1].get("role") == "user",
        said=given.said,
        acted=given.acted,
        fixed_after=given.fixed_after,
        language=plan.language,
    )


def _guideline(plan: AgentPlan, given: SpeakInput, scope: Roots) -> str:
    """The author's own; a reply before a fixed question has none (M-8.4)."""
    if given.fixed_after is not None:
        return ""
    prompt = given.step.prompt if given.step else plan.idle and plan.idle.prompt
    return written(prompt or "", scope).strip()


def _field(plan: AgentPlan, given: SpeakInput, slug: str, key: str, scope: Roots) -> FieldTask:
    field = plan.fields.get(slug, _UNDECLARED)
    own = given.step.ask.get(slug) if given.step and given.step.ask else None
    ask = own or field.ask
    return FieldTask(
        key=key,
        slug=slug,
        type=field.kind,
        enum=field.enum,
        description=field.description,
        ask=written_line(ask, scope) if ask else None,
        question=render(field.question, scope).strip() if field.question else None,
        format=field.format,
    )


def _instructions(given: Iterable[Instruction], scope: Roots) -> Iterable[InstructionTask]:
    """The rules in order; one whose prompt comes out blank is left out (F-15.5)."""
    for rule in given:
        prompt = written_line(rule.prompt, scope)
        if prompt:
            when = [rule.when] if isinstance(rule.when, str) else rule.when or ()
            phrases = split_phrases(when)
            yield InstructionTask(rule.kind or "should", prompt, phrases.matches, phrases.exclusions)
