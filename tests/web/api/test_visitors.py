"""A token that a customer's browser has: it talks in one session, and says nothing of who that is."""

from __future__ import annotations

import json

import pytest
from websockets.asyncio.client import connect

from web.api.stage import Site, serving

WHOM = [{"customer": "c2"}, {"channel": "whatsapp"}, {"address": "+5511999"}, {"customer": ""}]


@pytest.mark.parametrize("whom", WHOM, ids=json.dumps)
@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
async def test_it_says_neither_whose_it_is_nor_where_answers_go(home: Site, whom: dict[str, str], accept: str) -> None:
    """Else a visitor would see what another customer's sessions hold, or write to any number; nothing is taken in."""
    headers = {**await home.allow("chat", "operate", session="s1"), "Accept": accept}
    for path, body in (
        ("messages", {"text": "Hi", "id": "m1"}), ("events", {"name": "order.paid", "key": "o1"}),
        ("starts", {"flow": "remind", "key": "r1"}),
    ):  # fmt: skip
        answer = await home.client.post(f"/v1/sessions/s1/{path}", json={**body, **whom}, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
    assert await home.host.look("s1") is None


async def test_a_token_of_the_tenant_says_so(home: Site) -> None:
    """It is the business's own server."""
    body = {"text": "Hi", "id": "m1", "customer": "c2"}
    answer = await home.client.post("/v1/sessions/s1/messages", json=body)
    assert answer.status_code == 200
    look = await home.host.look("s1")
    assert look is not None
    assert look.row.customer == "c2"


async def test_nor_over_a_socket(home: Site) -> None:
    """The frame is refused, and the conversation goes on."""
    token = (await home.allow("chat", session="s1"))["Authorization"].removeprefix("Bearer ")
    async with serving(home) as url:
        address = f"{url.replace('http', 'ws')}/v1/sessions/s1/socket"
        async with connect(address, subprotocols=["falai.v1", f"falai.token.{token}"], proxy=None) as socket:  # type: ignore[list-item]
            await socket.send(json.dumps({"type": "message", "id": "m1", "text": "Hi", "customer": "c2"}))
            while (frame := json.loads(await socket.recv()))["type"] == "ready":
                pass
            assert (frame["type"], frame["code"]) == ("problem", "forbidden")
            await socket.send(json.dumps({"type": "message", "id": "m1", "text": "Hi"}))
            while json.loads(await socket.recv())["type"] != "accepted":
                pass
