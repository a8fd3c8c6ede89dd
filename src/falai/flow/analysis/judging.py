"""What a condition says of one field, and which values of a field a flow can tell apart.

A value is `UNKNOWN`, one of the values that some `equals` of the flow names, or `OTHER`. A function
or a host condition can go either way at any time; so can `silenced`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from falai.flow.conditions import BUILT_IN
from falai.flow.definition import Collect, If, Predicate, Prompt, Wait
from falai.flow.plan import FlowPlan, branches_of
from falai.flow.values import is_known
from falai.session.jsontext import is_list, is_object, json_text

__all__ = ["OTHER", "UNKNOWN", "Domains", "Judged", "Values", "domains_of", "is_code", "judge", "predicates", "tested"]

UNKNOWN, OTHER = "unknown", "other"
Values = frozenset[str]
Domains = Mapping[str, Values]
"""Field → the values that matter in one flow."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A condition taken apart. `allowed`: field → the values with which its tests hold. `code`: whether a
    function or a host condition decides too; `opaque`: whether a value is compared that has no name here;
    `silenced`: what it asks of the gate, if it does."""

    allowed: Domains
    code: bool = False
    opaque: bool = False
    silenced: bool | None = None

    @property
    def open(self) -> bool:
        """Whether anything but the listed fields decides."""
        return self.code or self.opaque or self.silenced is not None

    @property
    def may_fail_aloud(self) -> bool:
        """Whether it may fail for another reason than its fields, with the gate open."""
        return self.code or self.opaque or self.silenced is True

    def may_hold(self, slug: str, value: str) -> bool:
        return slug not in self.allowed or value in self.allowed[slug]

    def may_fail(self, slug: str, value: str) -> bool:
        return self.open or any(other != slug or value not in self.allowed[other] for other in self.allowed)


def judge(predicate: Predicate | None, domains: Domains) -> Judged:
    """The condition taken apart; none at all always holds."""
    if predicate is None:
        return Judged({})
    if callable(predicate):
        return Judged({}, code=True)
    allowed: dict[str, Values] = {}
    for slug in predicate.get("known", ()):
        allowed[slug] = _known(domains, slug)
    opaque = False
    for slug, value in predicate.get("equals", {}).items():
        if _plain(value):
            allowed[slug] = allowed.get(slug, _known(domains, slug)) & {_literal(value)}
        else:
            opaque = True
    code = any(name not in BUILT_IN for name in predicate)
    return Judged(allowed, code, opaque, predicate.get("silenced"))


def domains_of(flow: FlowPlan) -> Domains:
    """The fields that the flow's conditions test, each with its values."""
    found: dict[str, set[str]] = {}
    for predicate in predicates(flow):
        if not is_object(predicate):
            continue
        for slug in predicate.get("known", ()):
            found.setdefault(slug, {UNKNOWN, OTHER})
        for slug, value in predicate.get("equals", {}).items():
            found.setdefault(slug, {UNKNOWN, OTHER}).update([_literal(value)] if _plain(value) else [])
    return {slug: frozenset(values) for slug, values in found.items()}


def predicates(flow: FlowPlan) -> Iterator[Predicate | None]:
    """The conditions that decide where a run goes: the flow's `while`, its steps' and their branches'."""
    yield flow.flow.while_
    for step in flow.steps:
        if isinstance(step, If):
            yield step.if_
        if isinstance(step, Collect | Prompt | Wait):
            yield from (branch.if_ for branch in branches_of(step))


def tested(predicate: Predicate | None) -> set[str] | None:
    """The fields that have a value when the condition holds; `None` when code decides."""
    if predicate is None:
        return set()
    if is_code(predicate) or not is_object(predicate):
        return None
    return {*predicate.get("known", ()), *predicate.get("equals", ())}


def is_code(predicate: Predicate | None) -> bool:
    """Whether a function or a host condition has a word in it."""
    return callable(predicate) or (is_object(predicate) and any(name not in BUILT_IN for name in predicate))


def _known(domains: Domains, slug: str) -> Values:
    return domains.get(slug, frozenset((UNKNOWN, OTHER))) - {UNKNOWN}


def _literal(value: Any) -> str:
    return f"= {json_text(value)}"


def _plain(value: Any) -> bool:
    """Whether equality is that of the texts. The empty text equals itself and is still not known (F-2.3)."""
    return is_known(value) and not is_object(value) and not is_list(value)
