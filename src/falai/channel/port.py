"""What every channel promises: plain data in and out, and which errors a host has to expect.

What a customer sends comes in by `verify`, then `parse`. What the agent says goes out by `split`,
once, then `send`: one request to the vendor for each call. A channel runs no server and keeps
nothing: whoever mounts it stores what `parse` gives, and a host repeats what `send` did not finish.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Literal, Protocol, Self

import msgspec

from falai.errors import FalaiError

__all__ = [
    "Attachment", "BadPayloadError", "BadSignatureError", "Button", "Channel", "ChannelError", "Incoming", "Outgoing",
    "Receipt", "Sent", "Template",
]  # fmt: skip

AttachmentKind = Literal[
    "image", "audio", "voice", "video", "document", "sticker", "location", "contact", "reaction", "other"
]


class Attachment(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is no text: a file, by its `url` or by the vendor's `id` of it, or the `data` of what is none.

    `data` of a location: `latitude`, `longitude`, and `name` and `address` when known; of a contact:
    `name` and `phones`; of a reaction: `emoji` (empty when it was taken back) and `message`, the id of
    what it is about. Of `other`: `type`, the vendor's name of it, and its `content`.
    """

    kind: AttachmentKind
    url: str | None = None
    id: str | None = None
    mime: str | None = None
    caption: str | None = None
    filename: str | None = None
    data: dict[str, Any] = {}


