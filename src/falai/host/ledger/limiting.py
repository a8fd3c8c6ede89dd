"""How fast a channel's number may send: one bucket for all who send by it, whatever process they are in.

A message that finds no token gets a place in a line, and comes back when it is its turn: it asks twice,
however long the line is. There is a line for people who wait for an answer, and one for the rest, for whom
half of the bucket is left alone.
"""

from __future__ import annotations

from msgspec import Struct

from falai.host.ledger.port import OutMessage, Statement, Work

__all__ = ["Rate", "admit"]

_PUT_OFF = """
    UPDATE falai_outbox SET due_at = ?, lined = 1
    WHERE tenant = ? AND agent = ? AND session = ? AND revision = ? AND position = ? AND key = ? AND state = 'new'"""


def _of_line(line: str) -> tuple[str, str]:
    """Theoretical arrival times (GCRA): the bucket is full at `full_at`, and each token moves that by one interval."""
    take = f"""
        INSERT INTO falai_rates (bucket, full_at) VALUES (?, ?)
        ON CONFLICT (bucket) DO UPDATE SET full_at = {{larger}}(falai_rates.full_at, ?) + ?
        WHERE falai_rates.full_at <= ? AND (falai_rates.{line} <= ? OR ? = 1)
        RETURNING full_at"""  # noqa: S608 - fixed
    wait = f"""
        UPDATE falai_rates SET {line} = {{larger}}({line}, full_at - ?) + ? WHERE bucket = ? RETURNING {line}"""  # noqa: S608
    return take, wait


_URGENT, _CALM = _of_line("line_at"), _of_line("calm_line_at")


class Rate(Struct, frozen=True):
    """At most `count` messages in any `period_ms`, of all who name this bucket in the database."""

    bucket: str
    count: int
    period_ms: int

    @property
    def burst(self) -> int:
        """So many may go out at the same moment."""
        return max(1, self.count // 10)

    @property
    def interval_us(self) -> int:
        """The time between two tokens. Those of a burst come on top, so the tokens alone stay below `count`."""
        return -(-self.period_ms * 1000 // max(1, self.count - self.burst))


def admit(message: OutMessage, rate: Rate, *, now_ms: int) -> Work[int | None]:
    """None: it may be sent now. Else when it comes back, and it is put off until then."""
    now, interval = now_ms * 1000, rate.interval_us
    spare = rate.burst // 2 if message.calm else 0
    tolerance = (rate.burst - 1 - spare) * interval
    take, wait = _CALM if message.calm else _URGENT
    asked = (rate.bucket, now + interval, now, interval, now + tolerance, now, message.lined)
    if (yield (Statement(take, asked),))[0]:
        return None
    (rows,) = yield (Statement(wait, (tolerance, interval, rate.bucket)),)
    at: int = -(-rows[0][0] // 1000)
    place = message.place
    which = (place.tenant, place.agent, place.session, message.revision, message.position, message.key)
    yield (Statement(_PUT_OFF, (at, *which)),)
    return at
