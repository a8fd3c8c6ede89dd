"""The signed webhook, out to a system and in from it."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from channel.loopback import Answer, Fault
from channel.made import FEW, made, message
from channel.receiver import signed
from falai.channel import (
    Attachment,
    BadPayloadError,
    BadSignatureError,
    Button,
    ChannelError,
    Incoming,
    Outgoing,
    Receipt,
    Sent,
    Template,
    WebhookChannel,
)
from falai.session.dates import from_ms

KEY = b"a key of twenty-four bytes"
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"
NOW = 1_750_000_000


def _channel(secret: Any = SECRET, **options: Any) -> WebhookChannel:
    return WebhookChannel("https://example.com/in", secret, clock=lambda: from_ms(NOW * 1000), **options)


def _body(data: Any, kind: str = "message") -> bytes:
    return msgspec.json.encode({"type": kind, "data": data})


# --- out ------------------------------------------------------------------------------------


async def test_a_message_goes_out_signed() -> None:
    """The receiver, which knows the rules only, takes it; all of the message is there, a slug as its file."""
    with made("webhook") as ready:
        out = message(ready, "Our menu", media="menu", buttons=(Button("yes", "Yes"),), kind="ai")
        async with ready.channel:
            assert await ready.channel.send(out) == Sent("r-1")
    envelope = ready.vendor.taken["s1:3:0"]
    assert envelope["type"] == "message"
    assert envelope["timestamp"] == "2025-06-15T15:06:40.000Z"
    assert msgspec.convert(envelope["data"], Outgoing) == msgspec.structs.replace(
        out, media=Attachment("document", url="https://example.com/menu.pdf", filename="menu.pdf")
    )


async def test_a_repetition_is_known_by_its_id() -> None:
    """The answer to the first was lost; the receiver has the message once."""
    with made("webhook") as ready:
        ready.vendor.faults.append(Fault(Answer(0), after=True))
        async with ready.channel:
            with pytest.raises(ChannelError) as caught:
                await ready.channel.send(message(ready))
            assert caught.value.maybe_delivered
            assert await ready.channel.send(message(ready)) == Sent("r-1")
    assert len(ready.vendor.taken) == 1


@pytest.mark.property
@FEW
@given(st.text(min_size=1, max_size=30))
async def test_any_key_makes_a_header(key: str) -> None:
    """A session's id may hold any sign; two keys are never one header."""
    with made("webhook") as ready:
        async with ready.channel:
            await ready.channel.send(message(ready, idempotency_key=key))
            await ready.channel.send(message(ready, idempotency_key=f"{key}%"))
    assert len(ready.vendor.taken) == 2


async def test_without_an_id_in_the_answer_the_key_is_the_id() -> None:
    """A receiver that answers 204 can still send receipts: it knows the key."""
    with made("webhook") as ready:
        ready.vendor.faults.append(Fault(Answer(204)))
        async with ready.channel:
            assert await ready.channel.send(message(ready)) == Sent("s1:3:0")


async def test_of_several_secrets_all_sign() -> None:
    """A receiver that has only the old one, or only the new one, goes on."""
    with made("webhook") as ready:
        two = WebhookChannel(ready.vendor.url, ["a new secret", ready.vendor.secret], clock=lambda: from_ms(NOW * 1000))
        async with two:
            await two.send(message(ready))
    assert list(ready.vendor.taken) == ["s1:3:0"]


async def test_a_template_goes_out_as_it_is() -> None:
    """What it means is the receiver's matter."""
    with made("webhook") as ready:
        async with ready.channel:
            await ready.channel.send(message(ready, "", template=Template("hello", "en", ("Ana",))))
    assert ready.vendor.taken["s1:3:0"]["data"]["template"] == {"name": "hello", "language": "en", "texts": ["Ana"]}


# --- in -------------------------------------------------------------------------------------


def test_a_message_comes_in() -> None:
    """With all that a message may have, in the JSON form of `Incoming`."""
    came = Incoming(
        "customer-1",
        "m1",
        "Hello",
        datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        attachments=(Attachment("image", url="https://example.com/a.png"),),
        name="Ana",
        choice="yes",
        reply_to="m0",
    )
    body = _body(came)
    channel = _channel()
    headers = signed(KEY, "w1", NOW, body)
    channel.verify(headers, body)
    assert list(channel.parse(headers, body)) == [came]


