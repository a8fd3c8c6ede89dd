"""Messages to Telegram, against a server that checks them as the Bot API does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channel.loopback import Answer, Fault, json_answer
from channel.made import FEW, Made, made, message
from channel.telegram_server import TelegramServer, refused
from falai.channel import Attachment, Button, ChannelError, Outgoing, Sent, TelegramChannel, Template

IMAGE = Attachment("image", url="https://example.com/a.png")
STICKER = Attachment("sticker", id="file-1")
PLACE = Attachment("location", data={"latitude": -23.5, "longitude": -46.6, "name": "Office"})


@pytest.fixture
def ready() -> Iterator[Made]:
    with made("telegram") as found:
        yield found


async def _sent(ready: Made, *out: Outgoing) -> list[tuple[str, dict[str, Any]]]:
    async with ready.channel:
        for each in out:
            for piece in ready.channel.split(each):
                await ready.channel.send(piece)
    assert all(parameters.pop("chat_id") == "4711" for _, parameters in ready.vendor.sent)
    return ready.vendor.sent


async def test_a_text_goes_out_plain(ready: Made) -> None:
    """No markup: a star of a customer's name is a star. The id has the chat before it."""
    async with ready.channel:
        assert await ready.channel.send(message(ready, "Hello *Ana* <b>")) == Sent("4711:1")
    assert ready.vendor.sent == [("sendMessage", {"chat_id": "4711", "text": "Hello *Ana* <b>"})]


async def test_media_goes_out_by_url_or_id(ready: Made) -> None:
    """Each kind by its method; a caption where there may be one."""
    sent = await _sent(
        ready,
        message(ready, "Look", media=IMAGE),
        message(ready, "", media="menu"),
        message(ready, "", media=Attachment("voice", id="file-1")),
        message(ready, "", media=PLACE),
        message(ready, "Ha", media=STICKER),
    )
    assert sent == [
        ("sendPhoto", {"photo": "https://example.com/a.png", "caption": "Look"}),
        ("sendDocument", {"document": "https://example.com/menu.pdf"}),
        ("sendVoice", {"voice": "file-1"}),
        ("sendLocation", {"latitude": -23.5, "longitude": -46.6}),
        ("sendSticker", {"sticker": "file-1"}),
        ("sendMessage", {"text": "Ha"}),
    ]


async def test_buttons_stand_under_the_message(ready: Made) -> None:
    """One in each row, so that long titles can be read."""
    sent = await _sent(ready, message(ready, "Which?", buttons=(Button("a", "First"), Button("b", "Second"))))
    rows = [[{"text": "First", "callback_data": "a"}], [{"text": "Second", "callback_data": "b"}]]
    assert sent == [("sendMessage", {"text": "Which?", "reply_markup": {"inline_keyboard": rows}})]


async def test_a_template_goes_out_as_its_text(ready: Made) -> None:
    """Telegram has none, and no window that would need one."""
    out = message(ready, "Hello Ana", template=Template("hello", "en"), media=IMAGE, buttons=(Button("a", "A"),))
    assert await _sent(ready, out) == [("sendMessage", {"text": "Hello Ana"})]
    assert ready.channel.window_ms is None


@pytest.mark.property
@FEW
@given(
    st.integers(0, 9000),
    st.sampled_from(["word ", "😀", "a", "line\n"]),
    st.sampled_from([None, IMAGE, STICKER, PLACE]),
    st.booleans(),
)
async def test_what_was_split_is_taken(size: int, sign: str, media: Attachment | None, buttons: bool) -> None:
    """Whatever length, media and buttons: the server takes every piece, in order, and no word is lost."""
    text = (sign * size)[:size] + "end"
    with made("telegram") as ready:
        sent = await _sent(ready, message(ready, text, media=media, buttons=(Button("b", "B"),) if buttons else ()))
    told = "".join(parameters.get("text", "") + parameters.get("caption", "") for _, parameters in sent)
    assert "".join(told.split()) == "".join(text.split())
    assert ["reply_markup" in parameters for _, parameters in sent] == [False] * (len(sent) - 1) + [buttons]


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"text": "x" * 4097}, "a text has at most 4096 characters; this one has 4097"),
        ({"text": "x" * 1025, "media": IMAGE}, "a caption has at most 1024"),
        ({"media": STICKER}, "a message of kind sticker has no text"),
        ({"buttons": (Button("é" * 33, "x"),)}, "the id of a button has 1 to 64 bytes"),
        ({"buttons": (Button("b", "x"),), "text": ""}, "buttons stand under a text"),
        ({"media": Attachment("reaction"), "text": ""}, "of kind reaction cannot be sent"),
        ({"media": Attachment("image"), "text": ""}, "a file needs a url, or the id"),
    ],
)
async def test_what_telegram_would_refuse_is_not_sent(ready: Made, more: dict[str, Any], why: str) -> None:
    """The error says what is too much, and nothing goes out."""
    with pytest.raises(ChannelError, match=why) as caught:
        await ready.channel.send(message(ready, **more))
    assert (caught.value.retryable, ready.vendor.seen) == (False, [])


