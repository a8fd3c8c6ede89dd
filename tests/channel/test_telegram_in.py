"""What Telegram's updates say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.channel import Attachment, BadPayloadError, BadSignatureError, Incoming, Receipt, TelegramChannel
from falai.session.dates import from_ms

SECRET = "a-secret-of-the-host"
AT = from_ms(1_750_263_773_000)
NOW = from_ms(1_750_300_000_000)
ANA = {"id": 99, "is_bot": False, "first_name": "Ana", "last_name": "Lima"}
BOT = TelegramChannel("123:token", webhook_secret=SECRET, clock=lambda: NOW)


def _read(**update: Any) -> list[Incoming | Receipt]:
    return list(BOT.parse({}, json.dumps({"update_id": 7, **update}).encode()))


def _message(**more: Any) -> dict[str, Any]:
    return {"message_id": 5, "from": ANA, "chat": {"id": 4711, "type": "private"}, "date": 1750263773, **more}


def _incoming(text: str, **more: Any) -> Incoming:
    return Incoming("4711", "4711:5", text, AT, **{"name": "Ana Lima", "user": "99", **more})


def test_a_text() -> None:
    """The chat is the address, the person beside it; ids count in each chat, so the chat stands before them."""
    message = _message(text="Hi", reply_to_message={"message_id": 3})
    assert _read(message=message) == [_incoming("Hi", reply_to="4711:3")]


def test_a_button_that_was_tapped() -> None:
    """The title is the text; the button stops waiting by the answer to the request."""
    keyboard = [[{"text": "First", "callback_data": "a"}], [{"text": "Second", "callback_data": "b"}]]
    query = {"id": "77", "from": ANA, "data": "b", "message": _message(reply_markup={"inline_keyboard": keyboard})}
    tapped = Incoming(
        "4711", "callback:77", "Second", NOW, "button", name="Ana Lima", user="99", choice="b", reply_to="4711:5"
    )
    assert _read(callback_query=query) == [tapped]
    body = json.dumps({"update_id": 7, "callback_query": query}).encode()
    assert json.loads(BOT.acknowledgement({}, body)) == {"method": "answerCallbackQuery", "callback_query_id": "77"}


def test_a_button_of_an_old_message_has_no_title_any_more() -> None:
    """Then its id stands for it."""
    query = {"id": "77", "from": ANA, "data": "b", "message": {"message_id": 5, "chat": {"id": 4711}, "date": 0}}
    (found,) = _read(callback_query=query)
    assert isinstance(found, Incoming)
    assert (found.text, found.choice) == ("b", "b")


@pytest.mark.parametrize(
    ("content", "attachment"),
    [
        ({"photo": [{"file_id": "s"}, {"file_id": "l"}], "caption": "this"}, Attachment("image", id="l", mime="image/jpeg", caption="this")),
        ({"voice": {"file_id": "f", "mime_type": "audio/ogg"}}, Attachment("voice", id="f", mime="audio/ogg")),
        ({"audio": {"file_id": "f", "file_name": "a.mp3"}}, Attachment("audio", id="f", filename="a.mp3")),
        ({"video": {"file_id": "f"}}, Attachment("video", id="f")),
        ({"video_note": {"file_id": "f"}}, Attachment("video", id="f")),
        ({"animation": {"file_id": "f"}, "document": {"file_id": "f"}}, Attachment("video", id="f")),
        ({"document": {"file_id": "f", "file_name": "a.pdf"}}, Attachment("document", id="f", filename="a.pdf")),
        ({"sticker": {"file_id": "f", "emoji": "👍"}}, Attachment("sticker", id="f")),
        ({"location": {"latitude": 1.5, "longitude": 2}}, Attachment("location", data={"latitude": 1.5, "longitude": 2})),
        (
            {"location": {"latitude": 1}, "venue": {"location": {"latitude": 1}, "title": "Office", "address": "A 1"}},
            Attachment("location", data={"latitude": 1, "name": "Office", "address": "A 1"}),
        ),
        ({"contact": {"phone_number": "+1", "first_name": "Bob"}}, Attachment("contact", data={"name": "Bob", "phones": ["+1"]})),
        ({"dice": {"value": 3}}, Attachment("other", data={"type": "dice", "content": {"value": 3}})),
    ],
)  # fmt: skip
def test_what_is_no_text(content: Any, attachment: Attachment) -> None:
    """Every kind is an attachment; a caption is the text as well."""
    expected = _incoming(attachment.caption or "", kind="attachment", attachments=(attachment,))
    assert _read(message=_message(**content)) == [expected]


def test_a_reaction() -> None:
    """It names the message as `send` did; taken back, it has no emoji."""
    reaction = {"chat": {"id": 4711}, "message_id": 5, "user": ANA, "date": 1750263773}
    (set_,) = _read(message_reaction={**reaction, "new_reaction": [{"type": "emoji", "emoji": "👍"}]})
    (gone,) = _read(message_reaction={**reaction, "new_reaction": []})
    assert isinstance(set_, Incoming)
    assert isinstance(gone, Incoming)
    assert (set_.id, set_.address, set_.user) == ("update:7", "4711", "99")
    assert [each.attachments[0].data for each in (set_, gone)] == [
        {"emoji": "👍", "message": "4711:5"},
        {"emoji": "", "message": "4711:5"},
    ]


@pytest.mark.parametrize(
    "update",
    [
        {},
        {"edited_message": _message(text="Hi")},
        {"channel_post": _message(text="Hi")},
        {"my_chat_member": {"chat": {"id": 1}}},
        {"message": _message(new_chat_title="x")},
        {"message": _message(text="Hi", **{"from": {**ANA, "is_bot": True}})},
        {"message": {"text": "Hi"}},
        {"callback_query": {"id": "1", "data": "b", "inline_message_id": "x"}},
    ],
)
def test_what_is_no_message_is_left_out(update: Any) -> None:
    """An edit, a channel's post, what Telegram says itself, another bot, what nobody could answer."""
    assert _read(**update) == []


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"update_id": true}', b"\xff"])
def test_a_body_of_something_else_is_refused(body: bytes) -> None:
    """And asks for no answer."""
    with pytest.raises(BadPayloadError):
        BOT.parse({}, body)
    assert BOT.acknowledgement({}, body) == b""


@pytest.mark.property
@given(st.text().filter(lambda text: text != SECRET))
def test_only_the_right_secret_passes(text: str) -> None:
    """And a channel without one lets nothing pass."""
    BOT.verify({"X-Telegram-Bot-Api-Secret-Token": SECRET}, b"")
    with pytest.raises(BadSignatureError):
        BOT.verify({"X-Telegram-Bot-Api-Secret-Token": text}, b"")
    with pytest.raises(BadSignatureError):
        TelegramChannel("123:token").verify({"X-Telegram-Bot-Api-Secret-Token": text}, b"")


def test_a_bot_has_no_handshake() -> None:
    """What asks by GET is not Telegram."""
    with pytest.raises(BadSignatureError, match="has no handshake"):
        BOT.answer_to_verification({"hub.challenge": "1"})
