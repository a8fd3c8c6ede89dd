"""The texts of tokens: `falai_<id>_<secret>`. The id finds the row; of the secret only a hash is kept.

A secret has 256 random bits, so a plain SHA-256 of it gives nothing away.
"""

from __future__ import annotations

import hmac
import re
import secrets  # noqa: TID251 - an edge: here a secret is made
from collections.abc import Sequence
from hashlib import sha256
from typing import Final, NamedTuple

from falai.host.inputs import check_id
from falai.host.ledger.tokens import TokenRow
from falai.session.jsontext import quoted
from falai.web.access.callers import SCOPES

__all__ = ["NewToken", "Parts", "is_secret_of", "new_token", "parts_of"]

_TOKEN: Final = re.compile(r"falai_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


class Parts(NamedTuple):
    """What a token is made of."""

    id: str
    secret: str

    @property
    def text(self) -> str:
        """The token as its owner sends it."""
        return f"falai_{self.id}_{self.secret}"


class NewToken(NamedTuple):
    """A token that was just made: what its owner gets, once, and what is kept of it."""

    text: str
    row: TokenRow


def new_token(
    *,
    name: str,
    tenant: str,
    scopes: Sequence[str],
    now_ms: int,
    agent: str = "",
    session: str | None = None,
    expires_at: int | None = None,
) -> NewToken:
    """A new token of a tenant, for one agent or all of the database, and for one session or all of the tenant.

    Raises `ValueError` for a blank name, tenant or session, one that is no id, and for a scope that there is not.
    """
    for path, text in {"name": name, "tenant": tenant, "session": "-" if session is None else session}.items():
        if not text.strip():
            raise ValueError(f"{path} is blank: write whose the token is")
        check_id(text, path)
    if not scopes or not set(scopes) <= set(SCOPES):
        raise ValueError(f"scopes is {quoted(', '.join(scopes))}: write one or more of {', '.join(SCOPES)}")
    parts = Parts(secrets.token_hex(6), secrets.token_urlsafe(32))
    ordered = tuple(scope for scope in SCOPES if scope in scopes)
    kept = _hash_of(parts.secret)
    return NewToken(parts.text, TokenRow(parts.id, tenant, agent, name, kept, ordered, session, now_ms, expires_at))


def parts_of(text: str) -> Parts | None:
    """The parts of what may be a token; `None` for what is none."""
    found = _TOKEN.fullmatch(text)
    return None if found is None else Parts(found[1], found[2])


def is_secret_of(secret: str, kept: str) -> bool:
    """Whether this is the secret of which that was kept; it takes the same time for each wrong one."""
    return hmac.compare_digest(_hash_of(secret), kept)


def _hash_of(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
