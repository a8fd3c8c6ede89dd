"""The queue's tables are made by whichever host is first, once; and the time is the database's."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from procrastinate.schema import SchemaManager

from falai.host import Host
from falai.host.ledger.migrating import SchemaError
from falai.host.queue.clock import DatabaseClock
from falai.host.queue.installing import OldQueueError
from falai.session.dates import from_ms, to_ms
from host.stage import Wire, echo


@pytest.mark.servers
async def test_many_begin_at_once(url: str) -> None:
    """On an empty database: one makes the tables, the others wait for them."""
    wire = Wire()
    async with AsyncExitStack() as stack:
        hosts = [Host(echo(), url, channel=wire) for _ in range(4)]
        await asyncio.gather(*(stack.enter_async_context(host) for host in hosts))
        await asyncio.gather(*(host.receive(f"s{n}", "hello") for n, host in enumerate(hosts)))
        await hosts[0].drained()
    assert wire.texts == ["re: hello"] * 4


@pytest.mark.servers
async def test_a_queue_that_was_there(url: str) -> None:
    """Whoever uses Procrastinate for jobs of their own in the same schema goes on with it: theirs are left alone."""
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(SchemaManager.get_schema().encode())
        db.execute("INSERT INTO procrastinate_jobs (queue_name, task_name, args) VALUES ('mine', 'mine', '{}')")
        async with Host(echo(), url, channel=Wire()) as host:
            assert len(await host.ask("s1", "hello")) == 1
            await host.drained()
        found = db.execute("SELECT queue_name, status::TEXT FROM procrastinate_jobs").fetchall()
        assert found == [("mine", "todo")]


@pytest.mark.servers
async def test_an_old_queue_that_was_there(url: str) -> None:
    """Somebody else's Procrastinate that is too old is not touched; what to do is said before anything begins."""
    with psycopg.connect(url, autocommit=True) as db:
        for file in sorted(Path(SchemaManager.get_migrations_path()).glob("0[0-2].*.sql")):
            db.execute(file.read_bytes())
        with pytest.raises(OldQueueError, match="search_path"):
            async with Host(echo(), url):
                pass
        assert db.execute("SELECT to_regclass('falai_due')").fetchone() == (None,)


@pytest.mark.servers
async def test_a_queue_of_a_newer_release(url: str) -> None:
    """While that only added something, both work; once it needs its like, the host does not begin."""
    async with Host(echo(), url):
        pass
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE falai_meta SET value = '999' WHERE name = 'queue'")
        async with Host(echo(), url) as host:
            assert len(await host.ask("s1", "hello")) == 1
        db.execute("INSERT INTO falai_meta (name, value) VALUES ('queue_needs', '999')")
    with pytest.raises(SchemaError, match="999"):
        async with Host(echo(), url):
            pass


@pytest.mark.servers
async def test_a_role_that_may_not_do_enough(url: str, place: str) -> None:
    """What the database says is what is raised."""
    async with Host(echo(), url):
        pass
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"CREATE ROLE {place}; GRANT USAGE ON SCHEMA {place} TO {place}".encode())
        db.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {place} TO {place}".encode())
        db.execute(f"REVOKE ALL ON procrastinate_workers FROM {place}".encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege, match="procrastinate_workers"):
            async with Host(echo(), f"{url}%20-crole%3D{place}"):
                pass
        db.execute(f"DROP OWNED BY {place}; DROP ROLE {place}".encode())


def test_the_clock_is_the_databases() -> None:
    """Whatever the clock of the machine says; small differences, which an answer's way makes, set nothing."""
    local = from_ms(1_000_000)
    clock = DatabaseClock(lambda: local)
    assert clock() == local
    clock.set(5_000_000)
    assert to_ms(clock()) == 5_000_000
    clock.set(4_999_999)
    assert to_ms(clock()) == 5_000_000
    local += timedelta(seconds=1)
    assert to_ms(clock()) == 5_001_000
