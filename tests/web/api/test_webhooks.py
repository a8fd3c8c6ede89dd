"""The channels' webhooks: proved by the vendor's signature, stored before they are answered, dropped when they come again."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from channel.receiver import signed
from falai.channel import TelegramChannel, WebhookChannel, WhatsAppChannel
from falai.host import Settings
from falai.testing import Clock
from web.api.stage import Site, desk, site

NOW = Clock("2026-09-20T10:00:00Z")
STAMP = int(NOW().timestamp())
SECRET = "a-secret-that-both-have"
PATH = "/v1/channels/{}/webhook"


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Site]:
    """A site with three channels, whose client has no token."""
    channels = {
        "webhook": WebhookChannel("https://example.com/hook", SECRET, clock=NOW),
        "whatsapp": WhatsAppChannel("106540352242922", "a-token", app_secret="an-app-secret", verify_token="a-word"),
        "telegram": TelegramChannel("123456:a-token", webhook_secret="a-secret"),
    }
    settings = Settings(burst="1h", session_limit=2)  # no turn: nothing goes out to these addresses
    async with site(tmp_path, desk(clock=NOW), channel=channels, settings=settings) as found:
        del found.client.headers["Authorization"]
        yield found


def message(id: str = "m1", text: str = "Hello", **more: str) -> tuple[bytes, dict[str, str]]:
    """A request of the vendor's."""
    body = json.dumps({"type": "message", "data": {"address": "a1", "text": text, "id": id, **more}}).encode()
    return body, signed(SECRET.encode(), f"w-{id}", STAMP, body)


async def test_a_message_is_taken_in(home: Site) -> None:
    """200 when it is stored; its session is the channel's and the address's; the same delivery again is dropped."""
    body, headers = message()
    for _ in range(2):
        answer = await home.client.post(PATH.format("webhook"), content=body, headers=headers)
        assert (answer.status_code, answer.content) == (200, b"")
    look = await home.host.look("webhook:a1")
    assert look is not None
    assert [row.key for row in look.waiting] == ["message:m1"]
    assert (look.row.channel, look.row.address) == ("webhook", "a1")


async def test_a_stranger(home: Site) -> None:
    """401 for a request that is not signed, or signed for other bytes; nothing is taken in, and nothing is said of why."""
    body, headers = message()
    for content, signature in ((body, {}), (body + b" ", headers), (body, {**headers, "webhook-timestamp": "1"})):
        answer = await home.client.post(PATH.format("webhook"), content=content, headers=signature)
        assert (answer.status_code, answer.json()["code"]) == (401, "bad-signature")
    assert await home.host.look("webhook:a1") is None


async def test_a_body_that_is_none_of_the_vendors(home: Site) -> None:
    """400 for what was signed well: another delivery is no help."""
    body = b'{"type": "message", "data": {"address": 3}}'
    headers = signed(SECRET.encode(), "w1", STAMP, body)
    answer = await home.client.post(PATH.format("webhook"), content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-payload")


async def test_a_body_that_is_cut_off(home: Site, caplog: pytest.LogCaptureFixture) -> None:
    """Whoever goes away in the middle of a body is no failure of the server: a stranger could fill the log."""
    path = PATH.format("webhook")
    comes: list[Any] = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    goes: list[Any] = []
    head = {
        "type": "http", "http_version": "1.1", "method": "POST", "scheme": "http", "path": path, "raw_path": path.encode(),
        "query_string": b"", "root_path": "", "headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1),
    }  # fmt: skip

    async def receive() -> Any:
        return comes.pop(0)

    async def send(message: Any) -> None:
        goes.append(message)

    await home.app(head, receive, send)
    assert goes[0]["status"] == 400
    assert [one for one in caplog.records if one.levelname == "ERROR"] == []


async def test_there_is_no_room(home: Site) -> None:
    """429 brings the vendor back later; what is known is dropped then."""
    for number in range(2):
        body, headers = message(f"m{number}")
        assert (await home.client.post(PATH.format("webhook"), content=body, headers=headers)).status_code == 200
    body, headers = message("m3")
    answer = await home.client.post(PATH.format("webhook"), content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (429, "overloaded")
    assert answer.headers["retry-after"]


async def test_the_handshake(home: Site) -> None:
    """A vendor that asks with the word is answered with its challenge, in plain text; one without it is refused."""
    query = {"hub.mode": "subscribe", "hub.verify_token": "a-word", "hub.challenge": "1158201444"}
    answer = await home.client.get(PATH.format("whatsapp"), params=query)
    assert (answer.status_code, answer.text) == (200, "1158201444")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    answer = await home.client.get(PATH.format("whatsapp"), params={**query, "hub.verify_token": "another"})
    assert (answer.status_code, answer.json()["code"]) == (401, "bad-signature")
    answer = await home.client.get(PATH.format("telegram"))
    assert answer.status_code == 401


async def test_a_vendor_that_wants_an_answer(home: Site) -> None:
    """The acknowledgement of the channel is the body of the answer, as JSON."""
    update = {"update_id": 1, "callback_query": {
        "id": "q1", "from": {"id": 99, "first_name": "Ana"}, "data": "yes", "chat_instance": "x",
        "message": {"message_id": 5, "date": STAMP, "chat": {"id": 4711}},
    }}  # fmt: skip
    headers = {"X-Telegram-Bot-Api-Secret-Token": "a-secret"}
    answer = await home.client.post(PATH.format("telegram"), json=update, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["callback_query_id"] == "q1"


async def test_a_channel_that_is_not_there(home: Site) -> None:
    """404, for a stranger as for anybody."""
    for method in ("GET", "POST"):
        answer = await home.client.request(method, PATH.format("signal"))
        assert (answer.status_code, answer.json()["code"]) == (404, "no-channel")
