"""Out of the outbox, to the customer: the messages of a place in order, each until it is sent or set aside.

A message is sent at least once: the process may end between the channel's word and the ledger's. It
carries the same idempotency key each time, by which a channel that can tells a repetition.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Final

import msgspec

from falai.channel.port import Channel, ChannelError, Outgoing, Sent
from falai.errors import words_of
from falai.flow.durations import parse_duration
from falai.host.ledger.limiting import admit
from falai.host.ledger.port import OutMessage, Place, Work
from falai.host.ledger.sending import next_message, send_failed, send_later, sent
from falai.host.rates import rates_of
from falai.host.retrying import pause_of_message
from falai.host.setup import Setup
from falai.host.signals import Signals
from falai.host.trouble import others_cancelled, tell_trouble
from falai.log import line
from falai.model.redaction import without_secrets

__all__ = ["Deliveries"]

_LOG: Final = logging.getLogger("falai.host")
_PAUSE_S: Final = 1.0


class Deliveries:
    """Sends what waits in the outbox of a place."""

    def __init__(self, setup: Setup, signals: Signals) -> None:
        self._setup = setup
        self._signals = signals
        self._rates = rates_of(setup.name, setup.settings.rates)
        self._only = next(iter(setup.channels)) if len(setup.channels) == 1 else ""

    async def deliver(self, place: Place) -> bool:
        """Sends what is due of a place; whether there may be more. Raises what the ledger raises."""
        message = await self._setup.ledger.run(next_message(place))
        while message is not None and message.due_at <= self._setup.now_ms():
            await self._setup.checkpoint("sending")
            if self._signals.is_closing(place):
                return True
            if (at := await self._later(message)) is not None:
                self._signals.due("message", at)
                return False
            try:
                taken = await self._send(message)
            except Exception as error:  # noqa: BLE001  # whatever it is, the message is still there
                return await self._failed(message, error)
            await self._setup.checkpoint("sent")
            message = await self._note(message, taken)
            self._signals.changed(place)
        if message is not None:
            self._signals.due("message", message.due_at)
        return False

    async def _later(self, message: OutMessage) -> int | None:
        """When it comes back, if its channel has a rate and there is no token for it now."""
        rate = self._rates.get(message.channel or self._only)
        if rate is None:
            return None
        return await self._setup.ledger.run(admit(message, rate, now_ms=self._setup.now_ms()))

    async def _send(self, message: OutMessage) -> Sent:
        channel = self._channel(message)
        if channel is None:  # whoever looks at the transcript has it
            return Sent()
        longest = self._setup.settings.send_limit
        limit = asyncio.timeout(parse_duration(longest) / 1000)
        try:
            with others_cancelled():
                async with limit:
                    return _checked(channel, await channel.send(_outgoing(message)))
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimeoutError(f"the channel took longer than {longest} (send_limit)") from None

    async def _note(self, message: OutMessage, taken: Sent) -> OutMessage | None:
        """Notes that it was sent, as often as that fails: else the customer would get it anew each time."""
        while True:
            try:
                return await self._setup.ledger.run(_noted(message, taken, now_ms=self._setup.now_ms()))
            except Exception as error:  # noqa: BLE001  # the ledger's own: a disk that is full
                tell_trouble("note that a message was sent", error, message.place.session)
                await asyncio.sleep(_PAUSE_S)

    def _channel(self, message: OutMessage) -> Channel | None:
        if not self._setup.channels:
            return None
        if (channel := self._setup.channel(message.channel)) is not None:
            return channel
        known = ", ".join(sorted(self._setup.channels))
        raise ChannelError(
            message.channel or "(none)",
            f"the host has no such channel; it has {known}. Name one of them when you receive for this session",
            retryable=False,
        )

    async def _failed(self, message: OutMessage, error: Exception) -> bool:
        """A message that is tried again holds up those behind it; one that is set aside does not."""
        why = without_secrets(f"{type(error).__name__}: {words_of(error)}")[:2000]
        pause = pause_of_message(error, attempts=message.attempts, settings=self._setup.settings)
        _tell_failed(message, error, pause)
        now = self._setup.now_ms()
        if pause is None:
            await self._setup.ledger.run(send_failed(message, why, now_ms=now))
            self._signals.changed(message.place)
            return True
        await self._setup.ledger.run(send_later(message, why, now + pause))
        self._signals.due("message", now + pause)
        return False


def _checked(channel: Channel, taken: object) -> Sent:
    """What a channel gave, if it is what a ledger can keep."""
    try:
        return msgspec.convert(msgspec.to_builtins(taken), Sent)
    except (TypeError, msgspec.ValidationError) as error:
        what = "send gave no Sent with a text or None, as is expected; the message has probably arrived"
        raise ChannelError(channel.name, what, retryable=False, maybe_delivered=True) from error


def _noted(message: OutMessage, taken: Sent, *, now_ms: int) -> Work[OutMessage | None]:
    """Notes that it was sent; gives the next one of the place."""
    yield from sent(message, now_ms=now_ms, provider_id=taken.provider_id)
    return (yield from next_message(message.place))


def _outgoing(message: OutMessage) -> Outgoing:
    letter = msgspec.json.decode(message.body, type=Outgoing)
    address = message.address or message.place.session
    return msgspec.structs.replace(letter, idempotency_key=message.key, address=address)


def _tell_failed(message: OutMessage, error: Exception, pause: int | None) -> None:
    kind, session = type(error).__name__, message.place.session
    if pause is None:
        extra = line("message.set_aside", session=session, error=kind)
        _LOG.error("a message could not be sent and is set aside: %s", kind, extra=extra)
    else:
        extra = line("message.failed", session=session, error=kind, ms=pause)
        _LOG.warning("a message was not sent and is tried again in %d ms: %s", pause, kind, extra=extra)
