"""Messages to WhatsApp, against a server that checks them as Meta does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channel.loopback import Answer, Fault, json_answer
from channel.made import FEW, Made, made, message
from channel.whatsapp_server import WhatsAppServer, error
from falai.channel import Attachment, Button, ChannelError, Outgoing, Receipt, Sent, Template

IMAGE = Attachment("image", url="https://example.com/a.png")
VOICE = Attachment("voice", id="file-1")
PLACE = Attachment("location", data={"latitude": -23.5, "longitude": -46.6, "name": "Office"})


@pytest.fixture
def ready() -> Iterator[Made]:
    with made("whatsapp") as found:
        yield found


def _buttons(count: int) -> tuple[Button, ...]:
    return tuple(Button(f"b{number}", f"Choice {number}") for number in range(1, count + 1))


async def _sent(ready: Made, *out: Outgoing) -> list[dict[str, Any]]:
    async with ready.channel:
        for each in out:
            for piece in ready.channel.split(each):
                await ready.channel.send(piece)
    return [{name: each[name] for name in (each["type"], "type")} for each in ready.vendor.sent]


async def test_a_text_goes_out(ready: Made) -> None:
    """With the key by which a receipt finds it; the vendor's id comes back."""
    async with ready.channel:
        assert await ready.channel.send(message(ready, "Hello *Ana*")) == Sent("wamid.1")
    assert ready.vendor.sent == [
        {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": "5511998765432",
            "type": "text",
            "text": {"body": "Hello *Ana*", "preview_url": False},
            "biz_opaque_callback_data": "s1:3:0",
        }
    ]


async def test_a_customer_without_a_number_is_reached_by_the_id(ready: Made) -> None:
    """As `to`, it would be taken for a number: accepted and never delivered."""
    ready.address = "BR.13491208655302741918"
    await _sent(ready, message(ready))
    assert (ready.vendor.sent[0].get("to"), ready.vendor.sent[0]["recipient"]) == (None, "BR.13491208655302741918")


async def test_media_goes_out_by_url_or_id(ready: Made) -> None:
    """Or by the slug of a `say` step; a caption where there may be one."""
    sent = await _sent(
        ready,
        message(ready, "Look", media=IMAGE),
        message(ready, "", media="menu"),
        message(ready, "", media=VOICE),
        message(ready, "", media=PLACE),
    )
    assert sent == [
        {"type": "image", "image": {"link": "https://example.com/a.png", "caption": "Look"}},
        {"type": "document", "document": {"link": "https://example.com/menu.pdf", "filename": "menu.pdf"}},
        {"type": "audio", "audio": {"id": "file-1"}},
        {"type": "location", "location": PLACE.data},
    ]


async def test_a_file_without_a_caption_comes_before_its_text(ready: Made) -> None:
    """A sound has no caption: two messages, each with a key of its own."""
    await _sent(ready, message(ready, "Listen", media=VOICE))
    assert [(each["type"], each["biz_opaque_callback_data"]) for each in ready.vendor.sent] == [
        ("audio", "s1:3:0"),
        ("text", "s1:3:0/2"),
    ]


async def test_up_to_three_buttons_are_buttons_and_more_are_a_list(ready: Made) -> None:
    """An image may stand above buttons; above a list it goes first."""
    few, many = _buttons(3), _buttons(10)
    sent = await _sent(ready, message(ready, "Which?", buttons=few, media=IMAGE))
    assert sent[0]["interactive"]["type"] == "button"
    assert sent[0]["interactive"]["header"] == {"type": "image", "image": {"link": "https://example.com/a.png"}}
    sent = await _sent(ready, message(ready, "Which?", buttons=many, media=IMAGE))
    assert [each["type"] for each in sent[1:]] == ["image", "interactive"]
    rows = [{"id": button.id, "title": button.title} for button in many]
    assert sent[2]["interactive"]["action"] == {"button": "…", "sections": [{"rows": rows}]}


async def test_buttons_stand_under_the_end_of_a_long_text(ready: Made) -> None:
    """A text with buttons is shorter than one without."""
    sent = await _sent(ready, message(ready, "So it is. " * 200 + "Which?", buttons=_buttons(2)))
    assert [each["type"] for each in sent] == ["text", "interactive"]
    assert sent[-1]["interactive"]["body"]["text"].endswith("Which?")


async def test_a_template_goes_out_alone(ready: Made) -> None:
    """Its text is for the transcript."""
    sent = await _sent(ready, message(ready, "x" * 9000, template=Template("hello", "pt_BR", ("Ana",)), media=IMAGE))
    parameters = [{"type": "text", "text": "Ana"}]
    components = [{"type": "body", "parameters": parameters}]
    template = {"name": "hello", "language": {"code": "pt_BR"}, "components": components}
    assert sent == [{"type": "template", "template": template}]


