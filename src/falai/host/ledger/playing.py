"""The next input of a place, with everything that a turn needs; and what becomes of one that cannot be played now.

Inputs are played in the order in which they came. One that failed, and a message in any case, holds up
what came after it until its time has come; one that was put off lets the others pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from falai.host.ledger.port import Gate, InputRow, Job, Place, Row, Said, Statement, Undo, Work

__all__ = ["next_job", "note_answers", "put_off", "set_aside", "try_later"]

_LONGEST_BURST = 50

_INPUTS = """
    SELECT key, kind, body, attachments, received_at, pause_until, not_before, attempts, lead
    FROM falai_inbox
    WHERE tenant = ? AND agent = ? AND session = ? AND state = 'new'
        AND (not_before <= ? OR attempts > 0 OR kind IN ('message', 'human'))
    ORDER BY seq LIMIT ?"""
_SESSION = """
    SELECT revision, version, blob, epoch, gate_reason, gate_understand, gate_skip, customer, channel, address,
        EXISTS (SELECT 1 FROM falai_optouts o WHERE o.tenant = s.tenant AND o.agent = s.agent
            AND o.whose = 'session' AND o.id = s.session)
        OR EXISTS (SELECT 1 FROM falai_optouts o WHERE o.tenant = s.tenant AND o.agent = s.agent
            AND o.whose = 'customer' AND o.id = s.customer)
    FROM falai_sessions s WHERE tenant = ? AND agent = ? AND session = ?"""
_HISTORY = """
    SELECT role, text FROM falai_transcript
    WHERE tenant = ? AND agent = ? AND session = ? AND unsent = 0
    ORDER BY revision DESC, position DESC LIMIT ?"""
_JOURNAL = """
    SELECT name, position, answer FROM falai_journal WHERE tenant = ? AND agent = ? AND session = ? AND input = ?"""
# CROSS: from the customer's sessions to what they hold; the other way round would read what everybody holds.
_OTHERS = """
    FROM falai_sessions me CROSS JOIN falai_sessions s CROSS JOIN {held} h
    WHERE me.tenant = ? AND me.agent = ? AND me.session = ?
        AND s.tenant = me.tenant AND s.agent = me.agent AND s.customer = me.customer AND s.session <> me.session
        AND h.tenant = s.tenant AND h.agent = s.agent AND h.session = s.session"""
_HELD = "SELECT h.key, h.at" + _OTHERS.replace("{held}", "falai_claims")
_ACTIVE = "SELECT h.flow, h.anchor" + _OTHERS.replace("{held}", "falai_live_runs")

_STILL_ITS_TURN = """
    SELECT 1 FROM falai_sessions WHERE tenant = ? AND agent = ? AND session = ? AND revision = ?
        AND EXISTS (SELECT 1 FROM falai_inbox WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'new')"""
_NOTE = """
    INSERT INTO falai_journal (tenant, agent, session, input, name, position, answer) VALUES (?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (tenant, agent, session, input, name, position) DO NOTHING RETURNING name"""
_LEAD = """
    UPDATE falai_inbox SET lead = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'new' RETURNING key"""
_TRY_LATER = """
    UPDATE falai_inbox SET attempts = attempts + 1, error = ?, not_before = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'new' RETURNING key"""
_PUT_OFF = """
    UPDATE falai_inbox SET not_before = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'new' RETURNING key"""
_SET_ASIDE = """
    UPDATE falai_inbox SET state = 'dead', attempts = attempts + 1, error = ?, settled_at = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'new' RETURNING key"""

_TOUCH = "UPDATE falai_sessions SET updated_at = ? WHERE tenant = ? AND agent = ? AND session = ?"


def next_job(place: Place, *, now_ms: int, history_items: int) -> Work[Job | None]:
    """The next input of the place, or burst of messages; None when nothing is to be played now.

    Messages make a burst when each came before the pause of the one before it was over. A burst is
    played when its last pause is over, or when it has 50 messages.
    """
    who = (place.tenant, place.agent, place.session)
    (found,) = yield (Statement(_INPUTS, (*who, now_ms, _LONGEST_BURST)),)
    burst = _burst(found)
    if not burst or (len(burst) < _LONGEST_BURST and any(row[6] > now_ms for row in burst)) or found[0][6] > now_ms:
        return None
    inputs = tuple(InputRow(row[0], row[1], row[2], row[3], row[4]) for row in burst)
    sessions, lines, answers, held, active = yield (
        Statement(_SESSION, who),
        Statement(_HISTORY, (*who, history_items)),
        Statement(_JOURNAL, (*who, inputs[0].key)),
        Statement(_HELD, who),
        Statement(_ACTIVE, who),
    )
    revision, version, blob, epoch, reason, understand, skip, customer, channel, address, opted_out = sessions[0]
    return Job(
        place=place,
        inputs=inputs,
        revision=revision,
        version=version,
        blob=blob,
        gate=Gate(epoch, reason, bool(understand), bool(skip)),
        opted_out=bool(opted_out),
        customer=customer,
        channel=channel,
        address=address,
        history=tuple(map(Said._make, reversed(lines))),
        held={row[0]: row[1] for row in held},
        active=tuple(f"{flow}:{anchor}" for flow, anchor in active),
        journal={(name, position): answer for name, position, answer in answers},
        attempts=burst[0][7],
    )


def _burst(found: Sequence[Row]) -> Sequence[Row]:
    size = min(1, len(found))
    while size < len(found) and _joins(found[size], found[size - 1], found[0]):
        size += 1
    return found[:size]


def _joins(row: Row, before: Row, first: Row) -> bool:
    """A burst of which answers are noted stays as it was, whatever the clock did: they are about no other message.

    And without a pause there is none, though the clock may have been set back between two messages.
    """
    if first[8] is not None:
        return bool(row[8] == first[8])
    paused = before[4] < before[5] and row[4] < before[5]
    return bool(first[1] == "message" == row[1] and row[8] is None and paused)


def note_answers(job: Job, answers: Mapping[tuple[str, int], str]) -> Work[bool]:
    """Keeps what the model answered, by name and position, and to which inputs: a repetition makes the same choices.

    False, and nothing is kept, when the turn can no longer count, or another worker noted first: what
    follows from the answers must not be done then, and the job is to be taken anew.
    """
    who = _who(job)
    rows = yield (
        Statement(_STILL_ITS_TURN, (*who, job.revision, *who, job.key)),
        *(Statement(_NOTE, (*who, job.key, name, at, text)) for (name, at), text in answers.items()),
        *(Statement(_LEAD, (job.key, *who, row.key)) for row in job.inputs),
    )
    if not all(rows):
        raise Undo(False)
    return True


def try_later(job: Job, error: str, not_before: int) -> Work[bool]:
    """Counts a failed attempt; the input and what came after it wait. False: it no longer waits to be played."""
    return (yield (Statement(_TRY_LATER, (error, not_before, *_who(job), job.key)),))[0] != []


def put_off(job: Job, not_before: int) -> Work[bool]:
    """Lets the input wait without a failure; unless it is a message, others pass it meanwhile."""
    return (yield (Statement(_PUT_OFF, (not_before, *_who(job), job.key)),))[0] != []


def set_aside(job: Job, error: str, *, now_ms: int) -> Work[bool]:
    """Takes all inputs of the job out of the way; `retry_dead` brings them back, with their journal.

    Nothing else of the session would tell those who look at it from another process.
    """
    touch = Statement(_TOUCH, (now_ms, *_who(job)))
    _, *rows = yield (touch, *(Statement(_SET_ASIDE, (error, now_ms, *_who(job), row.key)) for row in job.inputs))
    return any(rows)


def _who(job: Job) -> tuple[str, str, str]:
    return job.place.tenant, job.place.agent, job.place.session
