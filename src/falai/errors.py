"""Every error that falai raises, and whose matter it is.

    FalaiError                      never raised itself
    ├── FlowConfigurationError      the author's: a flow, a field, an option is wrong; fix the code
    ├── ProviderError               the world's: the model's provider failed; see `kind`
    ├── DraftError                  the world's: a model was asked for a flow and wrote none that holds
    ├── SessionConflictError        the world's: another turn saved first; load again and replay
    └── InvalidSessionError         the world's: a stored row is no session; repair or delete it

Bad arguments of a call are plain `ValueError` or `TypeError`. `retryable` says whether the same
call may succeed when it is made again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = [
    "DraftError",
    "FalaiError",
    "FlowConfigurationError",
    "InvalidSessionError",
    "Problem",
    "ProviderError",
    "ProviderErrorKind",
    "SessionConflictError",
    "words_of",
]

ProviderErrorKind = Literal[
    "aborted", "timeout", "network", "overload", "rate", "quota", "entitlement",
    "auth", "model", "context", "content", "invalid", "unknown",
]  # fmt: skip

_TRANSIENT = frozenset({"timeout", "network", "overload", "rate", "unknown"})


class FalaiError(Exception):
    """The base of all errors of this package. It is never raised itself."""

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed when it is made again."""
        return False


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in what an author wrote (F-1.10, S-18).

    `code` is for programs (06-flowspec), `where` names the place for people
    (`flow "lead", step "ask"`), `path` the place in the wire form (`flows[0].steps[1].wait`),
    `what` what was found and expected, `fix` what to write instead.
    """

    code: str
    where: str
    what: str
    fix: str
    path: str = ""

    @property
    def message(self) -> str:
        """The sentence of S-18: `[FlowConfigurationError] <where>: <what>. <fix>.`"""
        return f"[FlowConfigurationError] {self.where}: {self.what}. {self.fix}"


class FlowConfigurationError(FalaiError):
    """What an author wrote cannot run.

    `problems` holds everything that was found, in the order of F-17.2 (F-19.5); `code`, `where`
    and the first line of the message are those of the first.
    """

    def __init__(self, problems: Problem | Sequence[Problem]) -> None:
        found = (problems,) if isinstance(problems, Problem) else tuple(problems)
        self.problems: tuple[Problem, ...] = found
        self.code: str = found[0].code
        self.where: str = found[0].where
        super().__init__(self._text())

    def _text(self) -> str:
        first, *rest = self.problems
        lines = [first.message]
        if rest:
            lines.append(f"{len(rest)} more:")
            lines += [f"  {p.path or p.where}: {p.what}. {p.fix}" for p in rest]
        return "\n".join(lines)


class ProviderError(FalaiError):
    """A call to the model's provider failed (M-19.1).

    `kind` says what helps (M-19.2). `retry_after_ms` and `reset_at_ms` (epoch milliseconds) are
    what the provider stated; `should_retry` is its own word on another try and decides over `kind`.
    `body` is the vendor's text, at most 2,000 characters. Once a model's call has failed with it,
    words and body are without the keys that providers quote; `__cause__` is the library's own
    exception, as it came. `answer` is the `ModelReply` of a provider that did answer, and counts
    it, but gave no reply: tokens and cost are on it.
    """

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        kind: ProviderErrorKind = "unknown",
        status: int | None = None,
        code: str | None = None,
        retry_after_ms: int | None = None,
        reset_at_ms: int | None = None,
        window: Literal["5h", "weekly", "monthly"] | None = None,
        should_retry: bool | None = None,
        body: str | None = None,
        answer: object = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.kind: ProviderErrorKind = kind
        self.status = status
        self.code = code
        self.retry_after_ms = retry_after_ms
        self.reset_at_ms = reset_at_ms
        self.window = window
        self.should_retry = should_retry
        self.body = body[:2000] if body is not None else None
        self.answer = answer

    @property
    def retryable(self) -> bool:
        """M-10.4 and M-10.5: by `should_retry`, else by kind; `quota` with a stated reset only."""
        if self.should_retry is not None:
            return self.should_retry
        if self.kind == "quota":
            return self.reset_at_ms is not None or self.retry_after_ms is not None
        return self.kind in _TRANSIENT


class DraftError(FalaiError):
    """A model was asked for a flow, and what it wrote is none, however often it was told (S-61).

    `spec` is the last one as it came, `None` when the last answer held no object; `problems` is all that
    is wrong in it. `attempts` holds every `falai.model.drafting.Attempt`: the replies and their tokens.
    """

    def __init__(
        self, problems: Sequence[Problem], *, spec: Mapping[str, object] | None, attempts: Sequence[object]
    ) -> None:
        self.problems = tuple(problems)
        self.spec = spec
        self.attempts = tuple(attempts)
        count = "one attempt" if len(self.attempts) == 1 else f"{len(self.attempts)} attempts"
        head = f"[DraftError] the model wrote no flow that holds, in {count}. In the last one:"
        super().__init__("\n".join([head, *(f"  {p.path or p.where}: {p.what}. {p.fix}" for p in self.problems)]))

    @property
    def retryable(self) -> bool:
        return True


class SessionConflictError(FalaiError):
    """A save lost: the stored version is not the expected one (B-15.5, P-7).

    `actual_version` is the version that was found, `None` when there is no row. Nothing was
    written; load again and play the same input.
    """

    def __init__(self, session_id: str, expected_version: int, actual_version: int | None) -> None:
        self.session_id = session_id
        self.expected_version = expected_version
        self.actual_version = actual_version
        super().__init__(f"[SessionConflictError] session {_quoted(session_id)}: {self._why()}")

    def _why(self) -> str:
        if self.actual_version is None:
            return (
                f"version {self.expected_version} was expected and there is no row: it was deleted or has expired. "
                "Load again; finding nothing means a new conversation."
            )
        return (
            f"version {self.expected_version} was expected and version {self.actual_version} is stored: "
            "another writer was faster. Load again and repeat the input."
        )

    @property
    def retryable(self) -> bool:
        return True


class InvalidSessionError(FalaiError):
    """A stored blob is no session (B-14, G-1). It is never replaced by a fresh one."""

    def __init__(self, session_id: str, why: str) -> None:
        self.session_id = session_id
        super().__init__(
            f"[InvalidSessionError] session {_quoted(session_id)}: {why}. "
            "Repair the row or delete it; it is never replaced by a fresh session."
        )


def words_of(thing: object) -> str:
    """What an exception, or another object, says of itself; the name of its class when that is nothing or raises."""
    try:
        return str(thing) or type(thing).__name__
    except Exception:  # noqa: BLE001  # an author's or a library's `__str__` must not hide what happened
        return type(thing).__name__


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
