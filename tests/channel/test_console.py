"""The terminal as a channel."""

from __future__ import annotations

import io

import pytest

from falai.channel import Attachment, Button, ChannelError, ConsoleChannel, Incoming, Outgoing, Sent
from falai.session.dates import from_ms

NOW = from_ms(1_750_000_000_000)


async def test_what_is_said_is_printed() -> None:
    """Text, media and buttons, each on its own line, and nothing that moves a cursor."""
    screen = io.StringIO()
    channel = ConsoleChannel(writes=screen)
    out = Outgoing("s", "you", "Hi\x1b[2J there\nand here", "k", media="menu", buttons=(Button("y", "Yes"),))
    assert await channel.send(out) == Sent()
    await channel.send(Outgoing("s", "you", "", "k", media=Attachment("image", url="https://example.com/a.png")))
    assert screen.getvalue() == "Hi[2J there\nand here\n[menu]\n[Yes]\n[image https://example.com/a.png]\n"


async def test_each_line_is_a_message() -> None:
    """Blank ones are left out; the end of the input is the end."""
    channel = ConsoleChannel(reads=io.StringIO("Hello\n\n  I am Ana \nlast"), clock=lambda: NOW)
    assert [each async for each in channel.read()] == [
        Incoming("you", "1750000000000-1", "Hello", NOW),
        Incoming("you", "1750000000000-2", "I am Ana", NOW),
        Incoming("you", "1750000000000-3", "last", NOW),
    ]


async def test_a_screen_that_is_gone_is_told() -> None:
    """Somebody closed the terminal: no other try helps."""
    screen = io.StringIO()
    screen.close()
    with pytest.raises(ChannelError, match="closed") as caught:
        await ConsoleChannel(writes=screen).send(Outgoing("s", "you", "Hi", "k"))
    assert not caught.value.retryable
