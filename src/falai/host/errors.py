"""What a host says when it cannot do what it was asked.

HostError             never raised itself
├── OverloadedError   too much is waiting already; nothing was taken in, come again later
├── HostBusyError     another host runs on this database
└── SetAsideError     an input failed so often that it was set aside
"""

from __future__ import annotations

from falai.errors import FalaiError
from falai.session.jsontext import quoted

__all__ = ["HostBusyError", "HostError", "OverloadedError", "SetAsideError"]


class HostError(FalaiError):
    """The base of what only a host raises. It is never raised itself."""


class OverloadedError(HostError):
    """The inbox is full, and nothing was taken in: the sender is to come again after `retry_after_ms`.

    `scope` says what is full: the one session, or the whole host.
    """

    def __init__(self, session_id: str, scope: str, limit: int, retry_after_ms: int) -> None:
        self.session_id = session_id
        self.scope = scope
        self.retry_after_ms = retry_after_ms
        whose = f"session {quoted(session_id)} has" if scope == "session" else "the host has"
        super().__init__(
            f"[OverloadedError] {whose} {limit} inputs waiting, and no more are taken in. "
            f"Nothing was kept of this one: send it again in {retry_after_ms} ms."
        )

    @property
    def retryable(self) -> bool:
        return True


class HostBusyError(HostError):
    """Another host runs on this database: two would play the same inputs."""

    def __init__(self, database: str) -> None:
        self.database = database
        super().__init__(
            f"[HostBusyError] {database} is in use: another host runs on it, in this process or in another. "
            "Stop that one first; for several processes give the host a postgresql:// URL."
        )


class SetAsideError(HostError):
    """The input that was waited for failed again and again; it is kept among the dead ones (`Host.dead`)."""

    def __init__(self, session_id: str, key: str, why: str) -> None:
        self.session_id = session_id
        self.key = key
        self.why = why
        super().__init__(
            f"[SetAsideError] session {quoted(session_id)}, input {quoted(key)}: {why}. "
            "It was set aside and the session goes on; mend the cause, then `host.retry(...)`."
        )
