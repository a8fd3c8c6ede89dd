"""`falai queue`: what waits in a host's database, what is stuck, and what was set aside."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from falai.cli.clean import clean
from falai.cli.hosted.database import check_store
from falai.cli.loading import LoadError
from falai.cli.store_access import guarded
from falai.cli.table import table
from falai.host.ledger.dead import dead, drop_dead, retry_dead
from falai.host.ledger.port import DeadRow, Ledger
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.standing import Standing, agents, standings
from falai.host.queue.standing import QueueStanding, queue_standing
from falai.host.schema import for_looking, is_postgres, schema_of
from falai.session.dates import iso
from falai.session.jsontext import json_text

__all__ = ["Which", "run_change", "run_dead", "run_status"]

_MOST = 100_000
_COLUMNS = ("agent", "tenant", "inputs", "oldest", "messages", "unsent", "timers due", "starts", "dead")


@dataclass(frozen=True, slots=True, kw_only=True)
class Which:
    """Which of those that were set aside; what is `None` does not matter."""

    agent: str | None = None
    tenant: str | None = None
    session: str | None = None
    key: str | None = None
    limit: int | None = None

    def takes(self, row: DeadRow) -> bool:
        return self.key in (None, row.key)


def run_status(store: str, *, as_json: bool) -> int:
    """Prints what waits; the exit code is 1 when something is set aside or stalled."""

    async def look(ledger: Ledger) -> int:
        found = await ledger.run(standings(now_ms=_now_ms()))
        queue = await ledger.run(queue_standing()) if is_postgres(store) else None
        if as_json:
            print(json_text({"waiting": msgspec.to_builtins(found), "queue": msgspec.to_builtins(queue)}))
        else:
            print("\n".join([*_table(found), *_queue(queue)]))
        return 1 if any(one.dead for one in found) or (queue is not None and queue.stalled) else 0

    return _looked_at(store, look)


def run_dead(store: str, which: Which, *, as_json: bool) -> int:
    """Prints what was set aside, a row a line."""

    async def look(ledger: Ledger) -> int:
        for row in await _rows(ledger, which):
            print(json_text(msgspec.to_builtins(row)) if as_json else _words(row))
        return 0

    return _looked_at(store, look)


def run_change(store: str, which: Which, *, drop: bool) -> int:
    """Tries again, or drops, what was set aside; the exit code is 1 when there was nothing of it."""
    change = drop_dead if drop else retry_dead

    async def act(ledger: Ledger) -> int:
        changed = [row for row in await _rows(ledger, which) if await ledger.run(change(row, now_ms=_now_ms()))]
        print(f"{len(changed)} {'dropped' if drop else 'to be tried again'}")
        return 0 if changed else 1

    if is_postgres(store):
        return _looked_at(store, act)
    check_store(store)
    return guarded(lambda: _alone(store, act), store)


async def _alone(store: str, act: Callable[[Ledger], Awaitable[int]]) -> int:
    """A file has one host at a time: who changes something in it is that one."""
    ledger = SQLiteLedger(store.removeprefix("sqlite:///"))
    await ledger.open()
    try:
        return await act(ledger)
    finally:
        await ledger.close()


def _looked_at(store: str, look: Callable[[Ledger], Awaitable[int]]) -> int:
    check_store(store)

    async def act() -> int:
        if any(part.before for part in await schema_of(store)):
            raise LoadError("its tables are not those of this release: run falai db upgrade first")
        async with for_looking(store) as ledger:
            return await look(ledger)

    return guarded(act, store)


async def _rows(ledger: Ledger, which: Which) -> Sequence[DeadRow]:
    found: list[DeadRow] = []
    for agent in (which.agent,) if which.agent is not None else await ledger.run(agents()):
        work = dead(agent, tenant=which.tenant, session=which.session, limit=_MOST)
        found += [row for row in await ledger.run(work) if which.takes(row)]
    return found[: which.limit]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _table(found: Sequence[Standing]) -> Iterator[str]:
    return table([_COLUMNS, *map(_cells, found)]) if found else iter(["nothing waits"])


def _cells(one: Standing) -> tuple[str, ...]:
    waits = (str(one.inputs), _ago(one.oldest), str(one.messages), _ago(one.unsent))
    return (one.agent, one.tenant, *waits, str(one.wakes_due), str(one.starts), str(one.dead))


def _ago(at: int | None) -> str:
    if at is None:
        return "-"
    seconds = max(0, (_now_ms() - at) // 1000)
    return f"{seconds}s" if seconds < 120 else f"{seconds // 60}m" if seconds < 7200 else f"{seconds // 3600}h"


def _queue(queue: QueueStanding | None) -> Iterator[str]:
    if queue is not None:
        yield f"jobs: {queue.jobs} wait, {queue.doing} at work, {queue.stalled} stalled"
        yield f"sessions: {queue.later} due later, {queue.parked} parked"
        yield f"workers: {queue.workers} live, {queue.lost} ended without a word"


def _words(row: DeadRow) -> str:
    where = f"{row.place.agent}/{row.place.tenant}/{row.place.session}"
    line = f"{iso(row.at)[:19]}  {row.what}  {where}  {row.key}  {row.attempts} tries: {row.error or '-'}"
    return clean(line).replace("\n", " ")
