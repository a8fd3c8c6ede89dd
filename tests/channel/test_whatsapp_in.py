"""What WhatsApp's webhook says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channel.whatsapp_server import WhatsAppServer
from falai.channel import (
    Attachment,
    BadPayloadError,
    BadSignatureError,
    Incoming,
    Outgoing,
    Receipt,
    WhatsAppChannel,
)
from falai.session.dates import from_ms

VENDOR = WhatsAppServer()
AT = from_ms(1_749_416_383_000)
NOW = from_ms(1_750_000_000_000)
CONTACT = {"profile": {"name": "Sheena Nelson"}, "wa_id": "16505551234", "user_id": "US.1349"}


def _channel(**options: Any) -> WhatsAppChannel:
    known = {"app_secret": VENDOR.app_secret, "verify_token": VENDOR.verify_token, **options}
    return WhatsAppChannel(VENDOR.number, VENDOR.token, clock=lambda: NOW, **known)


def _message(kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"from": "16505551234", "id": "wamid.1", "timestamp": "1749416383", "type": kind, kind: content, **more}


def _read(*messages: Any, **value: Any) -> list[Incoming | Receipt]:
    headers, body = VENDOR.signed({"contacts": [CONTACT], "messages": list(messages), **value})
    channel = _channel()
    channel.verify(headers, body)
    return list(channel.parse(headers, body))


def _incoming(text: str, **more: Any) -> Incoming:
    return Incoming("16505551234", "wamid.1", text, AT, **{"name": "Sheena Nelson", **more})


# --- messages -------------------------------------------------------------------------------


def test_a_text() -> None:
    """With the name that the customer has there, and what it answers."""
    message = _message("text", {"body": "Does it come in another color?"}, context={"id": "wamid.0"})
    assert _read(message) == [_incoming("Does it come in another color?", reply_to="wamid.0")]


@pytest.mark.parametrize(
    ("message", "text", "choice"),
    [
        (
            _message("interactive", {"type": "button_reply", "button_reply": {"id": "yes", "title": "Yes!"}}),
            "Yes!",
            "yes",
        ),
        (
            _message(
                "interactive", {"type": "list_reply", "list_reply": {"id": "r2", "title": "Row", "description": "d"}}
            ),
            "Row",
            "r2",
        ),
        (_message("button", {"text": "Stop", "payload": "stop-all"}), "Stop", "stop-all"),
    ],
)
def test_a_reply_that_was_tapped(message: Any, text: str, choice: str) -> None:
    """A button, a row of a list, a button of a template: the title is the text."""
    assert _read(message) == [_incoming(text, kind="button", choice=choice)]


@pytest.mark.parametrize(
    ("kind", "content", "attachment"),
    [
        (
            "image",
            {"id": "f1", "mime_type": "image/jpeg", "caption": "this one"},
            Attachment("image", id="f1", mime="image/jpeg", caption="this one"),
        ),
        ("audio", {"id": "f1", "mime_type": "audio/ogg; codecs=opus", "voice": True}, Attachment("voice", id="f1", mime="audio/ogg; codecs=opus")),
        ("audio", {"id": "f1", "voice": False}, Attachment("audio", id="f1")),
        ("video", {"id": "f1"}, Attachment("video", id="f1")),
        ("sticker", {"id": "f1", "animated": False}, Attachment("sticker", id="f1")),
        ("document", {"id": "f1", "filename": "a.pdf"}, Attachment("document", id="f1", filename="a.pdf")),
        (
            "location",
            {"latitude": -23.5, "longitude": -46.6, "name": "Office", "url": "x"},
            Attachment("location", data={"latitude": -23.5, "longitude": -46.6, "name": "Office"}),
        ),
        (
            "contacts",
            [{"name": {"formatted_name": "Bob"}, "phones": [{"phone": "+1 555"}, {}]}],
            Attachment("contact", data={"name": "Bob", "phones": ["+1 555"]}),
        ),
        (
            "reaction",
            {"message_id": "wamid.0", "emoji": "👍"},
            Attachment("reaction", data={"emoji": "👍", "message": "wamid.0"}),
        ),
        ("reaction", {"message_id": "wamid.0"}, Attachment("reaction", data={"emoji": "", "message": "wamid.0"})),
        (
            "interactive",
            {"type": "nfm_reply", "nfm_reply": {"response_json": "{}"}},
            Attachment("other", data={"type": "nfm_reply", "content": {"type": "nfm_reply", "nfm_reply": {"response_json": "{}"}}}),
        ),
        ("unsupported", {"type": "poll_creation"}, Attachment("other", data={"type": "unsupported", "content": {"type": "poll_creation"}})),
        ("something_new", {"a": 1}, Attachment("other", data={"type": "something_new", "content": {"a": 1}})),
    ],
)  # fmt: skip
def test_what_is_no_text(kind: str, content: Any, attachment: Attachment) -> None:
    """Every kind is an attachment; a caption is the text as well; what is not known yet is `other`, and not lost."""
    expected = _incoming(attachment.caption or "", kind="attachment", attachments=(attachment,))
    assert _read(_message(kind, content)) == [expected]


def test_a_customer_who_hides_the_number() -> None:
    """The id is the address; with a number it is told beside it."""
    hidden = {
        "from_user_id": "US.1349",
        "id": "wamid.1",
        "timestamp": "1749416383",
        "type": "text",
        "text": {"body": "Hi"},
    }
    (first,) = _read(hidden)
    (second,) = _read({**hidden, "from": "16505551234"})
    assert isinstance(first, Incoming)
    assert isinstance(second, Incoming)
    assert (first.address, first.user, first.name) == ("US.1349", "US.1349", "Sheena Nelson")
    assert (second.address, second.user) == ("16505551234", "US.1349")


@pytest.mark.parametrize("kind", ["system", "request_welcome"])
def test_what_whatsapp_says_itself_is_no_message(kind: str) -> None:
    """A number that changed, a chat that was opened."""
    assert _read(_message(kind, {"body": "changed"})) == []


def test_many_in_one_request_come_in_order() -> None:
    """Messages and receipts of several changes; one that nobody could answer is left out and hides no other."""
    headers, body = VENDOR.signed(
        {
            "messages": [
                _message("text", {"body": "1"}),
                {"type": "text"},
                7,
                _message("text", {"body": "2"}, id="wamid.2"),
            ]
        },
        {"statuses": [{"id": "wamid.9", "status": "read", "timestamp": "1749416383"}]},
        {"messages": [_message("text", {"body": "3"}, id="wamid.3")]},
    )
    found = _channel().parse(headers, body)
    assert [each.text if isinstance(each, Incoming) else each.status for each in found] == ["1", "2", "read", "3"]


def test_another_number_is_left_out() -> None:
    """Several channels may share an address of the host: each takes what is its own."""
    assert _read(_message("text", {"body": "Hi"}), metadata={"phone_number_id": "other"}) == []


@pytest.mark.parametrize("stamp", ["soon", None, "9" * 30, 1749416383])
def test_an_odd_time_stamp_is_now(stamp: Any) -> None:
    """A message is not lost for the time that it was written at."""
    (found,) = _read(_message("text", {"body": "Hi"}, timestamp=stamp))
    assert found.at == (AT if stamp == 1749416383 else NOW)


# --- receipts -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "told"), [("sent", "sent"), ("delivered", "delivered"), ("read", "read"), ("played", "read")]
)
def test_a_receipt(status: str, told: Any) -> None:
    """A voice message that was played has been read."""
    VENDOR.sent[:] = [{"to": "1", "biz_opaque_callback_data": "s1:3:0"}]
    found = _channel().parse(*VENDOR.status(1, status))
    assert list(found) == [Receipt("wamid.1", told, from_ms(1_750_263_773_000), idempotency_key="s1:3:0")]


def test_a_receipt_of_a_failure_says_why() -> None:
    """Code and details, as Meta words them."""
    VENDOR.sent[:] = [{"to": "1"}]
    errors = [{"code": 131026, "title": "Message undeliverable", "error_data": {"details": "Message Undeliverable."}}]
    (found,) = _channel().parse(*VENDOR.status(1, "failed", errors=errors))
    assert isinstance(found, Receipt)
    assert (found.status, found.error) == ("failed", "131026: Message Undeliverable.")


def test_another_state_is_left_out() -> None:
    """A message that the customer's phone deleted is no receipt of ours."""
    VENDOR.sent[:] = [{"to": "1"}]
    assert list(_channel().parse(*VENDOR.status(1, "deleted"))) == []


