"""The arguments of `respond`, checked, and what becomes of what goes wrong behind them (D-18, D-20, D-83)."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

from falai.classic.errors import DataValidationError, Phase, ResponseGenerationError
from falai.classic.history import Item, taken
from falai.errors import FlowConfigurationError, InvalidSessionError, ProviderError, SessionConflictError
from falai.flow.places import is_list, is_object
from falai.session.jsontext import show
from falai.session.keys import is_blank_id
from falai.session.model import Session

__all__ = ["Request", "failing", "read_request"]

_AS_THEY_ARE = (
    FlowConfigurationError, DataValidationError, ProviderError, SessionConflictError, InvalidSessionError,
    ResponseGenerationError,
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The checked arguments of one `respond`. `before` is `None` where the session's own history counts."""

    text: str
    before: Sequence[Item] | None
    session: Session | Mapping[str, Any] | None
    session_id: str | None
    override: Mapping[str, Any]
    allowed: Sequence[str] | None
    message_id: str | None


def read_request(
    *,
    message: object,
    history: object,
    session: Any,
    session_id: Any,
    context_override: Any,
    allowed_flows: Any,
    message_id: object,
) -> Request:
    """The arguments of `respond`. Raises `ValueError` naming what is wrong (D-18, D-20)."""
    text, before = taken(message, history)
    if session is not None and session_id is not None:
        raise ValueError("session and sessionId are both given: a session has an id, so leave out sessionId")
    if session is not None and not isinstance(session, Session) and not is_object(session):
        raise ValueError(f"session: {show(session)} was given, a Session or a stored blob is expected")
    if session_id is not None and is_blank_id(session_id):
        raise ValueError(f"sessionId: {show(session_id)} was given, a text that is not blank is expected")
    if context_override is not None and not is_object(context_override):
        raise ValueError(f"contextOverride: {show(context_override)} was given, an object is expected")
    if allowed_flows is not None and not _texts(allowed_flows):
        raise ValueError(f"allowedFlows: {show(allowed_flows)} was given, a list of ids or titles is expected")
    if message_id is not None and not isinstance(message_id, str):
        raise ValueError(f"messageId: {show(message_id)} was given, a text is expected")
    return Request(
        text=text, before=before, session=session, session_id=session_id, override=context_override or {},
        allowed=allowed_flows, message_id=message_id,
    )  # fmt: skip


def _texts(value: Any) -> bool:
    return is_list(value) and all(isinstance(entry, str) for entry in value)


class Located(Protocol):
    """What knows where in a turn it is."""

    @property
    def phase(self) -> Phase: ...


@contextmanager
def failing(where: Located) -> Generator[None, None, None]:
    """What goes wrong inside comes out under its own name, or as a `ResponseGenerationError` (D-83)."""
    try:
        yield
    except _AS_THEY_ARE:
        raise
    except Exception as error:
        raise ResponseGenerationError(error, where.phase) from error
