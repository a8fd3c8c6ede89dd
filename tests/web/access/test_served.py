"""Attacks over a real connection, and how a server ends."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx2
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.tokens import add_token, revoke_token
from falai.web.access import Headers, Keys, guarded
from falai.web.access.tokens import NewToken, new_token
from falai.web.serving import bound, loopback_only, url_of
from falai.web.settings import WebSettings
from web.access.asking import AGENT, application
from web.access.served import Served, served


@pytest.fixture
async def token(ledger: SQLiteLedger) -> NewToken:
    made = new_token(name="shop", tenant="t", scopes=["chat"], now_ms=1, session="s1")
    await ledger.run(add_token(made.row))
    return made


@pytest.fixture
async def server(ledger: SQLiteLedger) -> AsyncIterator[Served]:
    app = Headers(application(ledger, max_body=1000, body_time="0.3s", origins=["https://shop.example"]))
    async with served(app) as found:
        yield found


def head(server: Served, *lines: str, method: str = "POST") -> bytes:
    return "\r\n".join([f"{method} /open HTTP/1.1", f"Host: 127.0.0.1:{server.port}", *lines, "", ""]).encode()


# --- requests ------------------------------------------------------------------------------------


async def test_a_server_says_nothing_about_itself(server: Served) -> None:
    """Neither its name, nor that of what it is made with."""
    said = (await server.say(head(server, method="GET"))).lower()
    assert said.startswith(b"http/1.1 200")
    assert b"\r\nserver:" not in said
    assert b"uvicorn" not in said
    assert b"x-content-type-options: nosniff" in said


@pytest.mark.parametrize("target", ["/open", "http://127.0.0.1/open", "http://localhost/open"])
async def test_a_rebound_name_is_refused(server: Served, target: str) -> None:
    """Also when the target of the request names a host that is known."""
    said = await server.say(f"GET {target} HTTP/1.1\r\nHost: evil.example:{server.port}\r\n\r\n".encode())
    assert said.startswith(b"HTTP/1.1 421")
    assert b"application/problem+json" in said


async def test_a_request_without_a_name_is_refused(server: Served) -> None:
    """As HTTP/1.0 allows it."""
    assert (await server.say(b"GET /open HTTP/1.0\r\n\r\n")).startswith(b"HTTP/1.1 421")


async def test_a_form_of_a_page_elsewhere_is_refused(server: Served) -> None:
    """A form needs no preflight; the browser says where it is from."""
    form = ("Origin: https://evil.example", "Content-Type: application/x-www-form-urlencoded", "Content-Length: 3")
    assert (await server.say(head(server, *form), b"a=b")).startswith(b"HTTP/1.1 403")


async def test_chunks_beyond_the_limit_are_refused(server: Served) -> None:
    """Nobody said how long the body would be; the connection is closed, whatever comes behind."""
    chunk = b"64\r\n" + b"x" * 100 + b"\r\n"
    said = await server.say(head(server, "Transfer-Encoding: chunked"), *[chunk] * 11)
    assert said.startswith(b"HTTP/1.1 413")
    assert b"connection: close" in said.lower()
    whole = await server.say(head(server, "Transfer-Encoding: chunked"), *[chunk] * 10, b"0\r\n\r\n")
    assert whole.startswith(b"HTTP/1.1 200")


async def test_a_body_that_does_not_come_is_given_up(server: Served) -> None:
    """A few bytes, and then none."""
    assert (await server.say(head(server, "Content-Length: 100"), b"abc")).startswith(b"HTTP/1.1 408")


async def test_a_body_in_drops_is_given_up(server: Served) -> None:
    """Each comes in time, but not all of them."""
    reader, writer = await server.connect()
    writer.write(head(server, "Content-Length: 1000"))

    async def drip() -> None:
        while True:
            writer.write(b"x")
            await asyncio.sleep(0.05)

    dripping = asyncio.create_task(drip())
    said = await asyncio.wait_for(reader.readline(), 20)
    dripping.cancel()
    writer.close()
    assert said.startswith(b"HTTP/1.1 408")


async def test_two_requests_in_one_are_not_taken_for_one(server: Served) -> None:
    """A length and chunks at once are how requests are smuggled past a proxy."""
    smuggled = head(server, "Content-Length: 3", "Transfer-Encoding: chunked")
    said = await server.say(smuggled, b"0\r\n\r\nGET /chat HTTP/1.1\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 400")
    assert b"connection: close" in said.lower()


async def drip(writer: asyncio.StreamWriter, piece: bytes) -> None:
    while True:
        writer.write(piece)
        await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "begun", [b"", b"GET /open HTTP/1.1\r\nX-A: ", b"GET /open HTTP/1.1\r\nHost: localhost\r\n\r\nGET /"]
)
async def test_a_head_that_does_not_come_is_given_up(begun: bytes) -> None:
    """Nothing, a head in drops, or a second one behind an answer: the connection is closed, and others go on."""

    async def slow(head: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(2.5)
        await takes_its_time(head, receive, send)

    async with served(slow, head_s=1) as server, httpx2.AsyncClient(timeout=30) as client:
        asked = asyncio.create_task(client.get(server.url))
        reader, writer = await server.connect()
        writer.write(begun)
        dripping = asyncio.create_task(drip(writer, b"x" if begun else b""))
        try:
            async with asyncio.timeout(20):
                while await reader.read(1000):
                    pass
        except ConnectionError:
            pass  # it was closed on bytes that nobody read
        dripping.cancel()
        writer.close()
        assert (await asked).text == "done"


# --- sockets -------------------------------------------------------------------------------------


def socket(server: Served, token: str | None, session: str = "s1", name: str = "127.0.0.1", **more: Any) -> Any:
    protocols = ["falai.v1", *([] if token is None else [f"falai.token.{token}"])]
    uri = f"ws://{name}:{server.port}/sessions/{session}/socket"
    return connect(uri, host="127.0.0.1", subprotocols=protocols, proxy=None, **more)  # type: ignore[arg-type]


async def test_a_page_opens_a_socket_with_its_token(server: Served, token: NewToken) -> None:
    """Among the sub-protocols, where a page can put it; it never comes back."""
    async with socket(server, token.text, origin="https://shop.example") as open_socket:
        await open_socket.send("hello")
        assert (await open_socket.recv(), open_socket.subprotocol) == ("shop: hello", "falai.v1")
        answer = open_socket.response
        assert answer is not None
        assert token.text not in str(answer.headers)


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({"origin": "https://evil.example"}, 403), ({"origin": "null"}, 403), ({"name": "evil.example"}, 421),
        ({"token": None}, 401), ({"session": "s2"}, 403),
    ],
)  # fmt: skip
async def test_a_socket_is_denied_with_a_problem(
    server: Served, token: NewToken, more: dict[str, Any], status: int
) -> None:
    """Before it is open: a foreign page or name, no token, or a token for another session."""
    with pytest.raises(InvalidStatus) as refused:
        async with socket(server, **{"token": token.text, **more}):
            pass
    answer = refused.value.response
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert answer.headers["x-content-type-options"] == "nosniff"


async def test_a_socket_that_is_denied_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A stranger fills no log with errors."""
    async with served(application()) as server:
        with pytest.raises(InvalidStatus):
            async with socket(server, None):
                pass
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


