"""The understand task, judged by the words that a message shares with what authors wrote."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any, Final

from falai.model.lexical.values import form_of, read_list, read_value, says_correction
from falai.model.lexical.words import asks_something, fold, polarity, stems
from falai.model.tasks import FieldTask, FlowTask, ParamTask, UnderstandTask

__all__ = ["judge"]

_STAYS: Final = 50
_TAKES_OVER: Final = _STAYS + 15
_LONE_PART: Final = 0.66
_CANNOT: Final = "=cannot"
_ONLY = re.compile(r"\b(only|just|merely|apenas|somente|so|solo|solamente)\b")
_SAYS_NO = re.compile(
    r"\b(no|not|never|doesn't|don't|refuses?|declines?|rejects?|disagrees?|wrong|incorrect|nao|recusa|nega|discorda"
    r"|rechaza|niega|incorrecto)\b"
)
_SAYS_YES = re.compile(r"\b(yes|agrees?|accepts?|confirms?|consents?|sim|aceita|concorda|confirma|acepta)\b")

Weights = Mapping[str, float]


def judge(task: UnderstandTask) -> dict[str, Any]:
    """The whole envelope, under the task's keys (M-3.1)."""
    said = stems(task.text)
    asks = asks_something(task.text)
    scores = _scores(task, said)
    fields = _fields(task, scores, asks=asks)
    touched = {flow.key: _touches(flow, said) for flow in task.mentions}
    envelope: dict[str, Any] = {
        "flows": _settled(task, scores, fields, asks=asks),
        "mentions": touched,
        "extract": {flow.key: _extract(flow, task) for flow in task.mentions if flow.extract and touched[flow.key]},
        "branches": {branch.key: _is_true(branch.when, task.text, said) for branch in task.branches},
        "fields": fields,
    }
    judged = {section: members for section, members in envelope.items() if members}
    return {**judged, "asks": asks} if task.asks else judged


# --- flows, mentions, branches ----------------------------------------------------------------


def _scores(task: UnderstandTask, said: Collection[str]) -> dict[str, int]:
    weights = _weights(task.flows)
    return {flow.key: _score(flow, said, weights) for flow in task.flows}


def _weights(flows: Collection[FlowTask]) -> Weights:
    """How much a word tells: the more flows have it, the less."""
    spread = Counter(word for flow in flows for word in stems(" ".join((flow.name, *flow.matches))))
    return {word: 1 / count for word, count in spread.items()}


def _score(flow: FlowTask, said: Collection[str], weights: Weights) -> int:
    """0 to 92: a phrase that is met in part counts more than its share, for customers are brief."""
    if _is_excluded(flow, said):
        return 0
    parts = [_part(stems(phrase), said, weights) for phrase in flow.matches]
    best = max([*parts, 0.7 * _part(stems(flow.name), said, weights)])
    return round(92 * math.sqrt(best))


def _settled(
    task: UnderstandTask, scores: Mapping[str, int], fields: Mapping[str, Any], *, asks: bool
) -> dict[str, int]:
    """The scores as seen from the flow that has the conversation: an answer to it is no change of mind."""
    if task.floor is None:
        return dict(scores)
    answered = any(fields.get(field.key) is not None for field in task.floor.pending) and not asks
    most = _TAKES_OVER - 1 if answered else 100
    own = task.floor.key
    return {key: max(_STAYS, score) if key == own else min(most, score) for key, score in scores.items()}


def _touches(flow: FlowTask, said: Collection[str]) -> bool:
    return not _is_excluded(flow, said) and any(_is_met(stems(phrase), said) for phrase in flow.matches)


def _is_met(phrase: Collection[str], said: Collection[str]) -> bool:
    """Whether all of a phrase is there, or most of one with several words."""
    part = _part(phrase, said, {})
    return part == 1 or (part >= _LONE_PART and len(phrase) > 2)


def _is_excluded(flow: FlowTask, said: Collection[str]) -> bool:
    return any(_excludes(phrase, said) for phrase in flow.exclusions)


def _excludes(phrase: str, said: Collection[str]) -> bool:
    words = stems(phrase)
    if _ONLY.search(fold(phrase)):
        # "How much is a whitening?" only asks for the price of something; with "book" in it, it does more.
        more = set(said) - words
        return not more or (0 < len(words) == len(words & set(said)) and not any(map(_is_concept, more)))
    return _part(words, said, {}) == 1


def _is_concept(stem: str) -> bool:
    return stem.startswith("=")


def _part(phrase: Collection[str], said: Collection[str], weights: Weights) -> float:
    """How much of a phrase the message has, by weight; "cannot come" is not met by "can come"."""
    if _CANNOT in phrase and _CANNOT not in said:
        return 0
    whole = sum(weights.get(word, 1) for word in phrase)
    return sum(weights.get(word, 1) for word in phrase if word in said) / whole if whole else 0


def _is_true(when: str, text: str, said: Collection[str]) -> bool:
    folded = fold(when)
    if _SAYS_NO.search(folded):
        return polarity(text) is False
    if _SAYS_YES.search(folded):
        return polarity(text) is True
    return _is_met(stems(when), said)


# --- values -----------------------------------------------------------------------------------


def _fields(task: UnderstandTask, scores: Mapping[str, int], *, asks: bool) -> dict[str, Any]:
    """A value for each field that the message fills. One date, number or name fills one field: a known one
    where the customer corrects, else one that the step asks for, else the first of all."""
    pending = [field.slug for field in task.floor.pending] if task.floor else []
    leaves = any(score >= _TAKES_OVER for key, score in scores.items() if task.floor and key != task.floor.key)
    asked = pending[0] if pending and not asks and not leaves else None
    corrects = says_correction(task.text)
    in_turn = sorted(task.fields, key=lambda field: (field.known != corrects, field.slug not in pending))
    found: dict[str, Any] = {}
    filled: set[str | None] = set()
    for field in in_turn:
        form = form_of(field)
        if (field.known and not corrects) or form in filled:
            continue
        # A bare text corrects nothing: it may be about anything.
        expected = field.slug == asked or (field.known and field.type != "string")
        value = read_value(field, task.text, task.today, expected=expected)
        if value is not None and value != field.value:
            found[field.key] = value
            filled |= {form} if form else set()
    return {field.key: found.get(field.key) for field in task.fields}


def _extract(flow: FlowTask, task: UnderstandTask) -> dict[str, Any]:
    return {param.name: _param(param, task) for param in flow.extract}


def _param(param: ParamTask, task: UnderstandTask) -> Any:
    if param.items is not None:
        return read_list(task.text, param.enum)
    field = FieldTask(param.name, param.name, param.type, param.enum, param.description)
    return read_value(field, task.text, task.today, expected=False)