def test_the_headers_say_what_the_body_leaves_out() -> None:
    """The smallest message has an address and a text."""
    body = _body({"address": "c1", "text": "Hi"})
    assert list(_channel().parse(signed(KEY, "w1", NOW, body), body)) == [
        Incoming("c1", "w1", "Hi", from_ms(NOW * 1000))
    ]
    blank = _body({"address": "c1", "id": " "})  # it would be another one at each delivery
    assert [item.id for item in _channel().parse({"webhook-id": "w1"}, blank) if isinstance(item, Incoming)] == ["w1"]


def test_a_receipt_comes_in() -> None:
    """Receipts name the message by the id that the receiver gave, or by the key."""
    told = Receipt("r-1", "delivered", from_ms(NOW * 1000), idempotency_key="s1:3:0")
    assert list(_channel().parse({}, _body(told, "receipt"))) == [told]


def test_another_type_is_left_out() -> None:
    """A system may send more than is understood here."""
    assert list(_channel().parse({}, _body({}, "typing"))) == []


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"address": 1},
        {"address": "", "text": "x"},
        {"address": " ", "text": "x"},
        {"address": "c" * 257, "text": "x"},
        {"address": "c", "id": "é" * 129},
        {"address": "c", "at": "today"},
        {"address": "c", "kind": "x"},
    ],
)
def test_a_message_that_is_none_is_refused(data: Any) -> None:
    """The error says where."""
    with pytest.raises(BadPayloadError, match=r"\[BadPayloadError\] channel webhook: data: "):
        _channel().parse({"webhook-id": "w1"}, _body(data))


@pytest.mark.parametrize("early", [-300, 0, 300])
def test_a_signature_holds_for_some_minutes(early: int) -> None:
    """Clocks differ; names of headers count in any case."""
    headers = {name.title(): value for name, value in signed(KEY, "w1", NOW + early, b"{}").items()}
    _channel().verify(headers, b"{}")


@pytest.mark.parametrize("early", [-61, 61, -(10**9)])
def test_an_old_request_is_refused(early: int) -> None:
    """Nobody plays a request again that was once signed well."""
    with pytest.raises(BadSignatureError, match="more than 60 seconds from now"):
        _channel(tolerance=60).verify(signed(KEY, "w1", NOW + early, b"{}"), b"{}")


@pytest.mark.property
@given(st.data())
def test_a_changed_request_is_refused(data: st.DataObject) -> None:
    """Whatever changes, id, time stamp, body or signature: the check fails."""
    body = data.draw(st.binary(max_size=20))
    headers = signed(KEY, "w1", NOW, body)
    name = data.draw(st.sampled_from(["body", *headers]))
    if name == "body":
        body = data.draw(st.binary(max_size=20).filter(lambda other: other != body))
    else:
        headers[name] = data.draw(st.text(max_size=60).filter(lambda other: other != headers[name]))
    if name == "webhook-signature" and signed(KEY, "w1", NOW, body)[name] in headers[name].split():
        return
    with pytest.raises(BadSignatureError):
        _channel().verify(headers, body)


def test_one_good_signature_of_several_is_enough() -> None:
    """So a secret is replaced without a gap, on either side."""
    headers = signed(b"new", "w1", NOW, b"{}")
    headers["webhook-signature"] += " v2,other " + signed(KEY, "w1", NOW, b"{}")["webhook-signature"]
    _channel([SECRET]).verify(headers, b"{}")
    _channel(["new", "older"]).verify(headers, b"{}")
    with pytest.raises(BadSignatureError):
        _channel("older").verify(headers, b"{}")


@pytest.mark.parametrize("secret", ["", [], "whsec_", "whsec_?", ["good", ""]])
def test_a_secret_that_is_none_is_refused(secret: Any) -> None:
    """Before anything is sent or taken in, and without showing it."""
    with pytest.raises(ValueError, match="secret"):
        _channel(secret)


@pytest.mark.parametrize("url", ["", "example.com", "ftp://example.com", "https://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """It may hold a password, so it is not shown."""
    with pytest.raises(ValueError, match="begins with https://"):
        WebhookChannel(url, "secret")


def test_a_tolerance_below_nothing_is_refused() -> None:
    """With it, every request would be too old."""
    with pytest.raises(ValueError, match="tolerance is -1"):
        WebhookChannel("https://example.com", "secret", tolerance=-1)
