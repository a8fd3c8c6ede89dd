"""Bodies: so many bytes, in so much time, whatever the head promises and the application makes of a cut."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.web.access.bodies import Bodies, CutError
from web.access.asking import application, ask

HOST = ("host", "127.0.0.1:8000")
MOST = 20


async def post(app: Any, *pieces: bytes, length: str | None = None) -> Any:
    headers = [HOST] if length is None else [HOST, ("content-length", length)]
    return await ask(app, headers=headers, method="POST", body=pieces or (b"",))


@pytest.mark.property
@given(st.lists(st.binary(max_size=9), min_size=1, max_size=9))
def test_a_body_is_read_whole_or_refused(pieces: list[bytes]) -> None:
    """However it is cut in pieces: with as many bytes as there may be it comes through, with one more it does not."""
    size = sum(map(len, pieces))
    answer = asyncio.run(post(application(max_body=MOST), *pieces))
    if size <= MOST:
        assert (answer.status, answer.body) == (200, str(size).encode())
    else:
        assert (answer.status, answer.code, answer.headers["connection"]) == (413, "too-large", "close")


@pytest.mark.parametrize("length", ["21", "9" * 18, "9" * 5000])
async def test_a_body_that_says_it_is_too_large_is_not_read(length: str) -> None:
    """The application hears nothing of it."""
    asked: list[str] = []

    async def never(*_: Any) -> None:
        asked.append("it")

    answer = await post(Bodies(never, MOST, "1s"), b"x", length=length)
    assert (answer.status, answer.code, asked) == (413, "too-large", [])


@pytest.mark.parametrize("length", ["0", "3", "-1", "1e9", "٣", ""])
async def test_what_the_head_says_is_not_believed(length: str) -> None:
    """A small number before a large body: what comes counts."""
    if length.isascii():
        assert (await post(application(max_body=MOST), b"x" * 15, b"x" * 15, length=length)).status == 413


async def test_an_application_that_swallows_the_cut_answers_nothing() -> None:
    """A framework makes an answer of its own of any error in a body; the refusal stands in its place."""

    async def swallows(head: Any, receive: Any, send: Any) -> None:
        try:
            while True:
                await receive()
        except CutError:
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b"mine"})

    assert (await post(Bodies(swallows, MOST, "1s"), b"x" * 30)).status == 413


async def test_an_answer_that_has_begun_goes_on() -> None:
    """It cannot be taken back; the application sees the cut."""

    async def hurries(head: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        with pytest.raises(CutError):
            await receive()
        await send({"type": "http.response.body", "body": b"so far"})

    answer = await post(Bodies(hurries, MOST, "1s"), b"x" * 30)
    assert (answer.status, answer.body) == (200, b"so far")


async def test_what_goes_wrong_elsewhere_passes_through() -> None:
    """An error of the application is not ours."""

    async def fails(head: Any, receive: Any, send: Any) -> None:
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        await post(Bodies(fails, MOST, "1s"), b"x")


async def test_a_body_has_to_come_in_time() -> None:
    """One that stops in the middle is given up; waiting for the client to go away afterwards has no end."""
    said: list[Any] = []

    async def reads(head: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await receive()

    async def send(message: Any) -> None:
        said.append(message)

    first = [{"type": "http.request", "body": b"x", "more_body": True}]

    async def stalls() -> Any:
        return first.pop() if first else await asyncio.Event().wait()

    await Bodies(reads, MOST, "0.05s")({"type": "http", "headers": []}, stalls, send)
    assert said[0]["status"] == 408

    whole, gone = [{"type": "http.request", "body": b"x", "more_body": False}], asyncio.Event()

    async def waits() -> Any:
        return whole.pop() if whole else await gone.wait()

    waiting = asyncio.create_task(Bodies(reads, MOST, "0.05s")({"type": "http", "headers": []}, waits, send))
    await asyncio.sleep(0.2)
    assert not waiting.done()
    gone.set()
    await waiting


@pytest.mark.parametrize("message", [{"text": "x" * 21}, {"bytes": b"x" * 21}, {"text": "é" * 11}])
async def test_a_message_of_a_websocket_that_is_too_large_ends_it(message: Any) -> None:
    """In bytes, as it comes over the wire; it is closed with the code for that."""
    said: list[Any] = []

    async def reads(head: Any, receive: Any, send: Any) -> None:
        assert await receive() == {"type": "websocket.disconnect", "code": 1009}

    async def receive() -> Any:
        return {"type": "websocket.receive", **message}

    async def send(message: Any) -> None:
        said.append(message)

    await Bodies(reads, MOST, "1s")({"type": "websocket", "headers": []}, receive, send)
    assert [(one["type"], one["code"]) for one in said] == [("websocket.close", 1009)]
