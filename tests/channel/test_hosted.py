"""A host that speaks by each channel: from the vendor's request to the vendor's ears, and what goes wrong between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from channel.loopback import Answer, Fault
from channel.made import KINDS, Made, made
from channel.receiver import signed
from channel.whatsapp_server import error
from falai import Agent, Collect, Field, Flow, OnAnyMessage, Say
from falai.channel import BadSignatureError
from falai.host import Host, Settings

Request = tuple[dict[str, str], bytes]
LONG = "This is a sentence of some length. " * 150


def _agent() -> Agent[None]:
    steps = [
        Say("menu", "Our menu", media={"slug": "menu"}),
        Say("long", LONG),
        Collect("who", ["name"]),
        Say("bye", "Thank you, {{data.name}}."),
    ]
    name = Field(str, ask="Ask for the name.", question="What is your name?")
    return Agent(
        name="Ana", model="lexical", fields={"name": name}, flows=[Flow("f", on=[OnAnyMessage()], steps=steps)]
    )


@asynccontextmanager
async def _hosted(ready: Made, folder: Path, **settings: Any) -> AsyncIterator[Host[None]]:
    quick = Settings(send_retries=("0.1s", "0.1s", "1s"), **settings)
    async with Host(_agent(), folder / "falai.db", channel=ready.channel, settings=quick) as host:
        yield host


def _comes_in(ready: Made, number: int, text: str) -> Request:
    """The request by which this vendor brings a customer's message."""
    match ready.channel.name:
        case "whatsapp":
            message = {"from": ready.address, "id": f"wamid.in{number}", "type": "text", "text": {"body": text}}
            return ready.vendor.signed({"messages": [message]})
        case "telegram":
            message = {"message_id": number, "chat": {"id": int(ready.address)}, "from": {"id": 1}, "text": text}
            body = json.dumps({"update_id": number, "message": message}).encode()
            return {"X-Telegram-Bot-Api-Secret-Token": "a-secret-of-the-host"}, body
        case _:
            body = json.dumps({"type": "message", "data": {"address": ready.address, "text": text}}).encode()
            return signed(ready.vendor.key, f"in-{number}", ready.vendor.now, body), body


def _heard(ready: Made) -> Sequence[str]:
    """The texts that the customer has got, in order; a file with its caption."""
    match ready.channel.name:
        case "whatsapp":
            return [
                each.get("text", {}).get("body") or f"[{each['document']['caption']}]" for each in ready.vendor.sent
            ]
        case "telegram":
            return [sent.get("text") or f"[{sent['caption']}]" for _, sent in ready.vendor.sent]
        case _:
            data = [envelope["data"] for envelope in ready.vendor.taken.values()]
            return [f"[{each['text']}]" if "media" in each else each["text"] for each in data]


async def _says(host: Host[None], ready: Made, number: int, text: str) -> None:
    await host.take(ready.channel.name, *_comes_in(ready, number, text))
    await host.drained()


async def _until(ready: Made, text: str) -> None:
    """What waits for another try is not waited for by `drained`."""
    async with asyncio.timeout(30):
        while text not in _heard(ready):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_a_conversation(kind: str, tmp_path: Path) -> None:
    """A file by its slug, a long text in pieces, a question and its answer; a second delivery changes nothing."""
    with made(kind) as ready:
        async with _hosted(ready, tmp_path) as host:
            await _says(host, ready, 1, "hello there")
            await _says(host, ready, 1, "hello there")
            await _says(host, ready, 2, "My name is Rui")
        heard = _heard(ready)
    assert heard[0] == "[Our menu]"
    assert " ".join(heard[1:-2]).strip() == LONG.strip()
    assert len(heard[1:-2]) == (1 if kind == "webhook" else 2)
    assert heard[-2:] == ["What is your name?", "Thank you, Rui."]


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_a_stranger_starts_nothing(kind: str, tmp_path: Path) -> None:
    """Whoever does not know the secret is refused, and no session comes of it."""
    with made(kind) as ready:
        async with _hosted(ready, tmp_path) as host:
            _, body = _comes_in(ready, 1, "hello there")
            with pytest.raises(BadSignatureError):
                await host.take(kind, {}, body)
            await host.drained()
            assert await host.look(f"{kind}:{ready.address}") is None
    assert ready.vendor.seen == []


@pytest.mark.parametrize("kind", sorted(KINDS))
async def test_a_piece_that_has_arrived_is_not_sent_again(kind: str, tmp_path: Path) -> None:
    """The vendor is down in the middle of a reply: what is missing comes later, in order, and nothing twice."""
    with made(kind) as ready:
        async with _hosted(ready, tmp_path) as host:
            ready.vendor.faults += [None, Fault(Answer(503)), Fault(Answer(503))]  # the second message, twice
            await _says(host, ready, 1, "hello there")
            await _until(ready, "What is your name?")
        heard = _heard(ready)
    assert len(heard) == len(set(heard)) == (3 if kind == "webhook" else 4)


async def test_a_receipt_spares_a_second_sending(tmp_path: Path) -> None:
    """Meta took the message and its answer was lost; the receipt that comes first says so."""
    with made("whatsapp") as ready:
        async with _hosted(ready, tmp_path) as host:
            ready.vendor.faults.append(Fault(Answer(0), after=True))
            await host.take("whatsapp", *_comes_in(ready, 1, "hello there"))
            await _until(ready, "[Our menu]")
            await host.take("whatsapp", *ready.vendor.status(1, "delivered"))
            await _until(ready, "What is your name?")
        assert _heard(ready).count("[Our menu]") == 1


async def test_what_whatsapp_refuses_for_good_is_set_aside(tmp_path: Path) -> None:
    """The window has closed meanwhile: the message is dead and can be seen, and the session goes on."""
    with made("whatsapp") as ready:
        async with _hosted(ready, tmp_path) as host:
            ready.vendor.faults.append(Fault(error(131047, "Re-engagement message")))
            await _says(host, ready, 1, "hello there")
            (dead,) = await host.dead()
            assert "131047" in str(dead)
            await _until(ready, "What is your name?")
