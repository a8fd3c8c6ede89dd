"""`falai db` and `falai queue`, as processes, on a file and on PostgreSQL."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import psycopg
import pytest

from cli.program import falai
from falai.host.ledger.committing import commit
from falai.host.ledger.playing import next_job, set_aside
from falai.host.ledger.port import Arrival, Done, Ledger, Limits, Place, Reply
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sending import next_message, send_failed
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.taking import take_in
from falai.host.queue.installing import install
from host.ledger.ledgers import ask, postgres_url

AGENTS = (("Ana", "acme"), ("Ana", "bolt"), ("Bea", "acme"))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
def store(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> str:
    """An empty store."""
    if request.param == "sqlite":
        return str(tmp_path / "falai.db")
    return postgres_url(request.getfixturevalue("postgres_server"), place)


@pytest.fixture
async def ledger(store: str) -> AsyncIterator[Ledger]:
    """The same, with tables, and the queue's."""
    ledger: Ledger = PostgresLedger(store) if store.startswith("postgresql://") else SQLiteLedger(store)
    await ledger.open()
    if store.startswith("postgresql://"):
        async with await psycopg.AsyncConnection.connect(store, autocommit=True) as connection:
            await install(connection)
    yield ledger
    await ledger.close()


async def fail(ledger: Ledger) -> None:
    """Of each agent and tenant, an input that is set aside, a message that is, and an input that waits."""
    for agent, tenant in AGENTS:
        place = Place(tenant, agent, "s1")
        arrivals = [Arrival(f"message:m{n}", "message", '{"text":"hello"}') for n in range(3)]
        await ledger.run(take_in(place, arrivals, now_ms=1, limits=Limits()))
        job = await ledger.run(next_job(place, now_ms=1, history_items=0))
        assert job is not None
        await ledger.run(set_aside(job, "RuntimeError: no\nluck", now_ms=2))
        job = await ledger.run(next_job(place, now_ms=2, history_items=0))
        assert job is not None
        await ledger.run(commit(job, Done(blob="{}", outbox=(Reply("{}"),)), now_ms=3))
        message = await ledger.run(next_message(place))
        assert message is not None
        await ledger.run(send_failed(message, "no way", now_ms=4))


# --- tables ----------------------------------------------------------------------------------------


def test_a_new_database(store: str) -> None:
    """Lacks everything, has all of it after an upgrade, and a second one does nothing."""
    before = falai("db", "status", store)
    assert before.code == (1 if store.startswith("postgresql://") else 2)
    ran = falai("db", "upgrade", store)
    assert (ran.code, "ledger: 001_host.sql" in ran.out) == (0, True)
    after = falai("db", "status", store)
    assert (after.code, "before the deploy" in after.out) == (0, False)
    assert falai("db", "upgrade", "--after", store).out == "nothing was to be run\n"


def test_where_the_store_is(store: str) -> None:
    """It may stand in the variable that `falai run` reads."""
    assert falai("db", "upgrade", env={"FALAI_STORE": store}).code == 0


async def test_one_that_a_newer_release_made(store: str, ledger: Ledger) -> None:
    """Is said to be too new only if it needs that release."""
    await ledger.run(ask("UPDATE falai_meta SET value = '99' WHERE name = 'schema' RETURNING value"))
    await ledger.close()
    newer = falai("db", "status", store)
    assert (newer.code, "works on it too" in newer.out) == (0, True)
    await ledger.open()
    await ledger.run(ask("UPDATE falai_meta SET value = '99' WHERE name = 'needs' RETURNING value"))
    await ledger.close()
    needed = falai("db", "status", store)
    assert (needed.code, "cannot work on it" in needed.out) == (1, True)
    refused = falai("db", "upgrade", store)
    assert (refused.code, "SchemaError" in refused.err) == (2, True)


