"""Into the inbox: an input with its key, checked, and durable before whoever brought it is told so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal
from uuid import uuid4  # noqa: TID251 - an edge: a message without an id gets one for good

import msgspec

from falai.channel.port import Attachment, Incoming, Receipt
from falai.host.errors import OverloadedError
from falai.host.inputs import HumanMessage, arrival_body, check_id, check_name
from falai.host.ledger.port import Arrival, Kind, Limits, Place, TakenIn, Work
from falai.host.ledger.sending import receipt
from falai.host.ledger.taking import room, take_in
from falai.host.settings import Settings
from falai.session.dates import iso, read_date, to_ms
from falai.session.inputs import Event, Input, Message, Start
from falai.session.jsontext import json_text
from falai.turn.given import read_given, read_id, read_text

__all__ = [
    "Intake", "Received", "Whose", "arrival_of", "arrival_of_person", "noted_receipt", "overloaded", "read_person",
    "session_of",
]  # fmt: skip

_LATER_MS: Final = {"session": 1_000, "host": 5_000}


@dataclass(frozen=True, slots=True)
class Received:
    """What became of an input: its key within its session, and whether it was new or had come before."""

    key: str
    new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Whose:
    """What an input tells of its session; what is `None` leaves the session as it is.

    Raises `ValueError` for what is no text, or too long.
    """

    customer: str | None = None
    channel: str | None = None
    address: str | None = None

    def __post_init__(self) -> None:
        for told in fields(self):
            if getattr(self, told.name) is not None:
                check_name(read_text(getattr(self, told.name), told.name), told.name)


class Intake:
    """Takes inputs in, as long as not too many wait.

    Those of a session are counted each time. Those of all sessions may be a hundred thousand, and to count
    them is to walk over them; so they are counted again only when a tenth of the room has been used: each
    of ten processes may do that, and together they keep the limit.
    """

    def __init__(self, agent: str, limits: Limits) -> None:
        self._agent = agent
        self._limits = limits
        self._uncounted = 0

    def take_in(self, place: Place, arrival: Arrival, *, now_ms: int) -> Work[TakenIn]:
        """The arrival in the inbox of its place, or what is full."""
        limit = self._limits.host
        if limit is None or self._uncounted > 0:
            self._uncounted -= 1
            limits = Limits(session=self._limits.session, host=None)
            return (yield from take_in(place, (arrival,), now_ms=now_ms, limits=limits))
        taken = yield from take_in(place, (arrival,), now_ms=now_ms, limits=self._limits)
        self._uncounted = (yield from room(self._agent, limit=limit)) // 10
        return taken


def arrival_of(
    session_id: str, input: object, *, now_ms: int, burst_ms: int, attachments: Sequence[Attachment], whose: Whose
) -> Arrival:
    """The input as a row. Raises `ValueError` for what is no input (T-1.3), or a wake: the host's own matter."""
    read = read_given(session_id, Message(input) if isinstance(input, str) else input).input
    match read:
        case Message():
            return _message(read, now_ms, burst_ms, attachments, whose)
        case Event():
            kind: Kind = "event"
            key = f"event:{read.name}:{read.key}"
        case Start():
            kind, key = "start", f"start:{read.flow}:{read.key}"
        case _:
            raise ValueError("a wake comes from the host's own timers; give it a Message, an Event or a Start")
    if attachments:
        raise ValueError("attachments come with a message; an event or a start has its payload")
    return _arrival(key, kind, read, whose)


def read_person(text: str, id: str, by: str | None) -> HumanMessage:
    """A message of a person of the team. Raises `ValueError` for what is no text, or a blank id."""
    return HumanMessage(read_text(text, "text"), read_id(id, "id"), None if by is None else read_text(by, "by"))


def arrival_of_person(message: HumanMessage) -> Arrival:
    """The message as a row."""
    return _arrival(f"human:{message.id}", "human", message, Whose())


def session_of(channel: str, item: Incoming) -> str:
    """The session of whoever writes by a channel."""
    return f"{channel}:{item.address}"


def noted_receipt(agent: str, channel: str, item: Receipt, tenant: str | None) -> Work[Place | None]:
    """What a vendor tells of a message, for the ledger."""
    return receipt(
        agent,
        channel=channel,
        provider_id=item.provider_id,
        status=item.status,
        error=item.error,
        key=item.idempotency_key,
        at=to_ms(item.at),
        tenant=tenant,
    )


def overloaded(place: Place, full: Literal["session", "host"], settings: Settings) -> OverloadedError:
    """The answer to an input for which there is no room."""
    limit = settings.session_limit if full == "session" else settings.host_limit
    return OverloadedError(place.session, full, limit, _LATER_MS[full])


def _message(message: Message, now_ms: int, burst_ms: int, attachments: Sequence[Attachment], whose: Whose) -> Arrival:
    """A message gets what it lacks for good: an id, so that a repetition makes the same keys, and its time (B-9.2)."""
    id = message.id if message.id and message.id.strip() else f"host-{uuid4().hex}"
    written = read_date(message.at)
    at = iso(now_ms if written is None else min(written, now_ms))
    whole = Message(message.text, id=id, at=at)
    return _arrival(
        f"message:{id}", "message", whole, whose, attachments=_attached(attachments), not_before=now_ms + burst_ms
    )


def _attached(attachments: Sequence[Attachment]) -> str:
    """As the inbox keeps them. Raises `ValueError` for what is none: no turn could read it."""
    try:
        plain = msgspec.to_builtins(list(attachments))
        msgspec.convert(plain, list[Attachment])
        return json_text(plain)
    except RecursionError as error:
        raise ValueError("attachments: they are nested too deeply") from error
    except (TypeError, msgspec.ValidationError) as error:
        raise ValueError(f"attachments: {error}") from error


def _arrival(key: str, kind: Kind, input: Input | HumanMessage, whose: Whose, **more: Any) -> Arrival:
    return Arrival(
        check_id(key, f"the key of this {kind}"),
        kind,
        arrival_body(input),
        customer=whose.customer,
        channel=whose.channel,
        address=whose.address,
        **more,
    )
