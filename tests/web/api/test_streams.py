"""A reply as it is written, and a session as it goes on: by a real server, to a real client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from falai.host import Host, Settings
from falai.model import ModelRequest
from falai.web import WebSettings
from host.stage import Echo, until
from host.test_watching import Typist
from web.api.stage import Site, desk, serving, site

SSE = {"Accept": "text/event-stream"}


class Told(NamedTuple):
    """A frame as a client reads it."""

    event: str
    data: Any
    id: str | None


async def told(response: httpx2.Response) -> AsyncIterator[Told]:
    """The frames of a stream, without its signs of life."""
    found: dict[str, str] = {}
    async for line in response.aiter_lines():
        if not line and found:
            yield Told(found["event"], json.loads(found["data"]), found.get("id"))
            found = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            found[name] = value


class Reader:
    """A stream that is open."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._frames = told(response)

    async def next(self) -> Told:
        async with asyncio.timeout(20):
            return await anext(self._frames)

    async def rest(self) -> list[Told]:
        """The frames to the end."""
        async with asyncio.timeout(20):
            return [frame async for frame in self._frames]

    async def upto(self, event: str) -> list[Told]:
        """The frames to the first of this kind."""
        found = [await self.next()]
        while found[-1].event != event:
            found.append(await self.next())
        return found


@asynccontextmanager
async def online(folder: Path, model: Any, **options: Any) -> AsyncIterator[tuple[Site, httpx2.AsyncClient]]:
    """A site behind a server, and a client of that."""
    async with (
        site(folder, desk(model=model), **options) as home,
        serving(home) as url,
        httpx2.AsyncClient(base_url=url, headers=home.client.headers, timeout=20) as client,
    ):
        yield home, client


@asynccontextmanager
async def sending(client: httpx2.AsyncClient, text: str, session: str = "s1", **query: Any) -> AsyncIterator[Reader]:
    """A message whose answer is streamed."""
    path, body = f"/v1/sessions/{session}/messages", {"text": text, "id": text}
    async with client.stream("POST", path, json=body, headers=SSE, params=query) as response:
        yield Reader(response)


@asynccontextmanager
async def following(client: httpx2.AsyncClient, session: str = "s1", **more: Any) -> AsyncIterator[Reader]:
    """A session that is followed, from its first frame on."""
    async with client.stream("GET", f"/v1/sessions/{session}/stream", **more) as response:
        yield Reader(response)


async def test_a_reply_is_streamed(tmp_path: Path) -> None:
    """`accepted`, then words as they are written, then `done` with the messages that count."""
    go = asyncio.Event()
    async with (
        online(tmp_path, Typist(['{"message": "Hel', go, 'lo"}'])) as (_, client),
        sending(client, "Hi") as reader,
    ):
        assert reader.response.headers["content-type"].startswith("text/event-stream")
        assert reader.response.headers["x-accel-buffering"] == "no"
        assert (await reader.next()) == Told("accepted", {"key": "message:Hi", "new": True}, None)
        assert (await reader.next()) == Told("delta", {"text": "Hel"}, None)
        go.set()
        rest = await reader.upto("done")
    assert "".join(one.data["text"] for one in rest[:-1]) == "lo"
    assert [one["text"] for one in rest[-1].data["messages"]] == ["Hello"]


async def test_words_are_taken_back(tmp_path: Path) -> None:
    """A person who takes over in the middle takes back the words that were shown, and nothing of them counts."""
    go = asyncio.Event()
    model = Typist(['{"message": "Hel', go, 'lo"}'])
    async with online(tmp_path, model) as (home, client), sending(client, "Hi") as reader:
        await reader.upto("delta")
        assert (await home.client.post("/v1/sessions/s1/hold", json={})).status_code == 200
        go.set()
        frames = await reader.upto("done")
    assert [one.event for one in frames] == ["withdrawn", "done"]
    assert frames[-1].data["messages"] == []