@pytest.mark.parametrize(
    ("answer", "retryable", "pause"),
    [
        (refused(429, "Too Many Requests: retry after 3", retry_after=3), True, 3000),
        (refused(500, "Internal Server Error"), True, None),
        (refused(403, "Forbidden: bot was blocked by the user"), False, None),
        (refused(400, "Bad Request: chat not found"), False, None),
        (refused(401, "Unauthorized"), False, None),
        (refused(400, "Bad Request", retry_after=3), False, None),
    ],
)
async def test_the_answer_says_what_helps(ready: Made, answer: Answer, retryable: bool, pause: int | None) -> None:
    """Telegram says itself when to come back; what it refused was not carried out."""
    ready.vendor.faults.append(Fault(answer))
    async with ready.channel:
        with pytest.raises(ChannelError, match=f"Telegram answered {answer.status}: ") as caught:
            await ready.channel.send(message(ready))
    said = caught.value
    assert (said.retryable, said.retry_after_ms, said.maybe_delivered) == (retryable, pause, False)


async def test_a_group_that_moved_says_where(ready: Made) -> None:
    """Nothing is sent to another address by itself; the error names it."""
    ready.vendor.faults.append(Fault(refused(400, "group chat was upgraded", migrate_to_chat_id=-100123)))
    async with ready.channel:
        with pytest.raises(ChannelError, match="the chat's id is now -100123"):
            await ready.channel.send(message(ready))


async def test_the_webhook_is_set_with_the_secret(ready: Made) -> None:
    """And with the updates that are understood; without a secret it is not set."""
    async with ready.channel:
        assert isinstance(ready.channel, TelegramChannel)
        await ready.channel.set_webhook("https://example.com/telegram")
    assert ready.vendor.webhook == {
        "url": "https://example.com/telegram",
        "secret_token": "a-secret-of-the-host",
        "allowed_updates": ["message", "callback_query", "message_reaction"],
    }
    with pytest.raises(ValueError, match="needs a webhook_secret"):
        await TelegramChannel("token").set_webhook("https://example.com/telegram")


async def test_a_file_is_downloaded(ready: Made) -> None:
    """In two steps; a larger one than was asked for is not read to its end."""
    vendor: TelegramServer = ready.vendor
    vendor.files["file-1"] = b"x" * 1000
    voice = Attachment("voice", id="file-1")
    async with ready.channel:
        assert await ready.channel.download(voice) == b"x" * 1000
        with pytest.raises(ChannelError, match="more than 999 bytes"):
            await ready.channel.download(voice, limit=999)
        with pytest.raises(ChannelError, match="invalid file_id"):
            await ready.channel.download(Attachment("image", id="gone"))
        with pytest.raises(ChannelError, match="without an id"):
            await ready.channel.download(PLACE)
        ready.vendor.faults.append(Fault(json_answer({"ok": True, "result": {"file_id": "file-1"}})))
        with pytest.raises(ChannelError, match="no file of this id any more"):
            await ready.channel.download(voice)
        ready.vendor.faults.append(Fault(json_answer({"ok": True, "result": {"file_path": "gone"}})))
        with pytest.raises(ChannelError, match="Telegram answered 404"):
            await ready.channel.download(voice)


@pytest.mark.parametrize("secret", ["", "a b", "é", "x" * 257])
def test_a_secret_that_telegram_would_refuse(secret: str) -> None:
    """Before the webhook is set, and without showing it."""
    with pytest.raises(ValueError, match="1 to 256 letters"):
        TelegramChannel("token", webhook_secret=secret)
