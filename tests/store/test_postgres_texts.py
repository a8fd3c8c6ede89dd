from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import SessionConflictError
from falai.session.model import Session
from falai.store import PostgresStore
from servers.process import Server

pytestmark = pytest.mark.servers


@pytest.fixture
async def client(postgres_server: Server) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    async with await psycopg.AsyncConnection.connect(postgres_server.url, autocommit=True) as client:
        yield client


async def test_ids_with_a_zero_byte(client: Any, place: str) -> None:
    """U+0000 is removed from an id too, wherever one is given; nothing left is no id (P-40)."""
    store = PostgresStore(client, table=place)
    await store.initialize()
    saved = await store.save(Session.fresh("s\x001"), 0)
    assert saved.id == "s1"
    assert await store.load("\0s1") == await store.load("s1") == saved
    with pytest.raises(SessionConflictError, match='"s1"'):
        await store.save(Session.fresh("s1\0"), 0)
    assert await store.delete("s1\0") is True
    for blank in ("\0", " \0 "):
        with pytest.raises(TypeError):
            await store.load(blank)
        with pytest.raises((TypeError, ValueError)):
            await store.save(Session.fresh(blank), 0)


async def test_what_only_looks_like_a_zero_byte(client: Any, place: str) -> None:
    """A backslash and the letters after it are text, and stay."""
    store = PostgresStore(client, table=place)
    await store.initialize()
    session = Session.fresh("s1")
    session.data = {"\\u0000": ["\\u0000", "\\\\u0000", "\\\0"]}
    saved = await store.save(session, 0)
    assert saved.data == {"\\u0000": ["\\u0000", "\\\\u0000", "\\"]}
    assert await store.load("s1") == saved


async def test_an_id_that_is_too_long(client: Any, place: str) -> None:
    """More than 255 characters are a `ValueError`, wherever an id is given; zero bytes do not count (P-70)."""
    store = PostgresStore(client, table=place)
    await store.initialize()
    await store.save(Session.fresh("\U0001f33f" * 255 + "\0"), 0)
    for call in (store.load("x" * 256), store.delete("x" * 256), store.save(Session.fresh("x" * 256), 0)):
        with pytest.raises(ValueError, match="256"):
            await call


# --- whatever a host puts in --------------------------------------------------------------------

DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**52)
    | st.floats()
    | st.text()
    | st.sampled_from(["\0", "a\0b", "\ud800", "\\u0000", 1e300, 2.0**60, -(2.0**53), 1e16, 123456789012345680.0]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.just("a\0"), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.property
def test_a_save_gives_what_a_load_gives(postgres_server: Server, place: str) -> None:
    """For any data, equal and of the same kinds (P-9), and what comes back is saved as it is."""
    with asyncio.Runner() as runner:
        connection = runner.run(asyncpg.connect(postgres_server.url))
        store = PostgresStore(connection, table=place)
        runner.run(store.initialize())

        async def there_and_back(data: Any, id: str) -> None:
            session = Session.fresh("s" + id)
            session.data = {"v": data}
            saved = await store.save(session, 0)
            loaded = await store.load(session.id)
            assert loaded == saved
            assert loaded is not None
            texts = [json.dumps(one.data, sort_keys=True) for one in (loaded, saved)]  # a float looks like one
            assert texts[0] == texts[1]
            again = await store.save(saved, 1)
            assert again.data == saved.data
            assert await store.delete(session.id) is True

        @given(data=DATA, id=st.text(max_size=100))
        def holds(data: Any, id: str) -> None:
            runner.run(there_and_back(data, id))

        try:
            holds()
        finally:
            runner.run(store.disconnect())