async def test_a_stream_of_a_known_message(tmp_path: Path) -> None:
    """The same message again streams the answer that it had."""
    async with online(tmp_path, Typist(['{"message": "Hello"}'])) as (_, client):
        async with sending(client, "Hi") as reader:
            first = await reader.upto("done")
        async with sending(client, "Hi") as reader:
            again = await reader.upto("done")
    assert [one.event for one in again] == ["accepted", "done"]
    assert again[0].data["new"] is False
    assert again[-1].data["messages"][0]["id"] == first[-1].data["messages"][0]["id"]


async def test_a_stream_of_what_failed_for_good(tmp_path: Path) -> None:
    """The last frame is the problem, without internals."""

    async def broken(_: ModelRequest) -> None:
        raise RuntimeError("secret")

    settings = Settings(retries=())
    async with online(tmp_path, Echo(broken), settings=settings) as (_, client), sending(client, "Hi") as reader:
        last = (await reader.upto("problem"))[-1]
    assert last.data["code"] == "set-aside"
    assert "secret" not in str(last.data)


async def test_a_stream_ends_in_time(tmp_path: Path) -> None:
    """After `wait` seconds the stream ends, and the turn goes on."""
    go = asyncio.Event()
    async with online(tmp_path, Typist([go, '{"message": "Hello"}'])) as (home, client):
        async with sending(client, "Hi", wait=0.2) as reader:
            assert [one.event for one in await reader.rest()] == ["accepted"]
        go.set()
        assert (await home.say("Hi", id="Hi")).json()["messages"][0]["text"] == "Hello"


async def test_a_client_that_goes_away_in_mid_stream(tmp_path: Path) -> None:
    """The turn goes on, and the message is there when the client comes back."""
    go = asyncio.Event()
    async with online(tmp_path, Typist(['{"message": "Hel', go, 'lo"}'])) as (home, client):
        async with sending(client, "Hi") as reader:
            await reader.upto("delta")
        go.set()
        assert (await home.say("Hi", id="Hi")).json()["messages"][0]["text"] == "Hello"


async def test_a_session_is_followed(tmp_path: Path) -> None:
    """Each message appears when it is sent, with a cursor; a person's too; `done` names those of a turn."""
    async with online(tmp_path, Typist(['{"message": "Hello"}'])) as (home, client), following(client) as reader:
        assert (await reader.next()).event == "ready"
        await home.say("Hi")
        message = (await reader.upto("message"))[-1]
        assert (message.data["text"], message.data["kind"]) == ("Hello", "ai")
        assert message.id
        body = {"text": "I am here.", "id": "p1", "by": "Maria"}
        await home.client.post("/v1/sessions/s1/people", json=body)
        person = (await reader.upto("message"))[-1]
    assert (person.data["text"], person.data["kind"]) == ("I am here.", "human")


async def test_done_names_the_messages(tmp_path: Path) -> None:
    """`done` has the ids under which the messages appear."""
    async with online(tmp_path, Typist(['{"message": "Hello"}'])) as (home, client), following(client) as reader:
        await reader.next()
        answer = await home.say("Hi")
        done = (await reader.upto("done"))[-1]
    assert done.data["keys"] == ["message:Hi"]
    assert [one["id"] for one in done.data["messages"]] == [one["id"] for one in answer.json()["messages"]]


@pytest.mark.parametrize("how", ["header", "query"])
async def test_a_stream_goes_on_where_it_stopped(tmp_path: Path, how: str) -> None:
    """With the cursor of the last message, those that came meanwhile are told first, once each."""
    model = Typist(*([f'{{"message": "{number}"}}'] for number in range(4)))
    async with online(tmp_path, model) as (home, client):
        async with following(client) as reader:
            await reader.next()
            await home.say("a")
            last = (await reader.upto("message"))[-1].id
        for text in "bc":
            await home.say(text)
        more = {"headers": {"Last-Event-ID": last}} if how == "header" else {"params": {"after": last}}
        async with following(client, **more) as reader:
            ready, *found = [await reader.next() for _ in range(3)]
            await home.say("d")
            found.append((await reader.upto("message"))[-1])
    assert ready == Told("ready", {"cursor": last}, last)
    assert [one.data["text"] for one in found] == ["1", "2", "3"]