async def test_a_message_that_is_too_large_ends_the_socket(server: Served, token: NewToken) -> None:
    """As a body would be refused."""
    async with socket(server, token.text) as open_socket:
        await open_socket.send("x" * 1001)
        with pytest.raises(ConnectionClosed) as closed:
            await open_socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


async def test_a_socket_ends_with_its_token(server: Served, ledger: SQLiteLedger, token: NewToken) -> None:
    """Within five seconds of its end, though nothing is said."""
    async with socket(server, token.text) as open_socket:
        await open_socket.send("hello")
        assert await open_socket.recv() == "shop: hello"
        await ledger.run(revoke_token(token.row.id, now_ms=2))
        async with asyncio.timeout(5):
            with pytest.raises(ConnectionClosed) as closed:
                await open_socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1008


async def endlessly(open_socket: Any) -> AsyncIterator[Any]:
    while True:
        yield await open_socket.recv()


async def test_messages_of_a_socket_are_counted(ledger: SQLiteLedger, token: NewToken) -> None:
    """As requests are: whoever floods one is told to come again later."""
    async with served(application(ledger, rate="5 in 1h")) as server, socket(server, token.text) as open_socket:
        for _ in range(20):
            await open_socket.send("x")
        with pytest.raises(ConnectionClosed) as closed:
            _ = [one async for one in endlessly(open_socket)]
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1013


async def test_a_visitor_has_so_many_sockets_open(ledger: SQLiteLedger, server: Served, token: NewToken) -> None:
    """The token of one session holds 64 connections, and not all that the server has; another one has its own."""
    shop = new_token(name="shop", tenant="t", scopes=["chat"], now_ms=1)
    await ledger.run(add_token(shop.row))
    async with AsyncExitStack() as stack:
        last = await stack.enter_async_context(socket(server, token.text))
        for _ in range(63):
            await stack.enter_async_context(socket(server, token.text))
            await stack.enter_async_context(socket(server, shop.text))
        with pytest.raises(InvalidStatus) as denied:
            await stack.enter_async_context(socket(server, token.text))
        assert denied.value.response.status_code == 429
        await stack.enter_async_context(socket(server, shop.text))
        await last.close()
        async with asyncio.timeout(20):
            while not await opened(stack, server, token.text):  # the server learns of the end a moment later
                pass


