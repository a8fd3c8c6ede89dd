"""What people and tools look at. Nothing here changes anything."""

from __future__ import annotations

from typing import Final, NamedTuple

from falai.host.ledger.port import (
    Counts,
    Gate,
    InputRow,
    LogRow,
    MessageRow,
    Place,
    Row,
    SessionRow,
    Statement,
    TranscriptRow,
    WakeWrite,
    Work,
)

__all__ = [
    "Wanted", "counts", "messages", "run_log", "session", "sessions", "sessions_of", "transcript", "waiting", "waits",
    "wakes",
]  # fmt: skip

_FAR = 2**62

_COLUMNS = """
    session, version, blob, epoch, gate_reason, gate_understand, gate_skip, customer, channel, address,
        EXISTS (SELECT 1 FROM falai_optouts o WHERE o.tenant = s.tenant AND o.agent = s.agent
            AND o.whose = 'session' AND o.id = s.session)
        OR EXISTS (SELECT 1 FROM falai_optouts o WHERE o.tenant = s.tenant AND o.agent = s.agent
            AND o.whose = 'customer' AND o.id = s.customer),
        created_at, updated_at
    FROM falai_sessions s WHERE tenant = ? AND agent = ? AND session"""
_ONE = f"SELECT {_COLUMNS} = ?"
_PAGE = f"SELECT {_COLUMNS} > ? ORDER BY session LIMIT ?"
# A customer has few sessions: || keeps a database from walking over all of them in the order of the page.
_PAGE_OF_CUSTOMER = f"SELECT {_COLUMNS} || '' > ? AND customer = ? ORDER BY session || '' LIMIT ?"
_OF_CUSTOMER = "SELECT session FROM falai_sessions WHERE tenant = ? AND agent = ? AND customer = ?"
_TRANSCRIPT = """
    SELECT seq, role, text, at, id, data FROM falai_transcript
    WHERE tenant = ? AND agent = ? AND session = ? AND unsent = 0 AND seq < ?
    ORDER BY revision DESC, position DESC LIMIT ?"""
_RUN_LOG = """
    SELECT seq, key, at, log FROM falai_run_log
    WHERE tenant = ? AND agent = ? AND session = ? AND seq < ? ORDER BY seq DESC LIMIT ?"""
_MESSAGES = """
    SELECT key, body, state, due_at, attempts, provider_id, status, error FROM falai_outbox
    WHERE tenant = ? AND agent = ? AND session = ? ORDER BY revision DESC, position DESC LIMIT ?"""
_WAITING = """
    SELECT key, kind, body, attachments, received_at FROM falai_inbox
    WHERE tenant = ? AND agent = ? AND session = ? AND state = 'new' ORDER BY seq"""
_WAITS = "SELECT 1 FROM falai_inbox WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'new'"
_WAKES = "SELECT key, due_at FROM falai_wakes WHERE tenant = ? AND agent = ? AND session = ?"
_INPUTS = "SELECT count(*), min(received_at) FROM falai_inbox WHERE agent = ? AND state = 'new'"
_UNSENT = "SELECT count(*) FROM falai_outbox WHERE agent = ? AND state = 'new'"
_DUE = "SELECT count(*) FROM falai_wakes WHERE agent = ? AND due_at <= ?"
_STARTS = "SELECT count(*) FROM falai_starts WHERE agent = ?"
_DEAD_INPUTS = "SELECT count(*) FROM falai_inbox WHERE agent = ? AND state = 'dead'"
_DEAD_MESSAGES = "SELECT count(*) FROM falai_outbox WHERE agent = ? AND state = 'dead'"


def session(place: Place) -> Work[SessionRow | None]:
    """The session, if anything ever came in for it."""
    (rows,) = yield (Statement(_ONE, (place.tenant, place.agent, place.session)),)
    return _session(place.tenant, place.agent, rows[0]) if rows else None


class Wanted(NamedTuple):
    """Which sessions: of a customer, of a channel, with a gate that is closed or open; `None` is any."""

    customer: str | None = None
    channel: str | None = None
    held: bool | None = None


_ANY: Final = Wanted()