class Incoming(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Something came from a customer.

    `address` is where an answer goes. `id` is the vendor's, equal in every delivery of the same
    thing. `text` is what was written: a caption too, and the title of a `button` that was pressed,
    whose own id is `choice`. It is empty where there are only attachments. `at` is when, UTC.
    `name` is what the customer is called there, `user` the vendor's own id of the person, which stays
    when the address changes; `reply_to` is the id of the message that is answered.
    """

    address: str
    id: str
    text: str
    at: datetime
    kind: Literal["text", "button", "attachment"] = "text"
    attachments: tuple[Attachment, ...] = ()
    name: str | None = None
    user: str | None = None
    choice: str | None = None
    reply_to: str | None = None


class Receipt(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """The vendor tells what became of a message. Receipts may come late, twice and in any order.

    `idempotency_key` is that of the `Outgoing`, where the vendor hands it back: it tells that a message
    did go out whose `send` ended without an answer.
    """

    provider_id: str
    status: Literal["sent", "delivered", "read", "failed"]
    at: datetime
    error: str | None = None
    idempotency_key: str | None = None


class Button(msgspec.Struct, frozen=True, rename="camel"):
    """A reply that the customer can tap: what stands on it, and what comes back as `Incoming.choice`."""

    id: str
    title: str


class Template(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A message that the vendor has approved, with the texts for its numbered places in order."""

    name: str
    language: str
    texts: tuple[str, ...] = ()


class Outgoing(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """One message to a customer: plain data, which an outbox can store.

    `media` is a file, or the slug of a `say` step (F-8.21), which the channel looks up among those it
    was made with. With a `template`, text, media and buttons are not sent: `text` is what the
    transcript shows, and what a channel without templates sends. `idempotency_key` is the same in
    every repetition, and no other message's.
    """

    session: str
    address: str
    text: str
    idempotency_key: str
    kind: Literal["ai", "verbatim", "human"] = "verbatim"
    media: Attachment | str | None = None
    buttons: tuple[Button, ...] = ()
    template: Template | None = None


class Sent(msgspec.Struct, frozen=True):
    """The vendor has taken the message, under this id; `None` when it gives none."""

    provider_id: str | None = None


class ChannelError(FalaiError):
    """A message was not sent, or nobody knows.

    `retryable` says whether the same message may go through later, not before `retry_after_ms` when
    that is a number. `maybe_delivered` says that it may have arrived all the same: a repetition may
    reach the customer twice where the vendor takes no idempotency key. `code` is the vendor's.
    Nothing of it holds a token.
    """

    def __init__(
        self,
        channel: str,
        what: str,
        *,
        retryable: bool,
        retry_after_ms: int | None = None,
        maybe_delivered: bool = False,
        code: int | str | None = None,
    ) -> None:
        self.channel = channel
        self.retry_after_ms = retry_after_ms
        self.maybe_delivered = maybe_delivered
        self.code = code
        self._retryable = retryable
        super().__init__(f"[ChannelError] channel {channel}: {what}")

    @property
    def retryable(self) -> bool:
        return self._retryable


class BadSignatureError(FalaiError):
    """A request does not prove that it comes from the vendor. Answer 401 and drop it."""

    def __init__(self, channel: str, why: str) -> None:
        self.channel = channel
        super().__init__(f"[BadSignatureError] channel {channel}: {why}")


class BadPayloadError(FalaiError):
    """A request that was signed well has a body that is none of the vendor's. Answer 400; another delivery is no help."""

    def __init__(self, channel: str, why: str) -> None:
        self.channel = channel
        super().__init__(f"[BadPayloadError] channel {channel}: {why}")


class Channel(Protocol):
    """A way to and from customers. One instance serves many tasks of one event loop.

    As a context manager it closes its connections on the way out; it opens them when it needs them.
    Subclass it: `send` is all that a channel must have, one without the rest takes nothing in.
    """

    name: str
    """What the host knows it by; part of no secret."""

    window_ms: int | None = None
    """How long after the customer's last message free text may be sent, in milliseconds; `None`: always."""

    @abstractmethod
    async def send(self, out: Outgoing) -> Sent:
        """Hands one message to the vendor, in one request.

        A message without text, media, buttons and template is taken as sent. Raises `ChannelError`,
        and nothing else; a text that is too long is one that is not `retryable`: see `split`.
        """
        ...

    def split(self, out: Outgoing) -> Sequence[Outgoing]:
        """The message as the messages that the vendor takes, in order; at least one.

        A text too long for one, or for the caption of its media, becomes several. The host does this
        before it stores them, and gives each an idempotency key of its own: what is repeated after an
        error is then never a piece that has arrived. Until it does, the first has the key of the whole,
        and those behind it that key, `/` and their number from 2.
        """
        return (out,)

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:  # noqa: ARG002  # for a subclass
        """Whether a request comes from the vendor. Names of headers count in any case.

        Raises `BadSignatureError`, and nothing else, whatever the bytes are.
        """
        raise BadSignatureError(self.name, "this channel takes nothing in")

    def parse(self, headers: Mapping[str, str], body: bytes) -> Sequence[Incoming | Receipt]:  # noqa: ARG002  # likewise
        """What a verified request says, in order; what is neither message nor receipt is left out.

        Raises `BadPayloadError`, and nothing else, whatever the bytes are.
        """
        return ()

    def answer_to_verification(self, query: Mapping[str, str]) -> str:  # noqa: ARG002  # likewise
        """What to answer, as plain text, when the vendor asks by GET whether the address is the host's.

        Raises `BadSignatureError` when the question does not know the secret word, or there is none.
        """
        raise BadSignatureError(self.name, "this channel has no handshake")

    def acknowledgement(self, headers: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG002  # likewise
        """The JSON to answer a verified request with, once all of it is stored; empty: the status 200 says it all.

        Raises nothing.
        """
        return b""

    async def download(self, attachment: Attachment, *, limit: int = 20_000_000) -> bytes:  # noqa: ARG002  # likewise
        """The bytes of a file that came in, at most `limit`; vendors keep them for some days.

        Raises `ChannelError`, also for what is no file or is larger.
        """
        raise ChannelError(self.name, "this channel keeps no files", retryable=False)

    async def aclose(self) -> None:
        """Closes the connections. The next `send` opens them again."""
        return  # without a body, mypy takes it for abstract in every subclass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()
