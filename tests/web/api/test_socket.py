"""A chat widget's WebSocket: the frames of the stream, messages the other way, and nothing that breaks it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from falai.web import WebSettings
from host.stage import Echo
from host.test_watching import Typist
from web.api.stage import Site, desk, serving, site


class Widget:
    """A widget that is connected."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    async def send(self, frame: Any) -> None:
        await self.connection.send(frame if isinstance(frame, str | bytes) else json.dumps(frame))

    async def next(self) -> Any:
        async with asyncio.timeout(20):
            return json.loads(await self.connection.recv())

    async def upto(self, kind: str) -> list[Any]:
        found = [await self.next()]
        while found[-1]["type"] != kind:
            found.append(await self.next())
        return found


@asynccontextmanager
async def online(folder: Path, model: Any = None, **options: Any) -> AsyncIterator[tuple[Site, str]]:
    """A site behind a server, and the address of its sockets."""
    async with site(folder, desk(model=model), **options) as home, serving(home) as url:
        yield home, url.replace("http", "ws")


@asynccontextmanager
async def connected(
    home: Site, url: str, *, session: str = "s1", query: str = "", protocols: Sequence[str] | None = None, **token: Any
) -> AsyncIterator[Widget]:
    """A widget, by default with a token for its session, as a page sends it."""
    if protocols is None:
        headers = await home.allow("chat", session=session, **token)
        protocols = ["falai.v1", "falai.token." + headers["Authorization"].removeprefix("Bearer ")]
    async with connect(f"{url}/v1/sessions/{session}/socket{query}", subprotocols=protocols) as connection:
        yield Widget(connection)


async def test_a_conversation(tmp_path: Path) -> None:
    """A message is accepted; its words, the message and `done` come on the same connection."""
    go = asyncio.Event()
    model = Typist(['{"message": "Hel', go, 'lo"}'])
    async with online(tmp_path, model) as (home, url), connected(home, url) as widget:
        assert widget.connection.subprotocol == "falai.v1"
        assert (await widget.next())["type"] == "ready"
        await widget.send({"type": "message", "id": "m1", "text": "Hi"})
        frames = await widget.upto("delta")
        assert {"type": "accepted", "id": "m1", "key": "message:m1", "new": True} in frames
        assert frames[-1] == {"type": "delta", "key": "message:m1", "text": "Hel"}
        go.set()
        frames = [await widget.next() for _ in range(3)]
    told = {frame["type"]: frame for frame in frames}
    assert told["message"]["text"] == "Hello"
    assert told["message"]["cursor"]
    assert [one["text"] for one in told["done"]["messages"]] == ["Hello"]


async def test_the_same_id_again(tmp_path: Path) -> None:
    """A message that comes again is accepted, and has no second turn."""
    async with online(tmp_path) as (home, url), connected(home, url) as widget:
        await widget.send({"type": "message", "id": "m1", "text": "Hi"})
        await widget.upto("done")
        await widget.send({"type": "message", "id": "m1", "text": "Hi"})
        assert (await widget.upto("accepted"))[-1]["new"] is False
        lines = (await home.client.get("/v1/sessions/s1/transcript")).json()["lines"]
    assert [one["text"] for one in lines] == ["re: Hi", "Hi"]


async def test_a_widget_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """With the cursor of its last message a widget gets those that came meanwhile."""
    async with online(tmp_path) as (home, url):
        async with connected(home, url) as widget:
            cursor = (await widget.next())["cursor"]
        await home.say("Hi")
        async with connected(home, url, query=f"?after={cursor}") as widget:
            assert (await widget.upto("message"))[-1]["text"] == "re: Hi"


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("{", "bad-json"),
        ("[]", "invalid"),
        (b"\x00\x01", "bad-json"),
        ({"type": "message", "id": "m1"}, "invalid"),
        ({"type": "massage", "id": "m1", "text": "Hi"}, "invalid"),
        ({"type": "message", "id": "m1", "text": "Hi", "txet": ""}, "invalid"),
    ],
)
async def test_a_frame_that_is_none(tmp_path: Path, frame: Any, code: str) -> None:
    """It is answered with a problem, and the conversation goes on."""
    async with online(tmp_path) as (home, url), connected(home, url) as widget:
        await widget.next()
        await widget.send(frame)
        assert (await widget.next())["code"] == code
        await widget.send({"type": "message", "id": "m1", "text": "Hi"})
        assert (await widget.upto("message"))[-1]["text"] == "re: Hi"


