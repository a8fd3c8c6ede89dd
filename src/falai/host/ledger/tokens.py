"""Tokens: who may call the API of a host. Only a hash of a token's secret is kept."""

from __future__ import annotations

from msgspec import Struct

from falai.host.ledger.port import Row, Statement, Work

__all__ = ["TokenRow", "add_token", "find_token", "has_token", "list_tokens", "revoke_token"]

_COLUMNS = "id, tenant, agent, name, hash, scopes, session, created_at, expires_at, revoked_at"
_ADD = f"INSERT INTO falai_tokens ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 - fixed
_FORGET_EXPIRED = "DELETE FROM falai_tokens WHERE expires_at < ?"
_FORGET_REVOKED = "DELETE FROM falai_tokens WHERE revoked_at < ?"
_FIND = f"SELECT {_COLUMNS} FROM falai_tokens WHERE id = ?"  # noqa: S608 - fixed
_LIST = f"""
    SELECT {_COLUMNS} FROM falai_tokens WHERE tenant = coalesce(?, tenant) AND (agent = coalesce(?, agent) OR agent = '')
    ORDER BY created_at, id"""  # noqa: S608 - fixed
_HAS = """
    SELECT 1 FROM falai_tokens
    WHERE (agent = ? OR agent = '') AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?) LIMIT 1"""
_REVOKE = "UPDATE falai_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL RETURNING id"
_KNOWN_MS = 30 * 86_400_000
"""So long a token that is over can be seen; it goes when another is made."""


class TokenRow(Struct, frozen=True):
    """A token as it is kept. With an empty `agent` it is for every agent of the database; with a `session` for that one.

    `hash` is the SHA-256 of its secret.
    """

    id: str
    tenant: str
    agent: str
    name: str
    hash: str
    scopes: tuple[str, ...]
    session: str | None
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None

    def is_live(self, now_ms: int) -> bool:
        """Whether it still opens something."""
        return self.revoked_at is None and (self.expires_at is None or now_ms < self.expires_at)


def add_token(row: TokenRow) -> Work[None]:
    """Keeps a new token, and forgets those that were over long before."""
    long_before = row.created_at - _KNOWN_MS
    who = (row.id, row.tenant, row.agent, row.name, row.hash, " ".join(row.scopes), row.session)
    yield (
        Statement(_FORGET_EXPIRED, (long_before,)),
        Statement(_FORGET_REVOKED, (long_before,)),
        Statement(_ADD, (*who, row.created_at, row.expires_at, row.revoked_at)),
    )


def find_token(id: str) -> Work[TokenRow | None]:
    """The token of this id, live or not."""
    (rows,) = yield (Statement(_FIND, (id,)),)
    return _token(rows[0]) if rows else None


def list_tokens(*, tenant: str | None = None, agent: str | None = None) -> Work[tuple[TokenRow, ...]]:
    """The tokens of a tenant, and those that an agent takes, the oldest first."""
    (rows,) = yield (Statement(_LIST, (tenant, agent)),)
    return tuple(map(_token, rows))


def has_token(agent: str, *, now_ms: int) -> Work[bool]:
    """Whether the agent has a token that is live."""
    return (yield (Statement(_HAS, (agent, now_ms)),))[0] != []


def revoke_token(id: str, *, now_ms: int) -> Work[bool]:
    """Ends a token for good; False when there is none, or it was revoked before."""
    return (yield (Statement(_REVOKE, (now_ms, id)),))[0] != []


def _token(row: Row) -> TokenRow:
    id, tenant, agent, name, kept, scopes, session, *times = row
    return TokenRow(id, tenant, agent, name, kept, tuple(scopes.split()), session, *times)
