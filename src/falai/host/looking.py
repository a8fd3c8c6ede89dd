"""What can be seen of a session and of the host, read in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from falai.host.ledger import looking
from falai.host.ledger.dead import dead
from falai.host.ledger.port import (
    Counts,
    DeadRow,
    InputRow,
    LogRow,
    MessageRow,
    Place,
    SessionRow,
    TranscriptRow,
    WakeWrite,
    Work,
)
from falai.session.codec import session_from_json
from falai.session.model import Run, Session

__all__ = ["Look", "Status", "look_at", "status_of"]


@dataclass(frozen=True, kw_only=True)
class Look:
    """A session as it stands. `transcript`, `log` and `outbox` are its newest parts, newest first.

    `waiting` is what had no turn yet, `wakes` the timers, `dead` what was set aside.
    """

    row: SessionRow
    waiting: Sequence[InputRow]
    wakes: Sequence[WakeWrite]
    transcript: Sequence[TranscriptRow]
    log: Sequence[LogRow]
    outbox: Sequence[MessageRow]
    dead: Sequence[DeadRow]

    @property
    def session(self) -> Session | None:
        """The session, `None` before its first turn. Raises `InvalidSessionError` for a damaged row."""
        return None if self.row.blob is None else session_from_json(self.row.blob, self.row.place.session)

    @property
    def runs(self) -> Sequence[Run]:
        """Its live runs. Raises as `session`."""
        return self.session.runs if self.session else ()

    @property
    def held(self) -> str | None:
        """Why the assistant is silent; `None` while it may speak."""
        return self.row.gate.reason


@dataclass(frozen=True, kw_only=True)
class Status:
    """How much waits, of all processes: inputs (since when the oldest, epoch ms), messages, due timers, the starts of
    campaigns that have not come yet; what is dead. What this process is at: turns, and sessions that it sends to.
    """

    inputs: int
    oldest: int | None
    messages: int
    wakes_due: int
    starts: int
    dead: int
    turns: int
    deliveries: int


def status_of(found: Counts, *, turns: int, deliveries: int) -> Status:
    """What the ledger counts, beside what this process is at."""
    return Status(
        inputs=found.inputs,
        oldest=found.oldest,
        messages=found.messages,
        wakes_due=found.wakes_due,
        starts=found.starts,
        dead=found.dead,
        turns=turns,
        deliveries=deliveries,
    )


def look_at(place: Place, *, limit: int) -> Work[Look | None]:
    """Everything about a session, at most `limit` rows of a kind."""
    row = yield from looking.session(place)
    if row is None:
        return None
    return Look(
        row=row,
        waiting=(yield from looking.waiting(place)),
        wakes=(yield from looking.wakes(place)),
        transcript=(yield from looking.transcript(place, limit=limit)),
        log=(yield from looking.run_log(place, limit=limit)),
        outbox=(yield from looking.messages(place, limit=limit)),
        dead=(yield from dead(place.agent, tenant=place.tenant, session=place.session, limit=limit)),
    )
