"""What a provider's failure means: its kind, by one table, and what a turn makes of it (M-10, M-19).

Errors are recognised by what they carry (a status, a body, a cause, the names of their classes),
so no vendor's library is imported to know its exceptions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

from falai.errors import ProviderError, ProviderErrorKind, words_of
from falai.model.redaction import without_secrets
from falai.model.waits import stated_waits
from falai.session.jsontext import json_text

__all__ = ["classify", "outcome_of"]

_CODES: Final[Mapping[ProviderErrorKind, str]] = {
    "quota": "provider-quota",
    "auth": "provider-auth",
    "entitlement": "provider-auth",
    "model": "provider-invalid",
    "invalid": "provider-invalid",
    "content": "provider-invalid",
    "context": "provider-context",
}

_CANCELLATIONS: Final = frozenset({"CancelledError", "Cancelled", "AbortError", "APIUserAbortError"})
_TRANSPORT: Final = frozenset({
    "ConnectionError", "EOFError", "gaierror", "SSLError", "IncompleteRead", "APIConnectionError", "NetworkError",
    "RemoteProtocolError", "ProxyError",
})  # fmt: skip
_TRANSPORT_TEXT = re.compile(
    r"connection (\w+ ){0,2}(refused|reset|aborted|closed)|broken pipe|(?<!to be )unreachable|name resolution"
    r"|name or service not known|peer closed|server disconnected|ended (too )?early|incomplete (chunked )?read",
    re.IGNORECASE,
)

_CONTEXT = re.compile(
    r"context[ _]length[ _]exceeded|maximum context length|context window|(prompt|input) is too long"
    r"|too many (input )?tokens|reduce the length of the (messages|prompt|input)"
    r"|exceeds the (model'?s )?maximum\b.{0,60}?(tokens|length|context)",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"plan (does not|doesn't) (include|support)|not included (in|with) your\b.{0,40}?\bplan"
    r"|upgrade to\b.{1,60}?(or higher|\bplan)|no api access",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"insufficient[ _](quota|balance|credits?)|exceeded your current quota|credit balance is too low"
    r"|\b(no|out of) credits|usage limits? (reached|exceeded|hit)|reached your (usage|weekly|monthly|daily) limit"
    r"|(weekly|monthly|daily|plan) usage limit|purchase extra usage|upgrade your plan"
    r"|quota\b.{0,80}?(exhausted|exceeded|will be refreshed)|balance (is )?(too low|not enough|insufficient)"
    r"|余额不足|欠费|额度不足|额度已用完",
    re.IGNORECASE,
)
_NO_MODEL = re.compile(
    r"\bmodels?\b((?!\",).){0,60}?(not found|does not exist|unknown)|no model named|unsupported model",
    re.IGNORECASE,
)
_KEY = re.compile(
    r"(?i:invalid[ _](api[ _]key|x-api-key|token|credentials?)|api key (is )?(not valid|invalid|incorrect)"
    r"|unauthorized|authentication[ _](failed|invalid|error)"
    r"|account (\w+ ){0,2}(disabled|suspended|deactivated|banned))|UNAUTHENTICATED|PERMISSION_DENIED"
)
_UNSAFE = re.compile(r"(?i:content[ _](filter|policy)|safety|blocked|refusal)|PROHIBITED_CONTENT")
_THROTTLE = re.compile(r"(?i:rate limit|too many requests)|RESOURCE_EXHAUSTED")
_BUSY = re.compile(
    r"(?i:overloaded|unavailable|internal error|\bcapacity\b)|\bINTERNAL\b|\"code\"\s*:\s*\"?5[0-9][0-9]\b"
)
_LATE = re.compile(r"timed out|timeout", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Facts:
    """What is known of a failure; `text` is its message and the vendor's body."""

    error: BaseException
    status: int | None
    text: str

    @property
    def below_500(self) -> bool:
        return self.status is None or self.status < 500


def classify(
    error: BaseException, provider: str = "", *, now_ms: int | None = None, secrets: Collection[str] = ()
) -> ProviderError:
    """The failure as a `ProviderError`: one stays as it is, anything else is wrapped (M-19.3, M-19.4).

    `now_ms` is needed for an instant that the provider states as seen from now (M-19.6). Its words and
    its body are without `secrets` and what looks like one: providers quote the key that they refuse.
    """
    if isinstance(error, ProviderError):
        return _scrubbed(error, secrets)
    status = _status(error)
    body = _body(error)
    words = words_of(error)
    facts = _Facts(error, status, f"{words}\n{body or ''}")
    headers = _headers(error)
    waits = stated_waits(headers, body or "", now_ms, _seconds(error))
    wrapped = ProviderError(
        without_secrets(words, secrets),
        provider=provider,
        kind=_kind(facts),
        status=status,
        code=_code(error),
        retry_after_ms=waits.retry_after_ms,
        reset_at_ms=waits.reset_at_ms,
        window=waits.window,
        should_retry={"true": True, "false": False}.get(headers.get("x-should-retry", "").strip().lower()),
        body=body and without_secrets(body, secrets),
    )
    wrapped.__cause__ = error
    return wrapped


