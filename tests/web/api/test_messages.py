"""A message over HTTP: answered, answered again, taken in for later, refused."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from falai.host import Host, Settings
from falai.model import ModelRequest
from falai.web import create_app
from falai.web.access import SCOPES
from falai.web.access.tokens import new_token
from host.stage import SMALL, Echo, until
from web.api.stage import Site, calling, desk, site


async def test_a_message_is_answered(home: Site) -> None:
    """200 has what the turn said; each message has the id under which it is kept."""
    answer = await home.say("Hello", id="m1")
    assert answer.status_code == 200
    (message,) = answer.json()["messages"]
    assert answer.json() == {"key": "message:m1", "new": True, "messages": [message]}
    assert (message["text"], message["kind"], message["afterMs"]) == ("re: Hello", "ai", 0)
    look = await home.host.look("s1")
    assert look is not None
    assert message["id"] in {row.id for row in look.transcript}


async def test_the_same_id_has_no_second_turn(home: Site) -> None:
    """A message that comes again gets the same answer, and the model is not asked again."""
    first = await home.say("Hello", id="m1")
    again = await home.say("Something else", id="m1")
    assert again.status_code == 200
    assert again.json()["new"] is False
    assert [one["id"] for one in again.json()["messages"]] == [one["id"] for one in first.json()["messages"]]
    look = await home.host.look("s1")
    assert look is not None
    assert [row.text for row in look.transcript] == ["re: Hello", "Hello"]


async def test_the_same_id_at_once(home: Site) -> None:
    """Of requests that race with one id, one is new, and all get the answer of the one turn."""
    answers = await asyncio.gather(*(home.say("Hello", id="m1") for _ in range(5)))
    assert sorted(one.json()["new"] for one in answers) == [False] * 4 + [True]
    assert len({one.json()["messages"][0]["id"] for one in answers}) == 1


async def test_an_answer_that_is_late_comes_later(tmp_path: Path) -> None:
    """202 says that a message is taken in; it is played all the same, and the same request gives the answer then."""
    gate = asyncio.Event()

    async def held(_: ModelRequest) -> None:
        await gate.wait()

    async with site(tmp_path, desk(model=Echo(held))) as home:
        late = await home.say("Hello", id="m1", params={"wait": 0.05})
        assert (late.status_code, late.json()) == (202, {"key": "message:m1", "new": True})
        at_once = await home.say("Hello", "s2", id="m1", params={"wait": 0})
        assert at_once.status_code == 202
        still = await home.say("Hello", id="m1", params={"wait": 0})
        assert (still.status_code, still.json()["new"]) == (202, False)
        gate.set()
        answer = await home.say("Hello", id="m1")
    assert (answer.status_code, answer.json()["new"]) == (200, False)
    assert [one["text"] for one in answer.json()["messages"]] == ["re: Hello"]


async def test_what_failed_for_good(tmp_path: Path) -> None:
    """502 says that an input was set aside, and nothing of why: that is among the dead letters."""

    async def broken(_: ModelRequest) -> None:
        raise RuntimeError("secret of the house")

    async with site(tmp_path, desk(model=Echo(broken)), settings=Settings(retries=(), send_retries=())) as home:
        for _ in range(2):  # the second time it is known
            answer = await home.say("Hello", id="m1")
            assert (answer.status_code, answer.json()["code"]) == (502, "set-aside")
            assert "secret" not in answer.text
        (dead,) = (await home.client.get("/v1/dead")).json()["dead"]
        assert "secret of the house" in dead["error"]
        which = {name: dead[name] for name in ("what", "session", "key")}
        assert (await home.client.post("/v1/dead/drop", json=which)).json() == {"done": True}
        gone = await home.client.post("/v1/dead/retry", json=which)
        assert (gone.status_code, gone.json()["code"]) == (404, "no-dead-letter")


async def test_a_dead_letter_is_tried_again(tmp_path: Path) -> None:
    """What is retried is played from where it stood."""
    mended = False

    async def broken(_: ModelRequest) -> None:
        if not mended:
            raise RuntimeError

    async with site(tmp_path, desk(model=Echo(broken)), settings=Settings(retries=())) as home:
        assert (await home.say("Hello", id="m1")).status_code == 502
        mended = True
        which = {"what": "input", "session": "s1", "key": "message:m1"}
        assert (await home.client.post("/v1/dead/retry", json=which)).status_code == 200
        answer = await home.say("Hello", id="m1")
    assert [one["text"] for one in answer.json()["messages"]] == ["re: Hello"]


async def test_too_many_wait(tmp_path: Path) -> None:
    """429 and 503 say that nothing was taken in, and when to come again."""
    gate = asyncio.Event()

    async def held(_: ModelRequest) -> None:
        await gate.wait()

    async with site(tmp_path, desk(model=Echo(held)), settings=Settings(session_limit=1, host_limit=2)) as home:
        assert (await home.say("1", params={"wait": 0})).status_code == 202
        full = await home.say("2", params={"wait": 0})
        assert (full.status_code, full.json()["code"], full.headers["retry-after"]) == (429, "overloaded", "1")
        assert (await home.say("1", "s2", params={"wait": 0})).status_code == 202
        full = await home.say("1", "s3", params={"wait": 0})
        assert (full.status_code, full.json()["code"], full.headers["retry-after"]) == (503, "host-full", "5")
        gate.set()


async def test_all_mistakes_at_once(home: Site) -> None:
    """A body that does not fit is refused with each mistake, its path, and what was meant."""
    body = {"txet": "Hello", "id": 3, "attachments": [{"kind": "picture", "uri": "x"}]}
    answer = await home.client.post("/v1/sessions/s1/messages", json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (422, "application/problem+json")
    found = {one["path"]: one for one in answer.json()["errors"]}
    assert set(found) == {"text", "id", "txet", "attachments[0].kind", "attachments[0].uri"}
    assert found["txet"]["hint"].startswith('Did you mean "text"?')
    assert found["attachments[0].uri"]["hint"].startswith('Did you mean "url"?')


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "bad-json"),
        (b"\xff", 400, "bad-request"),
        (b"[" * 100_000, 400, "bad-request"),
        (b'{"text": "a", "id": 1' + b"0" * 5000 + b"}", 400, "bad-request"),
        (b"", 422, "invalid"),
        (b"null", 422, "invalid"),
        (b"[]", 422, "invalid"),
        (b'{"text": "a", "id": "  "}', 422, "invalid"),
        (b'{"text": "a", "id": "\\ud800"}', 422, "invalid"),
    ],
)
async def test_bodies_that_are_none(home: Site, body: bytes, status: int, code: str) -> None:
    """Whatever the bytes are, the answer is a problem of the client's."""
    answer = await home.client.post(
        "/v1/sessions/s1/messages", content=body, headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (status, code)


async def test_json_is_said_to_be_json(home: Site) -> None:
    """A body without its type is none: a form of another page could send it."""
    answer = await home.client.post("/v1/sessions/s1/messages", content=b'{"text": "a", "id": "1"}')
    assert answer.status_code == 422
    assert "Content-Type" in answer.json()["errors"][0]["hint"]


async def test_attachments_reach_the_transcript(home: Site) -> None:
    """What is no text comes with the message."""
    body = {"text": "", "id": "m1", "attachments": [{"kind": "image", "url": "https://example.com/a.jpg"}]}
    assert (await home.client.post("/v1/sessions/s1/messages", json=body)).status_code == 200
    lines = (await home.client.get("/v1/sessions/s1/transcript")).json()["lines"]
    assert lines[-1]["data"] == [{"kind": "image", "url": "https://example.com/a.jpg"}]
    assert lines[-1]["text"] == "[image]"


async def test_whom_the_session_is_with(home: Site) -> None:
    """Customer, channel and address are noted on the session."""
    body = {"text": "Hello", "id": "m1", "customer": "c1", "channel": "web", "address": "a1"}
    await home.client.post("/v1/sessions/s1/messages", json=body)
    found = (await home.client.get("/v1/sessions/s1")).json()
    assert (found["customer"], found["channel"], found["address"]) == ("c1", "web", "a1")


async def test_a_host_that_does_not_run(tmp_path: Path) -> None:
    """Before and after, every route says so, and readiness too; the process is alive."""
    app = create_app(Host(desk(), tmp_path / "web.db"))
    token = {"Authorization": f"Bearer {new_token(name='t', tenant='t', scopes=SCOPES, now_ms=0).text}"}
    async with calling(app) as client:
        for path in ("/v1/sessions", "/v1/health/ready", "/v1/status"):
            answer = await client.get(path, headers=token)
            assert (answer.status_code, answer.json()["code"]) == (503, "not-running")
            assert answer.headers["retry-after"]
        assert (await client.get("/v1/health/live")).json() == {"alive": True}


async def test_a_turn_goes_on_without_its_client(tmp_path: Path) -> None:
    """A client that goes away while it waits loses nothing."""
    gate = asyncio.Event()
    asked: list[str] = []

    async def held(request: ModelRequest) -> None:
        asked.append(request.schema_name or "")
        await gate.wait()

    async with site(tmp_path, desk(model=Echo(held)), settings=Settings(**SMALL)) as home:
        waiting = asyncio.create_task(home.say("Hello", id="m1"))
        await until(lambda: bool(asked))
        waiting.cancel()
        gate.set()
        answer = await home.say("Hello", id="m1")
    assert [one["text"] for one in answer.json()["messages"]] == ["re: Hello"]
