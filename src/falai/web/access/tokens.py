"""The texts of tokens: `falai_<id>_<secret>`. The id finds the row; of the secret only a hash is kept.

A secret has 256 random bits, so a plain SHA-256 of it gives nothing away.
"""

from __future__ import annotations

import hmac
import re
import secrets  # noqa: TID251 - an edge: here a secret is made
from hashlib import sha256
from typing import Final, NamedTuple

__all__ = ["TOKEN", "Parts", "hash_of", "is_secret_of", "new_parts", "parts_of"]

TOKEN: Final = re.compile(r"falai_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


class Parts(NamedTuple):
    """What a token is made of."""

    id: str
    secret: str

    @property
    def text(self) -> str:
        """The token as its owner sends it."""
        return f"falai_{self.id}_{self.secret}"


def new_parts() -> Parts:
    """A new token."""
    return Parts(secrets.token_hex(6), secrets.token_urlsafe(32))


def parts_of(text: str) -> Parts | None:
    """The parts of what may be a token; `None` for what is none."""
    found = TOKEN.fullmatch(text)
    return None if found is None else Parts(found[1], found[2])


def hash_of(secret: str) -> str:
    """What is kept of a secret."""
    return sha256(secret.encode()).hexdigest()


def is_secret_of(secret: str, kept: str) -> bool:
    """Whether this is the secret of which that was kept; it takes the same time for each wrong one."""
    return hmac.compare_digest(hash_of(secret), kept)
