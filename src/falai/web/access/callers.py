"""Who calls, and what a token allows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

__all__ = ["SCOPES", "Caller", "Scope"]

Scope = Literal["chat", "read", "people", "operate", "flows"]
"""`chat` messages and streams · `read` sessions, transcripts, outcomes · `people` hold, release, a person's
messages · `operate` events, starts, dead letters, status, metrics, erasing · `flows` flows, graphs, checking specs."""

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever a request's token was made for. With a `session` it is for that one only."""

    name: str
    tenant: str
    scopes: frozenset[str]
    session: str | None = None
    token: str = ""
    """The id of the token, which is no secret."""
