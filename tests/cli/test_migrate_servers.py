"""`falai migrate` and `falai sessions` on servers: rows as 3.x and v4 stores left them, read where they are."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from cli.old_rows import CASES, V4, adapter_rows, agrees, flow_ids, state_rows, table_of_states
from cli.program import Finished, command
from falai.cli.migrating.mongo import MongoRows
from falai.cli.migrating.opensearch import OpenSearchRows
from falai.cli.migrating.places import split
from falai.store import Store, store_from_url
from servers.process import Server

pytestmark = pytest.mark.servers

GOOD = sorted(case["sessionId"] for case in CASES)


def _migrate(source: str | Path, target: str | Path, folder: Path, *arguments: str) -> Finished:
    done = command("migrate", "--from", source, "--to", target, "--flow-ids", flow_ids(folder), *arguments)
    assert done.code == 1, done.err  # there is always a bad row
    return done


def _check(target: str | Path, *, bare_ids: bool = False) -> None:
    """Every session is what it must be, and nothing else is there."""

    async def check() -> list[str]:
        async with store_from_url(str(target)) as store:
            found = [session async for session in _every(store)]
        assert all(agrees(session, bare_ids=bare_ids) for session in found)
        return sorted(session.id for session in found)

    assert asyncio.run(check()) == GOOD


async def _every(store: Store) -> AsyncIterator[Any]:
    page = await store.scan()
    while True:
        for session in page.sessions:
            yield session
        if page.after is None:
            return
        page = await store.scan(page.after)


def _round(old: str, new: Path, folder: Path, *, bare_ids: bool = False) -> None:
    """Out of the old place, twice, and out of it in a dry run."""
    assert f"{len(GOOD) + 1:,}  rows" in _migrate(old, new, folder, "--dry-run").out
    _migrate(old, new, folder)
    assert f"{len(GOOD)}  there already" in _migrate(old, new, folder).out
    _check(new, bare_ids=bare_ids)


def _through(url: str, folder: Path) -> bytes:
    """The session of the compatible package, into a place and out of it again, in canonical form without its version."""
    file = folder / "v4.jsonl"
    file.write_text(json.dumps(V4))
    assert command("sessions", "import", file, "--store", url).code == 0
    blob = json.loads(command("sessions", "export", V4["id"], "--store", url).out)
    return _canonical(blob | {"version": V4["version"]})


def _canonical(blob: Any) -> bytes:
    return json.dumps(blob, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def test_a_session_of_the_compatible_package_comes_back(
    postgres_server: Server, redis_server: Server, mongo_server: Server, place: str, tmp_path: Path
) -> None:
    """Byte for byte in canonical form, but for the version, which counts anew (G-41)."""
    assert _through(f"{postgres_server.url}?table={place}", tmp_path) == _canonical(V4)
    assert _through(f"{redis_server.url}?prefix={place}:", tmp_path) == _canonical(V4)
    assert _through(mongo_server.url.rstrip("/") + f"/falai_test?collection={place}", tmp_path) == _canonical(V4)


# --- PostgreSQL ---------------------------------------------------------------------------------


def _postgres(url: str, *statements: tuple[str, tuple[Any, ...]]) -> None:
    import psycopg

    with closing(psycopg.connect(url, autocommit=True)) as db:
        for statement, values in statements:
            db.execute(statement, values)  # type: ignore[call-overload] # text that is made here


def test_adapter_rows_in_postgresql(postgres_server: Server, place: str, tmp_path: Path) -> None:
    """JSONB columns, dates that the driver would refuse, names of any spelling."""
    columns = 'current_flow text, "currentStep" text, collecteddata jsonb, created_at timestamptz'
    _postgres(
        postgres_server.url,
        (f"CREATE TABLE {place} ({columns}, session_id text PRIMARY KEY)", ()),
        *(
            (
                f"INSERT INTO {place} VALUES (%s, %s, %s, 'infinity', %s)",
                (row["current_flow"], row["current_step"], json.dumps(row["collected_data"]), row["id"]),
            )
            for row in adapter_rows()
        ),
    )
    _round(f"{postgres_server.url}?table={place}", tmp_path / "new.db", tmp_path, bare_ids=True)


def test_into_postgresql_and_on(postgres_server: Server, place: str, tmp_path: Path) -> None:
    """From a file into PostgreSQL, on into a table beside it, and out again by ids."""
    old, new = table_of_states(tmp_path / "old.db"), f"{postgres_server.url}?table={place}"
    _migrate(old, new, tmp_path)
    _check(new)
    beside = f"{postgres_server.url}?table={place}_2"
    done = command("migrate", "--from", new, "--to", beside)
    assert (done.code, f"{len(GOOD)}  v4" in done.out) == (0, True)
    _check(beside)
    exported = command("sessions", "export", GOOD[0], "--store", beside)
    assert json.loads(exported.out)["id"] == GOOD[0]
    _postgres(postgres_server.url, (f"DROP TABLE {place}", ()), (f"DROP TABLE {place}_2", ()))


def test_a_position_in_postgresql(postgres_server: Server, place: str, tmp_path: Path) -> None:
    """A run goes on behind the id that it is given."""
    _postgres(
        postgres_server.url,
        (f"CREATE TABLE {place} (id text PRIMARY KEY, data json)", ()),
        *((f"INSERT INTO {place} VALUES (%s, '{{}}')", (f"s{n:03}",)) for n in range(250)),
    )
    old = f"{postgres_server.url}?table={place}"
    done = command("migrate", "--from", old, "--to", tmp_path / "new.db", "--after", "s199")
    assert (done.code, "50  rows" in done.out) == (0, True)
    assert "200  there" not in done.out
    assert "250  rows" in command("migrate", "--from", old, "--to", tmp_path / "new.db").out


def test_a_row_that_is_no_json_here(postgres_server: Server, place: str, tmp_path: Path) -> None:
    """What a column of PostgreSQL holds and a session may not is told of, and the other rows move."""
    old = f"{postgres_server.url}?table={place}"
    _postgres(
        postgres_server.url,
        (f"CREATE TABLE {place} (id text PRIMARY KEY, data json)", ()),
        (f"INSERT INTO {place} VALUES ('a', '{{}}'), ('c', '{{}}'), ('b', %s)", ('{"n": ' + "1" * 10_001 + "}",)),
    )
    done = command("migrate", "--from", old, "--to", tmp_path / "new.db")
    assert (done.code, 'session "b"' in done.err, "2  3.x, at rest" in done.out) == (1, True, True)


def test_a_password_is_never_shown(postgres_server: Server) -> None:
    """Neither the driver's words nor ours have it."""
    url = postgres_server.url.replace("falai@", "falai:s3cr%40t-s3cret@").replace("/postgres", "/nothere")
    for arguments in (("sessions", "list", "--store", url), ("migrate", "--from", url, "--to", "memory:")):
        done = command(*arguments)
        assert done.code == 2
        assert "does not exist" in done.err
        assert "s3cr" not in done.err + done.out


