"""What a watcher of one process sees of what others do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from falai import Agent, Flow, Message, OnAnyMessage, Say
from falai.host import Changed, Host, Seen, Settings, Turned, Withdrawn, Words
from falai.host.ledger.port import Place, Row, Statement, Work
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.said import said_after, said_by_turn
from falai.host.queue.watching import _look  # pyright: ignore[reportPrivateUsage] - its plan is looked at
from falai.model import ModelChunk, ModelReply, ModelRequest
from host.queue.fleet import Fleet
from host.stage import Echo, Wire, echo, until

pytestmark = pytest.mark.servers


async def turn_of(seen: AsyncIterator[Seen]) -> Turned:
    """The next turn that is told."""
    async with asyncio.timeout(20):
        async for one in seen:
            if isinstance(one, Turned):
                return one
    raise AssertionError("the end came first")


async def changes(seen: AsyncIterator[Seen]) -> None:
    async with asyncio.timeout(20):
        async for one in seen:
            if isinstance(one, Changed):
                return


async def test_a_turn_of_another_process_is_told(busy: Host[None], fleet: Fleet) -> None:
    """Which inputs had it, and what it says; no words, and no result. Each one once, however fast they come."""
    await fleet.start(1)
    async with busy.watch("s1") as seen:
        for number in range(5):
            await busy.receive("s1", Message(f"s1/hello {number}", id=f"m{number}"))
        found = [await turn_of(seen) for _ in range(5)]
        assert [one.keys for one in found] == [(f"message:m{number}",) for number in range(5)]
        assert [[(m.text, m.kind, m.after_ms) for m in one.messages] for one in found] == [
            [(f"re: hello {number}", "ai", 0)] for number in range(5)
        ]
        assert [one.revision for one in found] == [1, 2, 3, 4, 5]
        assert {one.result for one in found} == {None}
        rows = await busy.ledger.run(said_by_turn(Place("default", "Ana", "s1"), 3))
        assert [row.key for row in rows] == [m.key for m in found[2].messages]


async def test_a_burst_that_another_process_plays(url: str, busy: Host[None]) -> None:
    """It is one turn, with the keys of all."""
    two = Flow("two", on=[OnAnyMessage(repeat="always")], steps=[Say("a", "one"), Say("b", "two")])
    async with (
        busy.watch("s1") as seen,
        Host(echo(flows=[two]), url, channel=Wire(), settings=Settings(burst="0.5s")) as other,
    ):
        for id in ("m1", "m2"):
            await other.receive("s1", Message(id, id=id))
        turned = await turn_of(seen)
    assert turned.keys == ("message:m1", "message:m2")
    assert [message.text for message in turned.messages] == ["one", "two"]


async def test_whatever_another_process_does_is_told(url: str, busy: Host[None]) -> None:
    """An input, though it fails for good, the gate, a person's message, an erasure."""

    def no_context(_: object) -> None:
        raise ValueError("no")

    async with Host(echo(), url, channel=Wire(), context=no_context, settings=Settings(retries=())) as other:
        for act in (
            lambda: other.hold("s1"),
            lambda: other.release("s1"),
            lambda: other.human_message("s1", "I am Bo", id="h1"),
            lambda: other.receive("s1", Message("hi", id="m1")),
            lambda: other.erase("s1"),
        ):
            async with busy.watch("s1") as seen:
                await act()
                await changes(seen)


async def test_a_person_takes_over_from_another_process(url: str, busy: Host[None]) -> None:
    """The words of the reply that is being written here are taken back, though the model still writes."""
    wait = asyncio.Event()

    class Writes(Echo):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
            yield ModelChunk("Hel", "Hel")
            await wait.wait()
            yield ModelChunk("lo", "Hello", ModelReply(message="Hello"))

    async with Host(echo(Writes()), url, channel=Wire()) as here, here.watch("s1") as seen:
        await here.receive("s1", Message("hi", id="m1"))
        told = list[Seen]()
        task = asyncio.create_task(_collect(seen, told))
        await until(lambda: Words("message:m1", "Hel") in told)
        await busy.hold("s1", "Bo answers")
        await until(lambda: Withdrawn("message:m1") in told)
        wait.set()
        await until(lambda: isinstance(told[-1], Turned) or any(isinstance(one, Turned) for one in told))
        task.cancel()
    assert [one.messages for one in told if isinstance(one, Turned)] == [()]
    assert not [one for one in told if isinstance(one, Words) and "lo" in one.text]


