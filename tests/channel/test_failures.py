"""What a failed request means for the message, on every channel over HTTP."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channel.loopback import Answer, Fault
from channel.made import FEW, KINDS, Made, made, message
from falai.channel import (
    Attachment,
    Button,
    ChannelError,
    Outgoing,
    Sent,
    TelegramChannel,
    Template,
    WebhookChannel,
    WhatsAppChannel,
)
from falai.session.dates import from_ms


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def ready(kind: str) -> Iterator[Made]:
    with made(kind) as found:
        yield found


async def _failure(ready: Made, **more: Any) -> ChannelError:
    async with ready.channel:
        with pytest.raises(ChannelError) as caught:
            await ready.channel.send(message(ready, **more))
    return caught.value


async def test_a_server_that_is_down_has_not_got_the_message(kind: str) -> None:
    """It may be repeated, and cannot have arrived."""
    with made(kind) as ready:
        pass
    error = await _failure(ready)
    assert (error.retryable, error.maybe_delivered, error.channel) == (True, False, kind)
    assert "was not reached" in str(error)


@pytest.mark.parametrize("after", [False, True])
async def test_a_connection_that_breaks_may_have_carried_the_message(ready: Made, after: bool) -> None:
    """Whether it did is what nobody can know; the error says so."""
    ready.vendor.faults.append(Fault(Answer(0), after=after))
    error = await _failure(ready)
    assert (error.retryable, error.maybe_delivered) == (True, True)


async def test_a_time_out_may_have_delivered(kind: str) -> None:
    """The server took the message and answered too late."""
    with made(kind, timeout=0.2) as ready:
        ready.vendor.faults.append(Fault(Answer(200), after=True, pause=0.6))
        error = await _failure(ready)
    assert (error.retryable, error.maybe_delivered) == (True, True)


@pytest.mark.parametrize(("status", "maybe"), [(500, True), (502, True), (503, False), (504, True)])
async def test_a_server_in_trouble_is_asked_again_later(ready: Made, status: int, maybe: bool) -> None:
    """A bare 500, 502 or 504 may come from behind the message; 503 says that it was not taken."""
    ready.vendor.faults.append(Fault(Answer(status, b"<html>oops</html>")))
    error = await _failure(ready)
    assert (error.retryable, error.maybe_delivered, error.code) == (True, maybe, status)


@pytest.mark.parametrize(
    ("header", "pause"),
    [({"retry-after": "7"}, 7000), ({"retry-after": "soon"}, None), ({}, None), ({"retry-after": "-3"}, None)],
)
async def test_a_rate_limit_says_when_to_come_back(ready: Made, header: dict[str, str], pause: int | None) -> None:
    """`Retry-After` is passed on; what is unreadable is no pause."""
    ready.vendor.faults.append(Fault(Answer(429, b"{}", header)))
    error = await _failure(ready)
    assert (error.retryable, error.retry_after_ms, error.maybe_delivered) == (True, pause, False)


async def test_a_rate_limit_may_name_a_date(kind: str) -> None:
    """The pause is from the channel's clock; a date that has passed is no pause at all."""
    with made(kind, clock=lambda: from_ms(1_750_000_000_000)) as ready:
        for date in ("Sun, 15 Jun 2025 15:06:47 GMT", "Sun, 15 Jun 2025 15:00:00 GMT"):
            ready.vendor.faults.append(Fault(Answer(429, b"{}", {"retry-after": date})))
        assert [(await _failure(ready)).retry_after_ms for _ in range(2)] == [7000, 0]


async def test_an_answer_without_an_end_is_not_read_to_it(ready: Made) -> None:
    """The status said that the message was taken."""
    ready.vendor.faults.append(Fault(Answer(200, b" " * 3_000_000), after=True))
    async with ready.channel:
        assert isinstance(await ready.channel.send(message(ready)), Sent)


async def test_an_answer_that_breaks_off_behind_a_good_status_is_a_success(ready: Made) -> None:
    """The message was taken, only its id is lost; behind any other status nobody knows."""
    for status in (200, 500):
        ready.vendor.faults.append(Fault(Answer(status, b"{", {"content-length": "1000", "connection": "close"})))
    async with ready.channel:
        assert isinstance(await ready.channel.send(message(ready)), Sent)
        with pytest.raises(ChannelError) as caught:
            await ready.channel.send(message(ready))
    assert (caught.value.retryable, caught.value.maybe_delivered) == (True, True)


async def test_a_pause_is_at_most_a_day(ready: Made) -> None:
    """A vendor that is wrong about it shall not silence a session for good."""
    ready.vendor.faults.append(Fault(Answer(429, b"{}", {"retry-after": "999999999"})))
    assert (await _failure(ready)).retry_after_ms == 86_400_000


async def test_what_has_no_json_form_is_told(ready: Made) -> None:
    """An attachment of the host's own making holds half a sign, or an object."""
    place = Attachment("location", data={"latitude": object(), "longitude": 1})
    error = await _failure(ready, text="", media=place)
    assert (error.retryable, "no JSON form" in str(error)) == (False, True)


