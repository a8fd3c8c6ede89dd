"""The speak task, answered with stock sentences and the questions that authors wrote for customers.

An `ask` or a `prompt` is an instruction to a model that can phrase: it is never said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from falai.model.lexical.sentences import Sentences
from falai.model.lexical.values import kind_of, read_value
from falai.model.lexical.words import asks_something, fold, polarity, stems, tokens
from falai.model.port import HistoryItem
from falai.model.tasks import FieldTask, SpeakTask

__all__ = ["reply"]


def reply(task: SpeakTask, history: Sequence[HistoryItem], stock: Sentences) -> dict[str, Any]:
    """The whole envelope: a message, and the values that the customer's own words give."""
    values = _values(task, history, stock)
    message = " ".join(_sentences(task, values, stock))
    return {"message": message, **values}


def _sentences(task: SpeakTask, values: dict[str, Any], stock: Sentences) -> Iterator[str]:
    yield from _truth(task, stock)
    if task.flow is None:
        yield from _introduction(task, stock)
        return
    missing = [field for field in task.fields if values[field.key] is None]
    if _is_beyond(task, values):
        yield stock.cannot_answer
    elif not missing and not task.corrected:
        yield _closing(task, values, stock)
    if missing:
        yield _question(missing[0], stock)


def _closing(task: SpeakTask, values: dict[str, Any], stock: Sentences) -> str:
    if task.kind != "message":
        return stock.hello_again
    return stock.noted if any(not isinstance(value, bool) for value in values.values()) else stock.all_right


def _truth(task: SpeakTask, stock: Sentences) -> Iterator[str]:
    """What became of the turn's actions and values, whatever one would like to say (M-24.3, M-24.4)."""
    if any(done.status == "failed" for done in task.acted):
        yield stock.did_not_work
    if any(done.status == "deferred" for done in task.acted):
        yield stock.still_open
    if task.refused:
        yield f"{stock.unreadable} ({'; '.join(one.reason for one in task.refused)})"
    if task.corrected:
        yield stock.changed


def _introduction(task: SpeakTask, stock: Sentences) -> Iterator[str]:
    text = task.text or ""
    if not stems(text) and polarity(text) is None:  # a late "no" is no greeting
        yield stock.hello
    yield stock.introduction.format(task.agent)


def _is_beyond(task: SpeakTask, values: dict[str, Any]) -> bool:
    """Whether the customer asked something that the flow itself is no answer to."""
    if task.refused:
        return False  # it was an answer, though not one that could be used
    if task.fixed_after is not None:
        return True
    text = task.text or ""
    about = stems(f"{task.flow} {task.flow_description}")
    return asks_something(text) and not any(v is not None for v in values.values()) and about.isdisjoint(stems(text))


def _question(field: FieldTask, stock: Sentences) -> str:
    if field.question:
        return field.question
    label = field.slug.replace("_", " ")
    if field.type == "boolean":
        return stock.ask_yes_no.format(label[:1].upper() + label[1:])
    if field.enum is None:
        return stock.ask.format(label)
    *most, last = map(str, field.enum)
    return stock.ask_option.format(f"{', '.join(most)} {stock.or_} {last}" if most else last)


# --- values -----------------------------------------------------------------------------------


def _values(task: SpeakTask, history: Sequence[HistoryItem], stock: Sentences) -> dict[str, Any]:
    text = task.text or ""
    before = _said_before(history)
    refused = {one.slug for one in task.refused}  # the same words would give the same value
    return {
        field.key: read_value(field, text, task.today, expected=_is_answer(field, task, before, stock))
        if text.strip() and field.slug not in refused
        else None
        for field in task.fields
    }


def _is_answer(field: FieldTask, task: SpeakTask, before: str | None, stock: Sentences) -> bool:
    """Whether the message answers this field's question: it was the last thing said or, where no
    history tells, the message is too short to be anything else."""
    text = task.text or ""
    if asks_something(text):
        return False
    if before is not None:
        return _question(field, stock) in before
    length = sum(1 for _ in tokens(fold(text)))
    if field.type == "boolean":
        return polarity(text) is not None and length <= 3
    first = field is task.fields[0] and length <= 4
    return first and (kind_of(field) != "text" or stems(task.flow or "").isdisjoint(stems(text)))


def _said_before(history: Sequence[HistoryItem]) -> str | None:
    said = (item.get("content") for item in reversed(history) if item.get("role") == "assistant")
    return next((text for text in said if isinstance(text, str)), None)