async def _collect(seen: AsyncIterator[Seen], told: list[Seen]) -> None:
    async for one in seen:
        told += [one]


class Counted(PostgresLedger):
    """It counts the looks at all watched places."""

    looks = 0

    async def run(self, work: Any) -> Any:
        if work.__name__ == "_look":
            self.looks += 1
        return await super().run(work)


async def test_all_watched_places_are_looked_at_together(url: str) -> None:
    """However many there are; and not at all when nobody watches."""
    ledger = Counted(url, connections=4)
    agent: Agent[Any] = echo()
    async with Host(agent, ledger, channel=Wire()) as host:
        await asyncio.sleep(0.7)
        assert ledger.looks == 0
        async with AsyncExitStack() as stack:
            seen = [await stack.enter_async_context(host.watch(f"s{number}")) for number in range(50)]
            before = ledger.looks
            await until(lambda: ledger.looks >= before + 2)
            assert ledger.looks <= before + 3
            await host.ask("s7", Message("hi", id="m1"))
            assert (await turn_of(seen[7])).result is not None


async def test_a_turn_of_this_process_is_told_once(url: str) -> None:
    """With its result, though the look at the others finds it too; and the cursor has what it said."""
    async with Host(echo(), url, channel=Wire()) as host, host.watch("s1") as seen:
        told = list[Seen]()
        task = asyncio.create_task(_collect(seen, told))
        for number in range(20):
            await host.ask("s1", Message("hi", id=f"m{number}"))
        await asyncio.sleep(1.5)
        task.cancel()
        turns = [one for one in told if isinstance(one, Turned)]
        assert [one.keys for one in turns] == [(f"message:m{number}",) for number in range(20)]
        assert all(one.result for one in turns)
        rows = await host.ledger.run(said_after(Place("default", "Ana", "s1"), limit=100))
        assert len(rows) == 20


CROWD = (
    """INSERT INTO falai_sessions (tenant, agent, session, created_at, updated_at)
        SELECT 'default', 'Ana', 's' || n, n, n FROM generate_series(1, 20000) n RETURNING 1""",
    """INSERT INTO falai_outbox (tenant, agent, session, revision, position, key, body, by_person, after_ms, due_at, state)
        SELECT 'default', 'Ana', 's' || n, 1, 0, 'k', '', 0, 0, 0, 'sent' FROM generate_series(1, 20000) n RETURNING 1""",
    """INSERT INTO falai_run_log (tenant, agent, session, key, at, log)
        SELECT 'default', 'Ana', 's' || n, 'k', n, '{}' FROM generate_series(1, 20000) n RETURNING 1""",
    "ANALYZE falai_sessions, falai_outbox, falai_run_log",  # of all, it would lock the tables of each test on this server
)


async def test_a_look_reads_nothing_but_what_is_watched(url: str) -> None:
    """Beside however many sessions: each watched place by its key."""
    ledger = PostgresLedger(url)
    await ledger.open()
    try:
        for sql in CROWD:
            await ledger.run(_carried_out(sql))
        (statement,) = next(_look("Ana", [Place("default", "Ana", f"s{number}") for number in range(500)], {}))
        plan = "\n".join([row[0] for row in await ledger.run(_explained(statement))])
    finally:
        await ledger.close()
    assert "Seq Scan" not in plan
    for index in ("falai_sessions_pkey", "falai_outbox_pkey", "falai_run_log_place"):
        assert index in plan


def _carried_out(sql: str) -> Work[None]:
    yield (Statement(sql, ()),)


def _explained(statement: Statement) -> Work[Sequence[Row]]:
    """RETURNING, in a comment: so a ledger knows that it gives rows."""
    (rows,) = yield (Statement(f"EXPLAIN {statement.sql} /* RETURNING */", statement.params),)
    return rows
