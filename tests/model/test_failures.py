"""What a failure means (M-10, M-19), beyond the rows of the table `error-kinds`."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from falai.errors import ProviderError
from falai.model.failures import classify, outcome_of


class APIStatusError(Exception):
    """A vendor's error: an answer with a status, headers and a body."""

    def __init__(self, message: str, status: int, headers: dict[str, str] | None = None, body: Any = None) -> None:
        super().__init__(message)
        self.status_code = status
        self.body = body
        self.response = type("Response", (), {"status_code": status, "headers": headers or {}})()


def test_a_provider_error_stays_as_it_is() -> None:
    """The same object (M-19.3)."""
    error = ProviderError("x", kind="rate")
    assert classify(error, "other") is error


def test_what_is_wrapped_keeps_its_text_its_body_and_its_cause() -> None:
    """The body is cut at 2,000 characters (M-19.1)."""
    raw = APIStatusError("no", 400, body={"error": {"message": "x" * 3000}})
    failure = classify(raw, "openai")
    assert (str(failure), failure.provider, failure.status, failure.__cause__) == ("no", "openai", 400, raw)
    assert failure.body is not None
    assert len(failure.body) == 2000
    assert str(classify(TimeoutError())) == "TimeoutError", "an error without words has its kind's name"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (asyncio.CancelledError(), "aborted"),
        (type("APIUserAbortError", (Exception,), {})("stop"), "aborted"),
        (type("ConnectError", (type("NetworkError", (Exception,), {}),), {})("all attempts failed"), "network"),
        (type("ReadTimeout", (type("NetworkError", (Exception,), {}),), {})("quiet"), "timeout"),
        (EOFError("x"), "network"),
        (Exception("Connection was reset by peer"), "network"),
        (APIStatusError("upstream connection refused", 503), "overload"),
        (APIStatusError("status_code: 500, model_name: x, body: unknown", 500), "overload"),
        (APIStatusError("no", 400, body={"error": {"code": "context_length_exceeded"}}), "context"),
        (APIStatusError("no", 429, body={"error": {"code": "insufficient_quota"}}), "quota"),
        (APIStatusError("no", 200, body="refusal"), "content"),
    ],
)
def test_kinds_by_what_an_error_carries(error: BaseException, kind: str) -> None:
    """By class names, status and body; an answered request is no transport failure (M-19.4)."""
    assert classify(error).kind == kind


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7000),
        ({"retry-after": "0.5"}, 500),
        ({"retry-after": "-3"}, 0),
        ({"retry-after": "Sun, 20 Sep 2026 10:00:09 GMT", "date": "Sun, 20 Sep 2026 10:00:00 GMT"}, 9000),
        ({"retry-after": "Sun, 20 Sep 2026 09:00:00 GMT", "date": "Sun, 20 Sep 2026 10:00:00 GMT"}, 0),
        ({"retry-after": "Sun, 20 Sep 2026 10:00:09 GMT"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_that_a_provider_states(headers: dict[str, str], wait: int | None) -> None:
    """Seconds, or a date as seen from the answer itself; never negative (M-19.6)."""
    assert classify(APIStatusError("x", 429, headers)).retry_after_ms == wait


@pytest.mark.parametrize(("value", "said"), [("true", True), ("False", False), ("maybe", None)])
def test_the_provider_s_own_word_decides(value: str, said: bool | None) -> None:
    """`x-should-retry` goes over the kind, both ways (M-19.7, M-10.5)."""
    failure = classify(APIStatusError("x", 401, {"x-should-retry": value}))
    assert failure.should_retry is said
    assert outcome_of(failure, 0) == ("provider-auth", said is True, None)


def test_the_outcome_passes_on_the_latest_time() -> None:
    """Whatever the kind; a stated time makes a spent quota worth waiting for (M-10.4, M-10.6)."""
    assert outcome_of(ProviderError("x", kind="quota"), 100) == ("provider-quota", False, None)
    assert outcome_of(ProviderError("x", kind="quota", retry_after_ms=5), 100) == ("provider-quota", True, 105)
    assert outcome_of(ProviderError("x", kind="context", reset_at_ms=7), 100) == ("provider-context", False, 7)


def test_a_failure_without_words_has_the_name_of_its_class() -> None:
    """An exception whose `__str__` raises is classified like any other."""

    class SpeechlessTimeoutError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    failure = classify(SpeechlessTimeoutError())
    assert (str(failure), failure.kind) == ("SpeechlessTimeoutError", "timeout")