# --- Redis --------------------------------------------------------------------------------------


def test_texts_in_redis(redis_server: Server, place: str, tmp_path: Path) -> None:
    """What 3.x kept as text at its keys; keys of others, and values of other kinds, are left alone or told of."""
    import redis

    with redis.Redis.from_url(redis_server.url) as db:
        for id, state in state_rows():
            db.set(f"{place}*:session:{id}", json.dumps(state))
        db.set(f"{place}x:session:other", "{}")
    _round(f"{redis_server.url}?prefix={place}*:", tmp_path / "new.db", tmp_path)
    with redis.Redis.from_url(redis_server.url) as db:
        db.rpush(f"{place}*:session:list", "x")
    done = _migrate(f"{redis_server.url}?prefix={place}*:", tmp_path / "new.db", tmp_path)
    assert 'session "list"' in done.err


def test_hashes_in_redis(redis_server: Server, place: str, tmp_path: Path) -> None:
    """From a file into Redis, on under another prefix, and all of a customer erased."""
    old, new = table_of_states(tmp_path / "old.db"), f"{redis_server.url}?prefix={place}:"
    _migrate(old, new, tmp_path)
    _check(new)
    beside = f"{redis_server.url}?prefix={place}-2:&ttl=0"
    assert command("migrate", "--from", new, "--to", beside).code == 0
    _check(beside)
    assert command("sessions", "delete", "--customer", GOOD[0], "--yes", "--store", beside).code == 0
    assert command("sessions", "show", GOOD[0], "--store", beside).code == 1


