"""A killed worker's session goes on within ten seconds: looked up in what the database saw, by its own clock.

From the kill to the next commit. The time in which a living worker is at it does not count: a turn takes as
long as it takes. Nor does the time in which a fault of another kind lasts, or in which nothing is due. On a machine
that has too much to do the ten seconds are as much longer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

__all__ = ["SEEING", "WITHIN_MS", "Evidence", "Span", "goes_on"]

WITHIN_MS: Final = 10_000
_TRIED_ALONE: Final = 3  # of so many deaths on, a job waits until others that died as often are over

SEEING: Final = """
    CREATE TABLE storm_seen (
        number BIGSERIAL, at BIGINT DEFAULT extract(epoch FROM clock_timestamp()) * 1000,
        what TEXT, session TEXT, event TEXT, who TEXT DEFAULT current_setting('application_name'),
        key TEXT, due BIGINT, deaths INTEGER);
    CREATE FUNCTION storm_job() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO storm_seen (what, session, event, deaths) SELECT
            split_part(OLD.task_name, '.', 2), OLD.args ->> 'session',
            CASE WHEN TG_OP = 'UPDATE' AND NEW.status = 'doing' THEN 'taken' ELSE 'left' END, OLD.attempts;
        RETURN NULL; END $$;
    CREATE TRIGGER storm_job AFTER UPDATE OF status ON procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION storm_job();
    CREATE TRIGGER storm_job_gone AFTER DELETE ON procrastinate_jobs
        FOR EACH ROW WHEN (OLD.status = 'doing') EXECUTE FUNCTION storm_job();
    CREATE FUNCTION storm_input() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO storm_seen (what, session, event, key, due)
            VALUES ('turn', NEW.session, NEW.state, NEW.key, NEW.not_before);
        RETURN NULL; END $$;
    CREATE TRIGGER storm_input_came AFTER INSERT ON falai_inbox FOR EACH ROW EXECUTE FUNCTION storm_input();
    CREATE TRIGGER storm_input AFTER UPDATE ON falai_inbox FOR EACH ROW
        WHEN ((OLD.state, OLD.attempts, OLD.not_before) IS DISTINCT FROM (NEW.state, NEW.attempts, NEW.not_before))
        EXECUTE FUNCTION storm_input();
    CREATE FUNCTION storm_message() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO storm_seen (what, session, event, key, due)
            VALUES ('deliver', NEW.session, NEW.state, NEW.key, NEW.due_at);
        RETURN NULL; END $$;
    CREATE TRIGGER storm_message_came AFTER INSERT ON falai_outbox FOR EACH ROW EXECUTE FUNCTION storm_message();
    CREATE TRIGGER storm_message AFTER UPDATE ON falai_outbox FOR EACH ROW
        WHEN ((OLD.state, OLD.attempts, OLD.due_at) IS DISTINCT FROM (NEW.state, NEW.attempts, NEW.due_at))
        EXECUTE FUNCTION storm_message()"""
"""Has a database write down who takes and leaves jobs, and what becomes of inputs and messages."""

Row = Mapping[str, Any]


class Span(NamedTuple):
    """A time in which a fault lasted, in milliseconds."""

    began: int
    ended: int


class Evidence(NamedTuple):
    """Which workers were killed, and when; the faults; and how many times as long things took between two moments."""

    died: Mapping[str, int]
    faults: Sequence[Span]
    slowness: Callable[[int, int], float]


def goes_on(seen: Sequence[Row], evidence: Evidence) -> list[str]:
    """What speaks against it."""
    places = defaultdict[tuple[str, str], list[Row]](list)
    for row in seen:
        places[row["what"], row["session"]].append(row)
    return [
        f"goes_on: {session} of {who}, which was killed in a {what}, {found}"
        for (what, session), rows in places.items()
        for who, at in sorted(evidence.died.items(), key=lambda one: one[1])
        for found in _late(rows, who, at, evidence)
    ]


def _late(rows: Sequence[Row], who: str, at: int, evidence: Evidence) -> Iterator[str]:
    before, after = [row for row in rows if row["at"] <= at], [row for row in rows if row["at"] > at]
    states = {row["key"]: row["event"] for row in before if row["key"] is not None}
    waiting = {key for key, state in states.items() if state == "new"}
    if not waiting or not _was_at_it(before, who):
        return
    moved = next((row for row in after if row["key"] in waiting), None)
    if moved is None:
        yield "never went on"
        return
    due = (row["due"] for row in rows if row["due"] is not None and row["due"] <= moved["at"])
    waited = _alone(after, _after(evidence.faults, max(at, *due)), moved["at"], evidence.died)
    if waited > WITHIN_MS * (slow := evidence.slowness(at, moved["at"])):
        yield f"went on after {waited} ms, on a machine that was {slow:.1f} times slower than free"


def _was_at_it(before: Sequence[Row], who: str) -> bool:
    last = next((row for row in reversed(before) if row["event"] in {"taken", "left"}), None)
    return last is not None and last["event"] == "taken" and last["who"] == who and last["deaths"] + 1 < _TRIED_ALONE


def _after(faults: Sequence[Span], at: int) -> int:
    """When the last of the faults had ended that came within the time."""
    for fault in sorted(faults):
        if fault.began <= at + WITHIN_MS:
            at = max(at, fault.ended)
    return at


def _alone(after: Sequence[Row], since: int, until: int, died: Mapping[str, int]) -> int:
    """For how long nobody was at it. Whoever took it and was killed too is looked at for itself."""
    waited, at_work = 0, False
    for row in after:
        if row["at"] > until:
            break
        if row["event"] == "taken":
            if row["at"] <= died.get(row["who"], 0) <= until:
                return 0
            waited, at_work = waited + max(0, row["at"] - since), True
        elif row["event"] == "left" and at_work:
            since, at_work = max(since, row["at"]), False
    return waited if at_work else waited + max(0, until - since)
