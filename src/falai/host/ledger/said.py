"""What a customer should see of a session, in order: for a chat that reads it here, and goes on where it stopped.

A message is there once it is sent, as by any channel: its pause is over, and the gate did not close before.
A host without a channel sends to nobody, in the same way. One that no channel took (`dead`) was said all the same.
What is still to be sent holds up what comes behind it, so nothing appears before a cursor later; a message that
was set aside and is tried again was seen already.

A cursor names a message, and the session's beginning: whoever comes with a cursor of a session that was erased
since, begins anew with the one that has its id now. It is kept as long as messages are (`Keep.messages`).
"""

from __future__ import annotations

import re
from typing import Final

from falai.host.ledger.port import Place, Row, SaidRow, Statement, Work

__all__ = ["said_after", "said_by_turn", "said_last"]

_CURSOR: Final = re.compile(r"([0-9]{1,15})-([0-9]{1,15})-([0-9]{1,9})", re.ASCII)
_BEGINNING: Final = (-1, -1)

_BEGUN = "SELECT created_at FROM falai_sessions WHERE tenant = ? AND agent = ? AND session = ?"
_COLUMNS = """
    SELECT revision, position, key, body, by_person, after_ms, state, settled_at FROM falai_outbox
    WHERE tenant = ? AND agent = ? AND session = ? AND state <> 'withheld'"""
_AFTER = f"{_COLUMNS} AND (revision, position) > (?, ?) ORDER BY revision, position LIMIT ?"
_OF_TURN = f"{_COLUMNS} AND revision = ? ORDER BY position"
_LAST = """
    SELECT o.revision, o.position FROM falai_outbox o
    WHERE o.tenant = ? AND o.agent = ? AND o.session = ? AND o.state IN ('sent', 'dead') AND NOT EXISTS (
        SELECT 1 FROM falai_outbox n
        WHERE n.tenant = o.tenant AND n.agent = o.agent AND n.session = o.session AND n.state = 'new'
            AND (n.revision, n.position) < (o.revision, o.position))
    ORDER BY o.revision DESC, o.position DESC LIMIT 1"""


def said_after(place: Place, cursor: str | None = None, *, limit: int) -> Work[tuple[SaidRow, ...]]:
    """The messages behind the cursor, the oldest first; all of them without one.

    Raises `ValueError` for a text that is no cursor.
    """
    begun, after = (None, _BEGINNING) if cursor is None else _read(cursor)
    who = (place.tenant, place.agent, place.session)
    sessions, found = yield Statement(_BEGUN, who), Statement(_AFTER, (*who, *after, limit))
    begins = sessions[0][0] if sessions else 0
    if begun is not None and begun != begins:
        (found,) = yield (Statement(_AFTER, (*who, *_BEGINNING, limit)),)
    unsent = next((at for at, row in enumerate(found) if row[6] == "new"), len(found))
    return tuple(_said(begins, row) for row in found[:unsent])


def said_by_turn(place: Place, revision: int) -> Work[tuple[SaidRow, ...]]:
    """The messages of one turn (`Turned.revision`), also those that are not sent yet; withheld ones are not there."""
    who = (place.tenant, place.agent, place.session)
    sessions, found = yield Statement(_BEGUN, who), Statement(_OF_TURN, (*who, revision))
    return tuple(_said(sessions[0][0] if sessions else 0, row) for row in found)


def said_last(place: Place) -> Work[str]:
    """The cursor behind all that the customer should have seen by now."""
    who = (place.tenant, place.agent, place.session)
    sessions, found = yield Statement(_BEGUN, who), Statement(_LAST, who)
    return _cursor(sessions[0][0] if sessions else 0, *(found[0] if found else (0, 0)))


def _read(cursor: str) -> tuple[int, tuple[int, int]]:
    found = _CURSOR.fullmatch(cursor)
    if found is None:
        raise ValueError(f"{cursor[:80]!r} is no cursor: give back the one that came with a message, or none")
    return int(found[1]), (int(found[2]), int(found[3]))


def _said(begins: int, row: Row) -> SaidRow:
    revision, position, key, body, by_person, after_ms, state, at = row
    return SaidRow(_cursor(begins, revision, position), key, body, bool(by_person), after_ms, state, at)


def _cursor(begins: int, revision: int, position: int) -> str:
    return f"{begins}-{revision}-{position}"