def outcome_of(error: Exception, now_ms: int) -> tuple[str, bool, int | None]:
    """The outcome's code, whether another try can help, and when the provider opens (M-10.4 to M-10.6)."""
    failure = classify(error, now_ms=now_ms)
    stated = [failure.reset_at_ms] if failure.reset_at_ms is not None else []
    if failure.retry_after_ms is not None:
        stated.append(now_ms + failure.retry_after_ms)
    return _CODES.get(failure.kind, "provider-unavailable"), failure.retryable, max(stated, default=None)


def _scrubbed(error: ProviderError, secrets: Collection[str]) -> ProviderError:
    said, words = words_of(error), without_secrets(words_of(error), secrets)
    if words != said:
        error.args = (words,)
    if error.body is not None:
        error.body = without_secrets(error.body, secrets)
    return error


def _kind(facts: _Facts) -> ProviderErrorKind:
    for kind, tests in _TABLE:
        if any(test(facts) for test in tests):
            return kind
    return "unknown"


def _names(error: BaseException) -> Iterator[str]:
    return (cls.__name__ for cls in type(error).__mro__)


def _is_timeout(error: BaseException) -> bool:
    return any("timeout" in name.lower() for name in _names(error))


def _is_transport_failure(facts: _Facts) -> bool:
    return any(_broke_off(error) for error in _chain(facts.error))


def _broke_off(error: BaseException) -> bool:
    if _is_timeout(error):
        return False
    if not _TRANSPORT.isdisjoint(_names(error)):
        return True
    # An error with a status got its answer: what the text says happened behind the provider.
    return _status(error) is None and _TRANSPORT_TEXT.search(words_of(error)) is not None


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and up to five causes."""
    current: BaseException | None = error
    for _ in range(6):
        if current is None:
            return
        yield current
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    sources = ((error, "status_code"), (error, "status"), (error, "code"), (response, "status_code"))
    found = (getattr(source, attribute, None) for source, attribute in sources)
    return next((s for s in found if isinstance(s, int) and 100 <= s <= 599), None)


def _body(error: BaseException) -> str | None:
    body = getattr(error, "body", None)
    if body is None or isinstance(body, str):
        return body
    try:
        return json_text(body)
    except (TypeError, ValueError, RecursionError):
        return str(body)


def _headers(error: BaseException) -> Mapping[str, str]:
    found: Any = getattr(getattr(error, "response", None), "headers", None) or getattr(error, "headers", None)
    return {str(key).lower(): str(value) for key, value in dict(found).items()} if found else {}


def _seconds(error: BaseException) -> float | None:
    """The wait that a library read out of an answer."""
    found = getattr(error, "retry_after", None)
    return float(found) if isinstance(found, int | float) and isfinite(found) else None


def _code(error: BaseException) -> str | None:
    """The vendor's own name of the error."""
    names = ("provider_error_code", "provider_error_type", "code")
    return next((found for name in names if isinstance(found := getattr(error, name, None), str)), None)


# --- the table --------------------------------------------------------------------------------

_Test = Callable[[_Facts], bool]


def _says(pattern: re.Pattern[str]) -> _Test:
    return lambda facts: pattern.search(facts.text) is not None


def _says_below_500(pattern: re.Pattern[str]) -> _Test:
    return lambda facts: facts.below_500 and pattern.search(facts.text) is not None


def _has(*statuses: int) -> _Test:
    return lambda facts: facts.status in statuses


def _from(status: int) -> _Test:
    return lambda facts: facts.status is not None and facts.status >= status


_TABLE: Final[tuple[tuple[ProviderErrorKind, tuple[_Test, ...]], ...]] = (
    ("aborted", (lambda facts: not _CANCELLATIONS.isdisjoint(_names(facts.error)),)),
    ("network", (_is_transport_failure,)),
    ("timeout", (lambda facts: _is_timeout(facts.error), _has(408))),
    ("context", (_says_below_500(_CONTEXT),)),
    ("entitlement", (_says_below_500(_PLAN),)),
    ("quota", (_says_below_500(_MONEY),)),
    ("model", (_says(_NO_MODEL),)),
    ("auth", (_has(401, 403), _says(_KEY))),
    ("quota", (_has(402),)),
    ("model", (_has(404),)),
    ("rate", (_has(429),)),
    ("content", (_says(_UNSAFE),)),
    ("overload", (_has(529, 409, 425), _from(500))),
    ("rate", (_says(_THROTTLE),)),
    ("overload", (_says(_BUSY),)),
    ("timeout", (_says(_LATE),)),
    ("invalid", (_from(400),)),
)
"""The rows of M-19.4 behind its first; the first that holds gives the kind."""
