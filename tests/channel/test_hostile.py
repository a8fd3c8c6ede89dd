"""Whatever comes in, a channel raises what its contract says and nothing else."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.channel import (
    BadPayloadError,
    BadSignatureError,
    Channel,
    ConsoleChannel,
    Incoming,
    Receipt,
    TelegramChannel,
    WebhookChannel,
    WhatsAppChannel,
)

CHANNELS: list[Channel] = [
    WhatsAppChannel("1", "token", app_secret="secret", verify_token="word"),
    TelegramChannel("1:token", webhook_secret="secret"),
    WebhookChannel("https://example.com", "secret"),
    ConsoleChannel(),
]
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from(
    [
        "object",
        "entry",
        "changes",
        "value",
        "metadata",
        "phone_number_id",
        "messages",
        "statuses",
        "contacts",
        "from",
        "from_user_id",
        "id",
        "type",
        "timestamp",
        "text",
        "body",
        "interactive",
        "button_reply",
        "list_reply",
        "title",
        "button",
        "payload",
        "image",
        "caption",
        "location",
        "contacts",
        "phones",
        "phone",
        "reaction",
        "context",
        "profile",
        "name",
        "wa_id",
        "status",
        "errors",
        "code",
        "error_data",
        "details",
        "biz_opaque_callback_data",
        "update_id",
        "message",
        "chat",
        "message_id",
        "date",
        "photo",
        "file_id",
        "voice",
        "venue",
        "callback_query",
        "data",
        "reply_markup",
        "inline_keyboard",
        "callback_data",
        "message_reaction",
        "new_reaction",
        "emoji",
        "user",
        "first_name",
        "address",
        "at",
        "kind",
        "attachments",
        "providerId",
    ]
)
VALUES = st.sampled_from(
    ["whatsapp_business_account", "1", "text", "image", "interactive", "message", "receipt", "sent", 1]
)
JSON = st.recursive(
    SCALARS | VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=30,
)
HEADERS = st.dictionaries(
    st.sampled_from(
        [
            "X-Hub-Signature-256",
            "x-telegram-bot-api-secret-token",
            "webhook-id",
            "webhook-timestamp",
            "webhook-signature",
        ]
    ),
    st.text(max_size=20),
)


@st.composite
def whatsapp(draw: st.DrawFn) -> Any:
    """The shape of a real request, with anything in its places."""
    messages = st.lists(st.dictionaries(KEYS, JSON, max_size=6) | JSON, max_size=2)
    value = {"metadata": {"phone_number_id": "1"}, "messages": draw(messages), "statuses": draw(messages)}
    return {"object": "whatsapp_business_account", "entry": [{"changes": [{"value": {**draw(OBJECTS), **value}}]}]}


OBJECTS = st.dictionaries(KEYS, JSON, max_size=4)
UPDATES = st.builds(
    lambda name, value: {"update_id": 1, name: value},
    st.sampled_from(["message", "callback_query", "message_reaction"]),
    st.builds(lambda known, more: {**more, **known}, st.just({"chat": {"id": 1}, "message_id": 1}), OBJECTS),
)
HOOKS = st.builds(lambda kind, data: {"type": kind, "data": data}, st.sampled_from(["message", "receipt"]), OBJECTS)


def _parse(channel: Channel, headers: dict[str, str], body: bytes) -> None:
    with suppress(BadPayloadError):
        for found in channel.parse(headers, body):
            # What an inbox stores comes back the same.
            assert msgspec.json.decode(msgspec.json.encode(found), type=type(found)) == found
            assert isinstance(found, Receipt) or (found.address and found.id and isinstance(found.text, str))
            assert found.at.tzinfo is not None
    channel.acknowledgement(headers, body)


@pytest.mark.property
@given(HEADERS, st.binary(max_size=60))
def test_any_bytes(headers: dict[str, str], body: bytes) -> None:
    """Any headers and any bytes: no proof, and no JSON that means anything."""
    for channel in CHANNELS:
        with pytest.raises(BadSignatureError):
            channel.verify(headers, body)
        _parse(channel, headers, body)


@pytest.mark.property
@given(HEADERS, JSON | whatsapp() | UPDATES | HOOKS)
def test_any_json(headers: dict[str, str], value: Any) -> None:
    """Whoever knows the secret may still send nonsense."""
    for channel in CHANNELS:
        _parse(channel, headers, json.dumps(value).encode())


@pytest.mark.property
@given(st.dictionaries(st.sampled_from(["hub.mode", "hub.verify_token", "hub.challenge", "x"]), st.text(max_size=9)))
def test_any_query(query: dict[str, str]) -> None:
    """The challenge goes to nobody who does not know the word."""
    for channel in CHANNELS:
        with suppress(BadSignatureError):
            channel.answer_to_verification(query)
            assert query["hub.verify_token"] == "word"


@pytest.mark.parametrize(
    "body", [b"[" * 100_000, b'{"a":' * 100_000, b"1" * 20_000, b'{"update_id": 1' + b"0" * 20_000 + b"}", b'"\\ud800"']
)
def test_bodies_that_break_parsers(body: bytes) -> None:
    """Nested too deeply, numbers without an end, half a sign."""
    for channel in CHANNELS:
        _parse(channel, {}, body)


def test_a_number_that_has_no_text_is_none() -> None:
    """Python writes no number of more than 4300 digits: as the id of a chat, it is no chat."""
    number = b"1" * 5000
    body = b'{"update_id": 1, "message": {"message_id": 1, "chat": {"id": %b}, "text": "x"}}' % number
    assert list(CHANNELS[1].parse({}, body)) == []
    with pytest.raises(BadPayloadError):
        CHANNELS[1].parse({}, b'{"update_id": %b}' % number)


def test_half_a_sign_can_be_stored() -> None:
    """What JSON escapes as half a surrogate pair is no text that a database takes: it is replaced."""
    body = b'{"type": "message", "data": {"address": "a", "id": "1", "text": "x\\ud83d"}}'
    (found,) = CHANNELS[2].parse({}, body)
    assert isinstance(found, Incoming)
    assert found.text.encode()