@pytest.mark.parametrize("wrong", ["nowhere.db", "mysql://localhost/shop", "postgresql://u:s3cr3t@127.0.0.1:9/shop"])
@pytest.mark.parametrize("of", [("db", "status"), ("queue", "status"), ("queue", "retry")])
def test_what_cannot_be_used(wrong: str, of: tuple[str, str]) -> None:
    """Is said in words without a password, with exit code 2, and no file is made."""
    done = falai(*of, wrong)
    assert done.code == 2
    assert "Traceback" not in done.err
    assert "s3cr3t" not in done.err + done.out
    assert not Path("nowhere.db").exists()


# --- what waits ------------------------------------------------------------------------------------


async def test_what_waits(store: str, ledger: Ledger) -> None:
    """A line for each agent and tenant, also while a host runs; something that is set aside is exit code 1."""
    quiet = falai("queue", "status", store)
    assert (quiet.code, quiet.out.splitlines()[0]) == (0, "nothing waits")
    await fail(ledger)
    done = falai("queue", "status", store)
    assert done.code == 1
    rows = [line.split() for line in done.out.splitlines()]
    assert [row[:3] + row[-1:] for row in rows[1:4]] == [[agent, tenant, "1", "2"] for agent, tenant in AGENTS]
    told = json.loads(falai("queue", "status", store, "--json").out)
    assert [(one["agent"], one["tenant"], one["inputs"], one["dead"]) for one in told["waiting"]] == [
        (agent, tenant, 1, 2) for agent, tenant in AGENTS
    ]
    assert (told["queue"] is None) == (not store.startswith("postgresql://"))


async def test_what_was_set_aside(store: str, ledger: Ledger) -> None:
    """Each in one line, with its reason; all, or those of an agent, a tenant, a key."""
    await fail(ledger)
    lines = falai("queue", "dead", store).out.splitlines()
    assert len(lines) == 6
    assert "RuntimeError: no luck" in lines[0] + lines[1]
    some = falai("queue", "dead", store, "--agent", "Ana", "--key", "message:m0", "--json").out.splitlines()
    assert [json.loads(line)["place"]["tenant"] for line in some] == ["acme", "bolt"]


async def test_again_or_not(store: str, ledger: Ledger) -> None:
    """What is named is tried again, or dropped; nothing else is, and nothing is dropped by mistake."""
    await fail(ledger)
    await ledger.close()
    again = falai("queue", "retry", store, "--tenant", "acme", "--agent", "Ana")
    assert (again.code, again.out) == (0, "2 to be tried again\n")
    assert falai("queue", "drop", store).code == 2
    assert falai("queue", "drop", store, "--key", "message:m0").out == "2 dropped\n"
    assert falai("queue", "drop", store, "--all").out == "2 dropped\n"
    assert falai("queue", "drop", store, "--all").code == 1
    told = json.loads(falai("queue", "status", store, "--json").out)["waiting"]
    assert [(one["inputs"], one["messages"], one["dead"]) for one in told] == [(2, 1, 0), (1, 0, 0), (1, 0, 0)]
    await ledger.open()


async def test_a_host_that_runs_has_its_file(tmp_path: Path) -> None:
    """Then it is looked at, and not changed."""
    path = tmp_path / "falai.db"
    ledger = SQLiteLedger(path)
    await ledger.open()
    await fail(ledger)
    assert len(falai("queue", "dead", path).out.splitlines()) == 6
    refused = falai("queue", "retry", path)
    assert (refused.code, "is in use" in refused.err) == (2, True)
    await ledger.close()


@pytest.mark.servers
@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_jobs_and_workers(store: str, ledger: Ledger) -> None:
    """A job whose worker is not heard of is stalled."""
    await ledger.run(take_in(Place("t", "Ana", "s1"), [Arrival("k", "event", "{}")], now_ms=1, limits=Limits()))
    async with await psycopg.AsyncConnection.connect(store, autocommit=True) as db:
        await db.execute("INSERT INTO procrastinate_workers (last_heartbeat) VALUES (now() - interval '1 minute')")
        await db.execute("UPDATE procrastinate_jobs SET status = 'doing', worker_id = 1")
    done = falai("queue", "status", store)
    assert (done.code, "jobs: 0 wait, 1 at work, 1 stalled" in done.out) == (1, True)
    assert "workers: 0 live, 1 ended without a word" in done.out
