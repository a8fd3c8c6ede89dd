"""The tables of the room `model`: the stream decoder, salvage, failures, compaction."""

from __future__ import annotations

import builtins
import re
from collections.abc import Mapping
from typing import Any

from falai.errors import ProviderError
from falai.model.compaction import Compacted, compact
from falai.model.decoder import StreamingMessageDecoder
from falai.model.failures import classify, outcome_of
from falai.model.lenient import salvage_json
from falai.session.jsontext import json_equal, json_text

Row = Mapping[str, Any]


def stream_decoder(row: Row) -> None:
    """The decoder's piece after each accumulated text, and its message at the end."""
    chunks = row.get("chunks", [])
    accumulated = row.get("accumulated", ["".join(chunks[: n + 1]) for n in range(len(chunks))])
    decoder = StreamingMessageDecoder()
    assert [decoder.feed(text) for text in accumulated] == row["deltas"], row
    assert decoder.message == row["message"], row


def salvage(row: Row) -> None:
    """The first JSON object in a text."""
    assert json_equal(salvage_json(row["text"]), row["object"]), row


def error_kinds(row: Row) -> None:
    """The kind of a failure, and what the outcome line of a speak call says of it."""
    error = _failure(row["error"])
    code, retryable, _ = outcome_of(error, 0)
    assert (classify(error).kind, code, retryable) == (row["kind"], row["code"], row["retryable"]), row


def compaction(row: Row) -> None:
    """What a model would see of a history; no row may call the model."""
    history, before = row["history"], json_text(row["history"])
    done = _compacted(history, row["config"])
    expected = row["result"]
    assert json_text(history) == before
    assert done.strategy == expected.get("strategy", done.strategy), done
    assert done.estimated_tokens == expected.get("estimate", done.estimated_tokens), done
    assert not expected.get("same") or done.history is history, done
    assert "history" not in expected or _matches(list(done.history), expected["history"]), done.history


def _failure(given: Row) -> Exception:
    if "kind" in given:
        return ProviderError(
            "failed", kind=given["kind"], should_retry=given.get("shouldRetry"), reset_at_ms=given.get("resetAtMs")
        )
    error: Any = getattr(builtins, given.get("type", "Exception"))(given.get("message", ""))
    for attribute in ("status", "body"):
        if attribute in given:
            setattr(error, attribute, given[attribute])
    error.__cause__ = _failure(given["cause"]) if "cause" in given else None
    return error


def _compacted(history: Any, config: Row) -> Compacted:
    run = compact(history, config)
    try:
        next(run)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("the model was called")


def _matches(found: Any, expected: Any) -> bool:
    if isinstance(expected, Mapping):
        if "$match" in expected:
            return isinstance(found, str) and re.search(expected["$match"], found) is not None
        return set(found) == set(expected) and all(_matches(found[key], value) for key, value in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(_matches, found, expected))
    return json_equal(found, expected)
