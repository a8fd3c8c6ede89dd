"""Inputs that come while a job of their session waits need none of their own, and none is lost between the two."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from host.queue.fleet import Fleet

pytestmark = pytest.mark.servers

_JOB = b"SELECT falai_job('turn', 't', 'Ana', 's1', 10, 0)"
_TAKE = b"SELECT (procrastinate_fetch_job_v2(ARRAY[falai_queue('turn', 'Ana')::VARCHAR], NULL)).id"
_WAIT = b"SELECT count(*) FROM procrastinate_jobs WHERE status = 'todo'"


async def _value(db: psycopg.AsyncConnection[Any], sql: bytes) -> Any:
    row = await (await db.execute(sql)).fetchone()
    assert row is not None
    return row[0]


@pytest.fixture
async def ready(fleet: Fleet) -> str:
    """A database whose queue is installed, and has no worker."""
    (name,) = await fleet.start(1)
    await fleet.stop(name)
    return fleet.url


async def test_a_job_that_an_input_relies_on_waits_for_it(ready: str) -> None:
    """Nobody takes it before the input is there to be read."""
    async with (
        await psycopg.AsyncConnection.connect(ready) as writer,
        await psycopg.AsyncConnection.connect(ready) as taker,
    ):
        await writer.execute(_JOB)
        await writer.commit()
        await writer.execute(_JOB)
        assert await _value(taker, _TAKE) is None
        await taker.commit()
        await writer.commit()
        assert await _value(taker, _WAIT) == 1
        assert await _value(taker, _TAKE) is not None


async def test_a_job_that_is_being_taken_is_of_no_use(ready: str) -> None:
    """Whoever takes it may have looked before the input was there: the input has a job of its own."""
    async with (
        await psycopg.AsyncConnection.connect(ready) as writer,
        await psycopg.AsyncConnection.connect(ready) as taker,
    ):
        await writer.execute(_JOB)
        await writer.commit()
        assert await _value(taker, _TAKE) is not None
        await writer.execute(_JOB)
        await writer.commit()
        await taker.commit()
        assert await _value(taker, _WAIT) == 1
