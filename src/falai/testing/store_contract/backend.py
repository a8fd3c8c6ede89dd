"""What a backend cannot do: said once, in the class of its tests."""

from __future__ import annotations

from typing import Any

from falai.session.check import assert_session
from falai.session.codec import session_to_wire
from falai.session.jsontext import is_list, is_object
from falai.session.model import Session

__all__ = ["Backend"]


class Backend:
    """Its attributes are true of a backend that keeps everything as it is."""

    keeps_nul: bool = True
    """U+0000 stays in texts. `False`: it is removed from every text, keys included (P-40)."""

    keeps_floats: bool = True
    """A float beyond 2^53 comes back as a float. `False`: as the whole number of the same value, as JSONB has it."""

    keeps_order: bool = True
    """The keys of an object come back in their order. `False`: in some order (P-18)."""

    keeps_blanks: bool = True
    """Ids that differ only in a blank at their end differ. `False`: they are one to the backend, as to MySQL."""

    knows_json: bool = False
    """`True`: the backend parses the blob, so text that is not JSON cannot stand in a row."""

    longest_id: int | None = None
    """How many characters an id may have at most; a longer one is an error and writes nothing (P-70)."""

    ordered: bool = True
    """A scan gives each row once, in the order of the ids. `False`: at least once."""

    def storable(self, session: Session) -> Session:
        """The session as this store keeps it."""
        if self.keeps_nul:
            return session
        wire = _without_nul(session_to_wire(session))
        return assert_session(wire, wire["id"])


def _without_nul(value: Any) -> Any:
    if is_object(value):
        return {_without_nul(key): _without_nul(item) for key, item in value.items()}
    if is_list(value):
        return [_without_nul(item) for item in value]
    return value.replace("\0", "") if isinstance(value, str) else value