async def test_a_frame_that_is_too_large(tmp_path: Path) -> None:
    """It closes the connection (1009)."""
    async with online(tmp_path, web=WebSettings(max_body=1000)) as (home, url), connected(home, url) as widget:
        await widget.next()
        await widget.send({"type": "message", "id": "m1", "text": "a" * 2000})
        with pytest.raises(ConnectionClosed):
            await widget.next()
        assert widget.connection.close_code == 1009


@pytest.mark.parametrize(
    "protocols",
    [["falai.v1"], ["falai.v1", "falai.token.nonsense"], ["falai.v1", "falai.token.falai_0123456789ab_" + "a" * 43]],
)
async def test_no_token_no_socket(tmp_path: Path, protocols: list[str]) -> None:
    """Without a token that counts the connection is denied."""
    async with online(tmp_path) as (home, url):
        with pytest.raises(InvalidStatus) as denied:
            async with connected(home, url, protocols=protocols):
                pass
    assert denied.value.response.status_code == 401
    assert json.loads(denied.value.response.body or b"")["code"] == "unauthenticated"


async def test_the_token_of_another_session(tmp_path: Path) -> None:
    """A widget's token opens its own session and no other, and none without the scope."""
    async with online(tmp_path) as (home, url):
        for headers in (await home.allow("chat", session="s2"), await home.allow("read")):
            text = headers["Authorization"].removeprefix("Bearer ")
            with pytest.raises(InvalidStatus) as denied:
                async with connected(home, url, protocols=["falai.v1", f"falai.token.{text}"]):
                    pass
            assert denied.value.response.status_code == 403


async def test_tenants_do_not_meet(tmp_path: Path) -> None:
    """A widget of another tenant sees its own session of that id, and nothing of this one."""
    async with online(tmp_path, Echo()) as (home, url), connected(home, url, tenant="other") as widget:
        await widget.next()
        await home.say("Hi")
        await widget.send({"type": "message", "id": "m1", "text": "Hello"})
        texts = [frame["text"] for frame in await widget.upto("message") if frame["type"] == "message"]
    assert texts == ["re: Hello"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/v1/sessions/s1/socket?after=soon", 422, "invalid"),
        (f"/v1/sessions/{'a' * 121}/socket", 422, "invalid"),
        ("/v1/sessions/a%00b/socket", 422, "invalid"),
        ("/v1/sessions/s1/sockets", 404, "not-found"),
        ("/v1/sessions", 404, "not-found"),
    ],
)
async def test_an_address_that_is_none(tmp_path: Path, path: str, status: int, code: str) -> None:
    """The connection is denied with a problem, as a request would be; a session's id is what it is elsewhere."""
    async with online(tmp_path) as (home, url):
        with pytest.raises(InvalidStatus) as denied:
            async with connect(url + path, additional_headers=await home.allow("chat")):
                pass
    assert denied.value.response.status_code == status
    assert json.loads(denied.value.response.body or b"")["code"] == code


async def test_a_page_of_another_place(tmp_path: Path) -> None:
    """A browser on another page cannot open it."""
    async with online(tmp_path) as (home, url):
        headers = {**(await home.allow("chat")), "Origin": "https://evil.example"}
        with pytest.raises(InvalidStatus) as denied:
            async with connect(f"{url}/v1/sessions/s1/socket", additional_headers=headers):
                pass
    assert denied.value.response.status_code == 403


async def test_the_end_of_the_host(tmp_path: Path) -> None:
    """The connection is closed when the host ends (1001), and the server can stop."""
    async with online(tmp_path) as (home, url), connected(home, url) as widget:
        await widget.next()
        await home.host.__aexit__(None, None, None)
        with pytest.raises(ConnectionClosed):
            await widget.upto("nothing")
        assert widget.connection.close_code == 1001
        await home.host.__aenter__()


async def test_a_host_that_does_not_run(tmp_path: Path) -> None:
    """The connection is denied with the same problem as any request."""
    async with site(tmp_path) as home:
        token = (await home.allow("chat"))["Authorization"].removeprefix("Bearer ")
    async with serving(home) as url:
        with pytest.raises(InvalidStatus) as denied:
            async with connected(home, url.replace("http", "ws"), protocols=["falai.v1", f"falai.token.{token}"]):
                pass
    assert denied.value.response.status_code == 503
    assert json.loads(denied.value.response.body or b"")["code"] == "not-running"