@pytest.mark.property
@FEW
@given(st.data())
async def test_sending_raises_nothing_else(data: st.DataObject) -> None:
    """Whatever the message, it is sent or the error is a `ChannelError`."""
    texts = st.text(max_size=8) | st.text(max_size=8).map(lambda text: text * 700)
    plain = st.dictionaries(st.sampled_from(["latitude", "longitude", "name"]), st.floats() | st.text(max_size=3))
    kinds = st.sampled_from(["image", "voice", "sticker", "location", "contact", "reaction", "other"])
    files = st.builds(Attachment, kinds, url=st.none() | texts, id=st.none() | texts, data=plain)
    out = data.draw(
        st.builds(
            Outgoing,
            st.just("s"),
            st.sampled_from(["4711", "", "BR.12", "é"]),
            texts,
            st.text(max_size=5),
            media=st.none() | files | st.sampled_from(["menu", "gone"]),
            buttons=st.lists(st.builds(Button, texts, texts), max_size=4).map(tuple),
            template=st.none() | st.builds(Template, texts, texts, st.lists(texts, max_size=2).map(tuple)),
        )
    )
    with made(data.draw(st.sampled_from(sorted(KINDS)))) as ready:
        async with ready.channel:
            for piece in ready.channel.split(out):
                with suppress(ChannelError):
                    assert isinstance(await ready.channel.send(piece), Sent)


@pytest.mark.parametrize("status", [301, 400, 401, 403, 404, 410])
async def test_what_a_server_refuses_is_not_repeated(ready: Made, status: int) -> None:
    """Nor is a redirect followed: the secret would go along."""
    ready.vendor.faults.append(Fault(Answer(status, b"no", {"location": f"{ready.vendor.url}/elsewhere"})))
    error = await _failure(ready)
    assert (error.retryable, error.retry_after_ms, error.maybe_delivered) == (False, None, False)
    assert len(ready.vendor.seen) == 1


@pytest.mark.parametrize("body", [b"", b"[]", b"\xff", b'{"messages": 1, "result": 2, "id": 3}'])
async def test_a_success_without_an_id_is_a_success(ready: Made, body: bytes) -> None:
    """The message is not sent a second time for a body that nobody can read."""
    ready.vendor.faults.append(Fault(Answer(200, body), after=True))
    async with ready.channel:
        assert isinstance(await ready.channel.send(message(ready)), Sent)


async def test_a_message_of_nothing_is_sent_by_not_sending(ready: Made) -> None:
    """Vendors refuse an empty text; a turn may say one."""
    async with ready.channel:
        assert await ready.channel.send(message(ready, text=" \n")) == Sent()
    assert ready.vendor.seen == []


async def test_an_unknown_slug_is_told(ready: Made) -> None:
    """The author's mistake names the slug and the place to put it."""
    error = await _failure(ready, media="price-list")
    assert not error.retryable
    assert 'no media has the slug "price-list": add it to media=' in str(error)


async def test_a_closed_channel_opens_again(ready: Made) -> None:
    """Closing gives connections back and ends nothing."""
    async with ready.channel:
        await ready.channel.send(message(ready))
    await ready.channel.send(message(ready, idempotency_key="s1:3:1"))
    await ready.channel.aclose()
    assert len(ready.vendor.seen) == 2


@pytest.mark.parametrize("fault", [Answer(0), Answer(401, b"secret"), Answer(503), None])
async def test_no_secret_is_told(
    kind: str, fault: Answer | None, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not in a log line of any library, nor in an error with all that hangs on it, nor in a `repr`."""
    caplog.set_level(logging.DEBUG)
    with made(kind) as ready:
        echo = " ".join(ready.secrets).encode()
        if fault is not None:
            body = b'{"ok": false, "description": "%s", "error": {"message": "%s"}}' % (echo, echo)
            ready.vendor.faults.append(Fault(fault._replace(body=body)))
        told = [repr(ready.channel), str(ready.channel)]
        try:
            await ready.channel.send(message(ready))
        except ChannelError as error:
            told += [repr(error), *traceback.format_exception(error), repr(vars(error))]
            told += [repr(error.__context__), repr(error.__cause__)]
        await ready.channel.aclose()
    told += [record.getMessage() + repr(record.args) for record in caplog.records]
    told += capsys.readouterr()
    assert [secret for secret in ready.secrets if any(secret in each for each in told)] == []


@pytest.mark.parametrize("url", ["", "nowhere", "ftp://example.com", "https://", "http://[::1"])
def test_an_address_that_is_none_makes_no_channel(url: str) -> None:
    """It is told when the program starts, and not by every message."""
    for make in (
        lambda: TelegramChannel("1:token", base_url=url),
        lambda: WhatsAppChannel("1", "token", base_url=url),
        lambda: WebhookChannel(url, "secret"),
    ):
        with pytest.raises(ValueError, match=r"begins with https|Invalid IPv6"):
            make()


async def test_an_address_that_is_none_is_no_matter_of_time() -> None:
    """A misspelt one is told at once, as is a token with a line break, and not tried again and again."""
    with made("whatsapp") as ready:
        broken = WhatsAppChannel("1", "first-line\nsecond-line", base_url=ready.vendor.url)
        for channel in (TelegramChannel("1:token", base_url="http://h:port"), broken):
            async with channel:
                with pytest.raises(ChannelError, match="could not be made") as caught:
                    await channel.send(Outgoing("s", "1", "Hi", "k"))
            assert (caught.value.retryable, caught.value.maybe_delivered) == (False, False)
            assert "-line" not in str(caught.value)
    assert ready.vendor.seen == []
