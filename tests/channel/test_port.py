"""The contract, as a channel of one's own meets it."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from typing import Any, cast

import msgspec
import pytest

import falai.channel
from falai.channel import (
    Attachment,
    BadSignatureError,
    Button,
    Channel,
    ChannelError,
    Incoming,
    Outgoing,
    Sent,
    Template,
)

_LOADED = """
import sys
from falai.channel import Channel, ConsoleChannel, TelegramChannel, WebhookChannel, WhatsAppChannel
WhatsAppChannel("1", "token"), TelegramChannel("1:token"), WebhookChannel("https://example.com", "secret")
print(*sys.modules)
"""


class _Own(Channel):
    name = "own"

    async def send(self, out: Outgoing) -> Sent:
        return Sent(out.text)


async def test_a_channel_of_ones_own_needs_send_only() -> None:
    """It takes nothing in, splits nothing, has no window and nothing to close."""
    out = Outgoing("s", "a", "x" * 10_000, "k")
    async with _Own() as channel:
        assert await channel.send(out) == Sent(out.text)
    assert list(channel.split(out)) == [out]
    assert (channel.window_ms, list(channel.parse({}, b"x")), channel.acknowledgement({}, b"x")) == (None, [], b"")
    with pytest.raises(BadSignatureError):
        channel.verify({}, b"")
    with pytest.raises(BadSignatureError):
        channel.answer_to_verification({})
    with pytest.raises(ChannelError):
        await channel.download(Attachment("image", id="1"))


def test_a_channel_that_cannot_send_cannot_be_made() -> None:
    """It would take messages and answer none."""
    with pytest.raises(TypeError, match="send"):
        cast(Any, type("Deaf", (Channel,), {"name": "deaf"}))()


def test_what_goes_in_and_out_is_plain_data() -> None:
    """An inbox and an outbox store it as JSON, without what says nothing."""
    out = Outgoing("s", "a", "Hi", "k", media="menu", buttons=(Button("b", "B"),), template=Template("t", "en"))
    at = datetime(2026, 1, 2, tzinfo=UTC)
    came = Incoming("a", "1", "Hi", at, attachments=(Attachment("location", data={"latitude": 1}),), reply_to="0")
    for value in (out, came):
        assert msgspec.json.decode(msgspec.json.encode(value), type=type(value)) == value
    assert msgspec.json.encode(Outgoing("s", "a", "Hi", "k")) == (
        b'{"session":"s","address":"a","text":"Hi","idempotencyKey":"k"}'
    )


def test_a_channel_loads_no_http_before_it_sends() -> None:
    """Importing and making all channels leaves the HTTP library out."""
    loaded = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, check=True, text=True).stdout.split()
    assert [name for name in loaded if name.partition(".")[0] in {"httpx2", "httpcore2", "pydantic", "anyio"}] == []


def test_a_missing_extra_says_what_to_install() -> None:
    """When the channel is made, and not with the first customer."""
    program = "import sys; sys.modules['httpx2'] = None; import falai.channel as c; c.TelegramChannel('1:token')"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True).stderr
    assert 'run pip install "falai[channels]"' in said


def test_the_public_names_are_there() -> None:
    """Each name of the room is reached by it, and says what it is."""
    assert [name for name in falai.channel.__all__ if not getattr(falai.channel, name).__doc__] == []
    with pytest.raises(AttributeError, match="no attribute 'Smoke'"):
        falai.channel.Smoke  # noqa: B018
