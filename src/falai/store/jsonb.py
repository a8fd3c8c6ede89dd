"""What a row in PostgreSQL cannot keep as it is, and what it keeps in place of that.

JSONB refuses U+0000 (P-40), and writes a float that is whole as a whole number. A session is made
so before it is written, and what `save` gives back shows it. Ids have 255 characters at most
(P-70), here and in the other tables whose column has that length.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import msgspec

from falai.session.check import assert_session
from falai.session.codec import session_to_wire, stamped_fast
from falai.session.jsontext import is_list, is_object
from falai.session.model import Session
from falai.store.row import check_id, check_version, to_row

__all__ = ["LONGEST_ID", "check_length", "jsonb_id", "to_jsonb_row"]

LONGEST_ID = 255


def check_length(id: str) -> str:
    """The id; raises `ValueError` when the column could not hold it."""
    if len(id) > LONGEST_ID:
        raise ValueError(f"the session id {id[:20]!r}… has {len(id)} characters; it may have {LONGEST_ID} at most")
    return id


def jsonb_id(id: object) -> str:
    """The id as it is stored. Raises `TypeError` like `check_id`, `ValueError` when it is too long."""
    return check_length(check_id(_without_nul(check_id(id))))


def to_jsonb_row(session: Session, expected_version: object) -> tuple[Session, str]:
    """What a save stores and gives back, as `to_row` has it, in a form that JSONB gives back unchanged."""
    jsonb_id(session.id)
    row = stamped_fast(session, check_version(expected_version) + 1, _READ_BACK)
    if row is not None and "\\u0000" not in row[1]:
        return row
    fresh, _ = to_row(session, expected_version)
    plain = _jsonb(session_to_wire(fresh))
    return to_row(assert_session(plain, plain["id"]), expected_version)


def _fraction(text: str) -> float:
    """A float that JSONB writes as a float."""
    value = float(text)
    if value.is_integer():
        raise ValueError
    return value


_READ_BACK = msgspec.json.Decoder(Session, float_hook=_fraction)


def _jsonb(value: Any) -> Any:
    if is_object(value):
        return {_without_nul(key): _jsonb(member) for key, member in value.items()}
    if is_list(value):
        return [_jsonb(member) for member in value]
    if isinstance(value, float) and value.is_integer():
        return int(Decimal(repr(value)))  # the digits that are written, not those of the binary fraction
    return _without_nul(value) if isinstance(value, str) else value


def _without_nul(text: str) -> str:
    return text.replace("\0", "")