def sessions(
    agent: str, *, tenant: str, wanted: Wanted = _ANY, after: str | None = None, limit: int
) -> Work[tuple[SessionRow, ...]]:
    """Sessions in the order of their ids, those behind `after`."""
    sql, given = (_PAGE, []) if wanted.customer is None else (_PAGE_OF_CUSTOMER, [wanted.customer])
    filters = ""
    if wanted.channel is not None:
        filters += " AND channel = ?" if wanted.customer is None else " AND channel || '' = ?"
        given = [*given, wanted.channel]
    if wanted.held is not None:
        filters += f" AND gate_reason IS {'NOT ' if wanted.held else ''}NULL"
    sql = sql.replace(" ORDER BY", f"{filters} ORDER BY")
    (rows,) = yield (Statement(sql, (tenant, agent, after or "", *given, limit)),)
    return tuple(_session(tenant, agent, row) for row in rows)


def sessions_of(agent: str, *, tenant: str, customer: str) -> Work[tuple[str, ...]]:
    """The ids of a customer's sessions."""
    (rows,) = yield (Statement(_OF_CUSTOMER, (tenant, agent, customer)),)
    return tuple(sorted(row[0] for row in rows))


def transcript(place: Place, *, before: int | None = None, limit: int) -> Work[tuple[TranscriptRow, ...]]:
    """The conversation, the newest line first; the lines before the number `before`."""
    (rows,) = yield (Statement(_TRANSCRIPT, (*_who(place), _FAR if before is None else before, limit)),)
    return tuple(TranscriptRow(*row) for row in rows)


def run_log(place: Place, *, before: int | None = None, limit: int) -> Work[tuple[LogRow, ...]]:
    """What the inputs led to, the newest first; the lines before the number `before`."""
    (rows,) = yield (Statement(_RUN_LOG, (*_who(place), _FAR if before is None else before, limit)),)
    return tuple(LogRow(*row) for row in rows)


def messages(place: Place, *, limit: int) -> Work[tuple[MessageRow, ...]]:
    """The messages of a place, the newest first."""
    (rows,) = yield (Statement(_MESSAGES, (*_who(place), limit)),)
    return tuple(MessageRow(*row) for row in rows)


def waiting(place: Place) -> Work[tuple[InputRow, ...]]:
    """The inputs that wait to be played, in their order."""
    (rows,) = yield (Statement(_WAITING, _who(place)),)
    return tuple(InputRow(*row) for row in rows)


def waits(place: Place, key: str) -> Work[bool]:
    """Whether an input waits to be played."""
    (rows,) = yield (Statement(_WAITS, (*_who(place), key)),)
    return bool(rows)


def wakes(place: Place) -> Work[tuple[WakeWrite, ...]]:
    """The timers that are set, the next first."""
    (rows,) = yield (Statement(_WAKES, _who(place)),)
    return tuple(sorted((WakeWrite(*row) for row in rows), key=lambda wake: wake.due_at))


def counts(agent: str, *, now_ms: int) -> Work[Counts]:
    """How much waits. It costs as much as there is of it."""
    inputs, unsent, due, starts, dead_inputs, dead_messages = yield (
        Statement(_INPUTS, (agent,)),
        Statement(_UNSENT, (agent,)),
        Statement(_DUE, (agent, now_ms)),
        Statement(_STARTS, (agent,)),
        Statement(_DEAD_INPUTS, (agent,)),
        Statement(_DEAD_MESSAGES, (agent,)),
    )
    many, oldest = inputs[0]
    dead = dead_inputs[0][0] + dead_messages[0][0]
    return Counts(many, oldest, unsent[0][0], due[0][0], dead, starts[0][0])


def _session(tenant: str, agent: str, row: Row) -> SessionRow:
    id, version, blob, epoch, reason, understand, skip, customer, channel, address, out, created, updated = row
    gate = Gate(epoch, reason, bool(understand), bool(skip))
    place = Place(tenant, agent, id)
    return SessionRow(place, version, blob, gate, customer, channel, address, bool(out), created, updated)


def _who(place: Place) -> tuple[str, str, str]:
    return place.tenant, place.agent, place.session
