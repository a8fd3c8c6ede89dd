"""A turn's end, in one transaction: all of it counts, or the turn never was (B-16.2, B-17.1).

The session's row carries the two numbers that a turn is compared with: the revision, which every
commit moves, and the epoch of the gate. Whoever is second finds one of them moved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b

from falai.host.ledger.gating import CLOSE, OPT_OUT_CUSTOMER, OPT_OUT_SESSION
from falai.host.ledger.port import Claim, Committed, Done, Job, Letter, LiveRun, Row, Statement, Undo, Work

__all__ = ["commit"]

_KEEP = """
    UPDATE falai_sessions SET revision = revision + 1, updated_at = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND revision = ? AND epoch = ? RETURNING revision"""
_SAVE = """
    UPDATE falai_sessions SET revision = revision + 1, updated_at = ?, blob = ?, version = version + 1
    WHERE tenant = ? AND agent = ? AND session = ? AND revision = ? AND epoch = ? RETURNING revision"""
# When it came in tells it from one of the same key that came after the session had been erased.
_SETTLE = """
    UPDATE falai_inbox SET state = 'done', settled_at = ?, error = NULL, lead = ?
    WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND state = 'new' AND received_at = ? RETURNING key"""
_LOOK = "SELECT revision, epoch FROM falai_sessions WHERE tenant = ? AND agent = ? AND session = ?"

# A claim of another session may be written anew only by a turn that has seen it as it is.
_CLAIM = """
    INSERT INTO falai_claims (tenant, agent, key, session, at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, agent, key) DO UPDATE SET session = excluded.session, at = excluded.at
    WHERE falai_claims.session = excluded.session OR falai_claims.at = ?
    RETURNING key"""
_LIVE = """
    INSERT INTO falai_live_runs (tenant, agent, flow, anchor, session) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, agent, flow, anchor) DO UPDATE SET session = excluded.session
    WHERE falai_live_runs.session = excluded.session
    RETURNING flow"""
_HELD = "SELECT key, at FROM falai_claims WHERE tenant = ? AND agent = ? AND key = ? AND session <> ?"
_ACTIVE = "SELECT flow, anchor FROM falai_live_runs WHERE tenant = ? AND agent = ? AND flow = ? AND anchor = ? AND session <> ?"
_UNCLAIM = "DELETE FROM falai_claims WHERE tenant = ? AND agent = ? AND session = ? AND key = ?"
_END = "DELETE FROM falai_live_runs WHERE tenant = ? AND agent = ? AND session = ? AND flow = ? AND anchor = ?"

_SAY = """
    INSERT INTO falai_transcript (tenant, agent, session, revision, position, role, text, at, id, data, kept_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_SEND = """
    INSERT INTO falai_outbox
        (tenant, agent, session, revision, position, key, body, by_person, channel, address, after_ms, due_at, calm)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""
_UNSET = "DELETE FROM falai_wakes WHERE tenant = ? AND agent = ? AND session = ? AND key = ?"
_SET = """
    INSERT INTO falai_wakes (tenant, agent, session, key, due_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (tenant, agent, session, key) DO UPDATE SET due_at = excluded.due_at"""
_LOG = "INSERT INTO falai_run_log (tenant, agent, session, key, at, log) VALUES (?, ?, ?, ?, ?, ?)"
_FORGET = "DELETE FROM falai_journal WHERE tenant = ? AND agent = ? AND session = ? AND input = ?"

Who = tuple[str, str, str]


def commit(job: Job, done: Done, *, now_ms: int) -> Work[Committed]:
    """Keeps what the turn of this job left; with a conflict, nothing of it."""
    who = (job.place.tenant, job.place.agent, job.place.session)
    compared = (*who, job.revision, job.gate.epoch)
    save = (
        Statement(_KEEP, (now_ms, *compared)) if done.blob is None else Statement(_SAVE, (now_ms, done.blob, *compared))
    )
    settle = (Statement(_SETTLE, (now_ms, job.key, *who, row.key, row.received_at)) for row in job.inputs)
    if not all((yield (save, *settle))):
        (found,) = yield (Statement(_LOOK, who),)
        moved = bool(found) and found[0][0] == job.revision and found[0][1] != job.gate.epoch
        raise Undo(Committed("gate" if moved else "version"))
    claims, live = sorted(done.claims, key=lambda claim: claim.key), sorted(done.live)  # one order: no deadlock
    rows = yield (*_shared(who, done, claims, live), *_own(who, job, done, now_ms))
    gone = len(done.claims_gone) + len(done.live_gone)
    if not all(rows[gone : gone + len(claims) + len(live)]):
        raise Undo((yield from _what_is_held(who, claims, live)))
    return Committed()


def _shared(who: Who, done: Done, claims: Sequence[Claim], live: Sequence[LiveRun]) -> Iterator[Statement]:
    """What no two sessions may hold."""
    tenant, agent, session = who
    for key in done.claims_gone:
        yield Statement(_UNCLAIM, (*who, key))
    for run in done.live_gone:
        yield Statement(_END, (*who, run.flow, run.anchor))
    for claim in claims:
        yield Statement(_CLAIM, (tenant, agent, claim.key, session, claim.at, claim.seen))
    for run in live:
        yield Statement(_LIVE, (tenant, agent, run.flow, run.anchor, session))


def _own(who: Who, job: Job, done: Done, now_ms: int) -> Iterator[Statement]:
    """What is the session's alone."""
    keys = [_idempotency_key(who, job, position) for position in range(len(done.outbox))]
    if done.transcript:
        yield Statement(_SAY, list(_lines(who, job, done, keys, now_ms)), many=True)
    if done.outbox:
        yield Statement(_SEND, list(_messages(who, job, done, keys, now_ms)), many=True)
    for wake in done.wakes:
        if wake.replaces is not None:
            yield Statement(_UNSET, (*who, wake.replaces))
        yield Statement(_SET, (*who, wake.key, wake.due_at))
    if done.log is not None:
        yield Statement(_LOG, (*who, job.key, now_ms, done.log))
    yield Statement(_FORGET, (*who, job.key))
    if done.hold is not None:
        yield Statement(CLOSE, (done.hold.reason or "", int(done.hold.understand), int(done.hold.skip), *who))
    if done.opt_out:
        yield Statement(OPT_OUT_SESSION, (who[0], who[1], who[2], now_ms))
        yield Statement(OPT_OUT_CUSTOMER, (now_ms, *who))


def letters_of(job: Job, done: Done) -> tuple[Letter, ...]:
    """The messages that the commit of this turn has put into the outbox."""
    place = job.place
    who = (place.tenant, place.agent, place.session)
    return tuple(
        Letter(_idempotency_key(who, job, position), reply.body, reply.after_ms)
        for position, reply in enumerate(done.outbox)
    )


def _lines(who: Who, job: Job, done: Done, keys: Sequence[str], now_ms: int) -> Iterator[Row]:
    for position, line in enumerate(done.transcript):
        id = line.id if line.message is None else keys[line.message]
        yield (*who, job.revision + 1, position, line.role, line.text, line.at, id, line.data, now_ms)


def _messages(who: Who, job: Job, done: Done, keys: Sequence[str], now_ms: int) -> Iterator[Row]:
    due_at, calm = now_ms, int(job.inputs[0].kind not in ("message", "human"))
    for position, (reply, key) in enumerate(zip(done.outbox, keys, strict=True)):
        due_at += reply.after_ms
        to = (int(reply.by_person), job.channel, job.address, reply.after_ms, due_at, calm)
        yield (*who, job.revision + 1, position, key, reply.body, *to)


def _idempotency_key(who: Who, job: Job, position: int) -> str:
    """One for each message that was ever committed: of session, revision and position (B-9.4), and of the
    input too, since a session that was erased begins to count anew."""
    named = "\0".join((*who, job.key, str(job.revision + 1), str(position)))
    return blake2b(named.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _what_is_held(who: Who, claims: Sequence[Claim], live: Sequence[LiveRun]) -> Work[Committed]:
    """What other sessions hold of it, of whatever customer."""
    tenant, agent, session = who
    rows = yield (
        *(Statement(_HELD, (tenant, agent, claim.key, session)) for claim in claims),
        *(Statement(_ACTIVE, (tenant, agent, run.flow, run.anchor, session)) for run in live),
    )
    held = {row[0]: row[1] for found in rows[: len(claims)] for row in found}
    active = tuple(f"{row[0]}:{row[1]}" for found in rows[len(claims) :] for row in found)
    return Committed("claims", held, active)