async def opened(stack: AsyncExitStack, server: Served, token: str) -> bool:
    try:
        await stack.enter_async_context(socket(server, token))
    except InvalidStatus:
        return False
    return True


# --- the end -------------------------------------------------------------------------------------


async def streams_for_ever(head: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream; x")]})
    await send({"type": "http.response.body", "body": b": on\n\n", "more_body": True})
    await asyncio.Event().wait()


async def test_a_stream_ends_with_its_token(ledger: SQLiteLedger, token: NewToken) -> None:
    """It comes to its end within five seconds; one that nobody revoked stays open."""
    other = new_token(name="other", tenant="t", scopes=["chat"], now_ms=1)
    await ledger.run(add_token(other.row))
    app = guarded(streams_for_ever, WebSettings(), Keys(lambda: ledger, AGENT))
    async with httpx2.AsyncClient(timeout=30) as client, served(app) as server, AsyncExitStack() as stack:
        opened = [
            (await stack.enter_async_context(client.stream("GET", server.url, headers=bearer(one)))).aiter_raw()
            for one in (token, other)
        ]
        assert [await anext(pieces) for pieces in opened] == [b": on\n\n"] * 2
        staying = asyncio.create_task(anext(opened[1], None))
        await ledger.run(revoke_token(token.row.id, now_ms=2))
        async with asyncio.timeout(5):
            assert [piece async for piece in opened[0]] == []
        assert not staying.done()
        server.stop.set()
        assert await staying is None


async def test_a_stream_outlasts_a_store_that_is_away(ledger: SQLiteLedger, token: NewToken) -> None:
    """It is not cut, and ends with its token once the store can be asked again."""
    refused: list[None] = []
    away = False

    def ledger_of() -> SQLiteLedger:
        if away:
            refused.append(None)
            raise sqlite3.OperationalError("it is away")
        return ledger

    app = guarded(streams_for_ever, WebSettings(), Keys(ledger_of, AGENT))
    async with (
        httpx2.AsyncClient(timeout=30) as client,
        served(app) as server,
        client.stream("GET", server.url, headers=bearer(token)) as answer,
    ):
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b": on\n\n"
        away = True
        async with asyncio.timeout(20):
            while len(refused) < 2:
                await asyncio.sleep(0.05)
        away = False
        await ledger.run(revoke_token(token.row.id, now_ms=2))
        async with asyncio.timeout(20):
            assert [piece async for piece in pieces] == []


async def test_a_server_that_ends_closes_its_sockets(ledger: SQLiteLedger, token: NewToken) -> None:
    """With the code that says that it comes back."""
    async with served(application(ledger), grace_s=300) as server, socket(server, token.text) as open_socket:
        server.stop.set()
        with pytest.raises(ConnectionClosed) as closed:
            await open_socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012


def bearer(token: NewToken) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.text}"}


async def takes_its_time(head: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(0.3)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


async def test_a_server_that_ends_ends_its_streams(caplog: pytest.LogCaptureFixture) -> None:
    """Each comes to its end, as if all had been said, and nobody waits for the grace."""
    async with (
        httpx2.AsyncClient(timeout=30) as client,
        served(streams_for_ever, grace_s=300) as server,
        client.stream("GET", server.url) as answer,
    ):
        pieces = answer.aiter_raw()
        assert await anext(pieces) == b": on\n\n"
        server.stop.set()
        assert [piece async for piece in pieces] == []
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []


async def test_what_was_begun_is_finished() -> None:
    """Within the grace; who comes later finds nobody."""
    async with httpx2.AsyncClient(timeout=30) as client:
        async with served(takes_its_time) as server:
            asked = asyncio.create_task(client.get(server.url))
            await asyncio.sleep(0.1)
        assert (await asked).text == "done"
        with pytest.raises(httpx2.ConnectError):
            await client.get(server.url)


async def test_what_does_not_end_is_cut_off() -> None:
    """When the grace is over."""

    async def hangs(head: Any, receive: Any, send: Any) -> None:
        await asyncio.Event().wait()

    async with httpx2.AsyncClient(timeout=30) as client:
        async with served(hangs, grace_s=1) as server:
            asked = asyncio.create_task(client.get(server.url))
            await asyncio.sleep(0.1)
        found = await asyncio.gather(asked, return_exceptions=True)
    assert isinstance(found[0], httpx2.HTTPError) or found[0].status_code == 500  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("host", "only", "url"),
    [("127.0.0.1", True, "http://127.0.0.1:"), ("localhost", True, "http://"), ("0.0.0.0", False, "http://0.0.0.0:")],
)
def test_where_it_listens(host: str, only: bool, url: str) -> None:
    """By the address that was bound, whatever name was given for it."""
    with bound(host, 0) as at:
        assert loopback_only(at) is only
        assert url_of(at).startswith(url)
        at.listen()
        with pytest.raises(OSError, match="in use"):
            bound(host, at.getsockname()[1])