# --- the others ---------------------------------------------------------------------------------


def test_documents_in_mongodb(mongo_server: Server, place: str, tmp_path: Path) -> None:
    """States and rows as documents, with ids of the database's own beside those of the sessions."""
    import pymongo

    with pymongo.MongoClient(mongo_server.url) as client:
        documents = client["falai_test"][place]
        for n, (id, state) in enumerate(state_rows()):
            rest = {key: value for key, value in state.items() if key != "id"}
            documents.insert_one(rest | ({"_id": id} if n % 2 else {"sessionId": id}))
    url = mongo_server.url.rstrip("/") + f"/falai_test?collection={place}"
    _round(url, tmp_path / "new.db", tmp_path)


def test_documents_in_opensearch(opensearch_server: Server, place: str, tmp_path: Path) -> None:
    """The id of a session is that of its document."""
    base = opensearch_server.url.replace("http://", "opensearch://").rstrip("/")
    url = f"{base}?index={place.lower()}"

    async def put() -> None:
        rows = OpenSearchRows(split(url))
        mapping = {"mappings": {"properties": {"state": {"type": "object", "enabled": False}}}}
        await rows._client.indices.create(index=place, body=mapping)
        for id, state in state_rows():
            await rows._client.index(index=place, id=id, body={"state": state})
        await rows.close()

    asyncio.run(put())
    _round(url, tmp_path / "new.db", tmp_path)
    done = command("migrate", "--from", url, "--to", tmp_path / "new.db", "--after", "x")
    assert (done.code, "leave --after out" in done.err) == (2, True)


def _made(url: str, table: str, kind: str) -> None:
    async def make() -> None:
        from sqlalchemy import text
        from sqlalchemy.ext.asyncio import create_async_engine

        engine = create_async_engine(url)
        async with engine.begin() as db:
            await db.execute(text(f"CREATE TABLE {table} (id VARCHAR(255) PRIMARY KEY, state {kind})"))
            for id, state in state_rows():
                await db.execute(text(f"INSERT INTO {table} VALUES (:id, :s)"), {"id": id, "s": json.dumps(state)})
        await engine.dispose()

    asyncio.run(make())


def test_tables_of_mariadb(mariadb_server: Server, place: str, tmp_path: Path) -> None:
    """Out of a table of any database that SQLAlchemy reaches, and into one."""
    url = mariadb_server.url.replace("mariadb://", "mysql+asyncmy://")
    _made(url, place, "LONGTEXT")
    _round(f"{url}?table={place}", tmp_path / "new.db", tmp_path)
    assert command("migrate", "--from", tmp_path / "new.db", "--to", f"{url}?table={place}_2").code == 0
    _check(f"{url}?table={place}_2")


def test_tables_by_another_driver(place: str, tmp_path: Path) -> None:
    """The same file by SQLAlchemy; the two spellings of it are one place."""
    url = f"sqlite+aiosqlite:///{tmp_path / 'old.db'}"
    _made(url, place, "TEXT")
    _round(f"{url}?table={place}", tmp_path / "new.db", tmp_path)
    assert command("migrate", "--from", url, "--to", tmp_path / "old.db").code == 2


@pytest.mark.parametrize("own", [0, 100])
async def test_a_position_in_mongodb(mongo_server: Server, place: str, own: int) -> None:
    """Behind all texts come the ids that the database made itself: a run that goes on leaves none of them out."""
    if own and "FALAI_TEST_MONGO_URL" not in os.environ:
        pytest.skip("the stand-in has another order of ids than MongoDB")
    url = mongo_server.url.rstrip("/") + f"/falai_test?collection={place}"
    rows = MongoRows(split(url))
    try:
        await rows._documents.insert_many([{"_id": f"s{n:03}", "data": {}} for n in range(150)])
        for n in range(own):
            await rows._documents.insert_one({"sessionId": f"o{n:03}", "data": {}})
        pages = [page async for page in rows.pages(None)]
        rest = [page async for page in rows.pages(pages[0].after)]
        assert [row.id for row in pages[0].rows] == [f"s{n:03}" for n in range(100)]
        assert [row.id for page in rest for row in page.rows] == [row.id for page in pages[1:] for row in page.rows]
        assert await rows.count() == 150 + own
    finally:
        await rows.close()