async def test_from_the_beginning(tmp_path: Path) -> None:
    """`after=start` tells all that was said."""
    async with online(tmp_path, Typist(['{"message": "0"}'], ['{"message": "1"}'])) as (home, client):
        for text in "ab":
            await home.say(text)
        await home.host.drained()
        async with following(client, params={"after": "start"}) as reader:
            found = [await reader.next() for _ in range(3)]
    assert [one.data.get("text") for one in found] == [None, "0", "1"]


async def test_a_reconnect_without_a_message(tmp_path: Path) -> None:
    """The first frame has a cursor, so that a client which lost its connection before any message misses none."""
    async with online(tmp_path, Typist(['{"message": "Hello"}'])) as (home, client):
        async with following(client) as reader:
            cursor = (await reader.next()).id
        await home.say("Hi")
        async with following(client, headers={"Last-Event-ID": cursor}) as reader:
            assert (await reader.upto("message"))[-1].data["text"] == "Hello"


async def test_what_is_no_cursor(tmp_path: Path) -> None:
    """It is refused before the stream begins."""
    async with site(tmp_path) as home:
        answer = await home.client.get("/v1/sessions/s1/stream", params={"after": "yesterday"})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "query.after")


async def test_signs_of_life(tmp_path: Path) -> None:
    """While nothing happens, comments go out, so that no proxy closes the connection."""
    web = WebSettings(heartbeat="0.02s")
    async with online(tmp_path, Typist(), web=web) as (_, client), following(client) as reader:
        lines = reader.response.aiter_lines()
        while not (await anext(lines)).startswith(":"):
            pass


async def test_a_host_that_ends_closes_its_streams(tmp_path: Path) -> None:
    """A stream ends with the host, and the server can stop."""
    async with AsyncExitStack() as ending:
        home = await ending.enter_async_context(site(tmp_path))
        url = await ending.enter_async_context(serving(home))
        client = await ending.enter_async_context(httpx2.AsyncClient(base_url=url, headers=home.client.headers))
        reader = await ending.enter_async_context(following(client))
        await reader.next()
        await home.host.__aexit__(None, None, None)
        assert await reader.rest() == []
        await home.host.__aenter__()


async def test_watchers_end_with_their_clients(tmp_path: Path) -> None:
    """A client that went away leaves nobody behind who watches."""
    async with online(tmp_path, Typist(), web=WebSettings(heartbeat="0.05s")) as (home, client):
        for _ in range(3):
            async with following(client) as reader:
                await reader.next()
        await until(lambda: not _watched(home.host))


@pytest.mark.property
async def test_many_open_streams(tmp_path: Path, full: bool) -> None:
    """Hundreds of streams of one process are all told of a message."""
    many = 500 if full else 100
    async with online(tmp_path, Typist(['{"message": "Hello"}'])) as (home, _), serving(home) as url:
        limits = httpx2.Limits(max_connections=many, max_keepalive_connections=0)
        client = httpx2.AsyncClient(base_url=url, headers=home.client.headers, limits=limits, timeout=60)
        async with client, AsyncExitStack() as stack:
            readers = [await stack.enter_async_context(following(client)) for _ in range(many)]
            await home.say("Hi")
            found = await asyncio.gather(*(reader.upto("message") for reader in readers))
    assert {frames[-1].data["text"] for frames in found} == {"Hello"}


def _watched(host: Host[Any]) -> bool:
    engine = host._engine
    return engine is not None and bool(engine.watchers.places())