@pytest.mark.property
@FEW
@given(
    st.integers(0, 9000),
    st.sampled_from(["word ", "😀", "a", "é\u0301 ", "line\n"]),
    st.sampled_from([None, IMAGE, VOICE, PLACE]),
    st.integers(0, 10),
)
async def test_what_was_split_is_taken(size: int, sign: str, media: Attachment | None, buttons: int) -> None:
    """Whatever length, media and buttons: the server takes every piece, in order, and no word is lost."""
    text = (sign * size)[:size] + "end"
    with made("whatsapp") as ready:
        sent = await _sent(ready, message(ready, text, media=media, buttons=_buttons(buttons)))
    told = "".join(
        each.get("text", each.get("interactive", {"body": each}).get("body", {})).get("body", "")
        or each.get("interactive", {}).get("body", {}).get("text", "")
        or each.get("image", {}).get("caption", "")
        for each in sent
    )
    assert "".join(told.split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"text": "x" * 4097}, "a text has at most 4096 characters; this one has 4097"),
        ({"text": "x" * 1025, "media": IMAGE}, "a caption has at most 1024"),
        ({"media": VOICE}, "a message of kind audio has no text"),
        ({"buttons": _buttons(11)}, "at most 10 buttons; this one has 11"),
        ({"buttons": (Button("b", "x" * 21),)}, "the title of a button has at most 20"),
        ({"buttons": (*_buttons(3), Button("b", "x" * 25))}, "the title of a row .* has at most 24"),
        ({"buttons": _buttons(1), "text": ""}, "buttons stand under a text"),
        ({"media": Attachment("reaction"), "text": ""}, "of kind reaction cannot be sent"),
        ({"media": Attachment("image"), "text": ""}, "a file needs a url, or the id"),
    ],
)
async def test_what_whatsapp_would_refuse_is_not_sent(ready: Made, more: dict[str, Any], why: str) -> None:
    """The error says what is too much, and nothing goes out."""
    with pytest.raises(ChannelError, match=why) as caught:
        await ready.channel.send(message(ready, **more))
    assert (caught.value.retryable, ready.vendor.seen) == (False, [])


@pytest.mark.parametrize(
    ("answer", "retryable", "pause"),
    [
        (error(130429, "Rate limit hit", 429), True, None),
        (error(130429, "Rate limit hit", 429, headers={"retry-after": "2"}), True, 2000),
        (error(80007, "Rate limit issues"), True, None),
        (error(4, "Application request limit reached", 403), True, None),
        (error(131056, "Pair rate limit hit"), True, 6000),
        (error(131016, "Service unavailable", 500), True, None),
        (error(131000, "Something went wrong", 500), True, None),
        (error(7, "Something new", 400, is_transient=True), True, None),
        (error(131047, "Re-engagement message"), False, None),
        (error(131026, "Message undeliverable"), False, None),
        (error(131049, "Not delivered to maintain healthy engagement"), False, None),
        (error(190, "Access token has expired", 401), False, None),
        (error(132001, "Template does not exist", 404), False, None),
        (error(368, "Temporarily blocked for policies violations", 403), False, None),
    ],
)
async def test_the_code_says_what_helps(ready: Made, answer: Answer, retryable: bool, pause: int | None) -> None:
    """Meta's codes decide over the status; one that came with a code was not carried out."""
    ready.vendor.faults.append(Fault(answer))
    async with ready.channel:
        with pytest.raises(ChannelError) as caught:
            await ready.channel.send(message(ready))
    said = caught.value
    assert (said.retryable, said.retry_after_ms, said.maybe_delivered) == (retryable, pause, False)
    assert f"WhatsApp answered {answer.status}, code {said.code}: (#{said.code}) " in str(said)


async def test_too_much_for_one_customer(ready: Made) -> None:
    """The pair limit of the server, and a customer whom it does not concern."""
    ready.vendor.pair_limit = 1
    async with ready.channel:
        await ready.channel.send(message(ready))
        with pytest.raises(ChannelError, match="131056") as caught:
            await ready.channel.send(message(ready, idempotency_key="s1:3:1"))
        await ready.channel.send(Outgoing("s2", "5511900000000", "Hi", "s2:1:0"))
    assert caught.value.retry_after_ms == 6000


async def test_details_of_an_error_are_told(ready: Made) -> None:
    """Meta's `details` say more than its message."""
    ready.address = "not-a-number"
    with pytest.raises(ChannelError, match="code 100: The parameter to is a phone number"):
        await ready.channel.send(message(ready))
    await ready.channel.aclose()


async def test_a_receipt_finds_the_message_whose_answer_was_lost(ready: Made) -> None:
    """The key stands in the receipt, so the host need not send it again."""
    ready.vendor.faults.append(Fault(Answer(0), after=True))
    async with ready.channel:
        with pytest.raises(ChannelError) as caught:
            await ready.channel.send(message(ready))
    assert caught.value.maybe_delivered
    headers, body = ready.vendor.status(1, "delivered")
    ready.channel.verify(headers, body)
    (receipt,) = ready.channel.parse(headers, body)
    assert isinstance(receipt, Receipt)
    assert (receipt.provider_id, receipt.status, receipt.idempotency_key) == ("wamid.1", "delivered", "s1:3:0")


async def test_a_key_that_is_too_long_for_whatsapp_is_left_out(ready: Made) -> None:
    """The message is worth more than its receipt."""
    await _sent(ready, message(ready, idempotency_key="k" * 513))
    assert "biz_opaque_callback_data" not in ready.vendor.sent[0]


async def test_a_file_is_downloaded(ready: Made) -> None:
    """In two steps, both with the token; a larger one than was asked for is not read to its end."""
    vendor: WhatsAppServer = ready.vendor
    vendor.files["file-1"] = b"x" * 1000
    async with ready.channel:
        assert await ready.channel.download(VOICE) == b"x" * 1000
        with pytest.raises(ChannelError, match="more than 999 bytes"):
            await ready.channel.download(VOICE, limit=999)
        vendor.files["file-1"] = b"tiny"
        assert await ready.channel.download(VOICE, limit=4) == b"tiny"
        with pytest.raises(ChannelError, match="Object does not exist"):
            await ready.channel.download(Attachment("image", id="gone"))
        with pytest.raises(ChannelError, match="without an id"):
            await ready.channel.download(PLACE)
        ready.vendor.faults.append(Fault(json_answer({"url": f"{vendor.url}/elsewhere"})))
        with pytest.raises(ChannelError, match="WhatsApp answered 400"):
            await ready.channel.download(VOICE)