# --- the proof ------------------------------------------------------------------------------


@pytest.mark.property
@given(st.binary(max_size=30), st.text(max_size=70))
def test_only_the_right_signature_passes(body: bytes, given_signature: str) -> None:
    """Of this body, with this secret."""
    with pytest.raises(BadSignatureError, match="not that of this body"):
        _channel().verify({"X-Hub-Signature-256": given_signature}, body)


def test_a_signature_of_another_body_or_secret_is_refused() -> None:
    """One byte more, or another app."""
    headers, body = VENDOR.signed({})
    with pytest.raises(BadSignatureError):
        _channel().verify(headers, body + b" ")
    with pytest.raises(BadSignatureError):
        _channel(app_secret="other").verify(headers, body)
    with pytest.raises(BadSignatureError, match="without app_secret"):
        _channel(app_secret=None).verify(headers, body)


def test_the_handshake() -> None:
    """The challenge goes back to who knows the word."""
    query = {"hub.mode": "subscribe", "hub.verify_token": VENDOR.verify_token, "hub.challenge": "1158201444"}
    assert _channel().answer_to_verification(query) == "1158201444"


@pytest.mark.parametrize("change", [{"hub.mode": "x"}, {"hub.verify_token": "é"}, {"hub.verify_token": ""}])
def test_a_handshake_without_the_word_is_refused(change: dict[str, str]) -> None:
    """Nor does a channel without a word have one."""
    query = {"hub.mode": "subscribe", "hub.verify_token": VENDOR.verify_token, "hub.challenge": "1", **change}
    with pytest.raises(BadSignatureError):
        _channel().answer_to_verification(query)
    with pytest.raises(BadSignatureError):
        _channel(verify_token=None).answer_to_verification({**query, "hub.verify_token": "None"})


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"object": "page"}', b"\xff"])
def test_a_body_of_something_else_is_refused(body: bytes) -> None:
    """A page of Facebook's is none of WhatsApp's."""
    with pytest.raises(BadPayloadError):
        _channel().parse({}, body)


@pytest.mark.parametrize("name", ["app_secret", "verify_token"])
def test_a_blank_secret_is_refused(name: str) -> None:
    """As an empty variable gives it: everybody could sign with that."""
    with pytest.raises(ValueError, match=f"{name} is blank"):
        _channel(**{name: ""})
    with pytest.raises(ValueError, match="token is blank"):
        WhatsAppChannel("1", " ")


def test_a_channel_for_sending_only() -> None:
    """The two secrets of the webhook may be left out; free text goes out for 24 hours."""
    channel = WhatsAppChannel("1", "token")
    assert channel.window_ms == 86_400_000
    assert channel.split(Outgoing("s", "1", "Hi", "k")) == [Outgoing("s", "1", "Hi", "k")]
