"""A signed webhook for a system of one's own: messages in and out as JSON, by the rules of Standard Webhooks.

Each request has the headers `webhook-id`, `webhook-timestamp` (seconds since 1970) and
`webhook-signature`: `v1,` and the base64 of an HMAC with SHA-256 over the id, the time stamp and the
body, joined by dots. The body is `{"type": "message" or "receipt", "timestamp": …, "data": {…}}`; data
is an `Incoming` or a `Receipt` on the way in, an `Outgoing` on the way out, in their JSON form.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, Literal
from urllib.parse import quote, urlsplit

import msgspec

from falai.channel.http import UNSURE, HttpChannel, Reply, check_url, is_empty
from falai.channel.port import (
    Attachment,
    BadPayloadError,
    BadSignatureError,
    Incoming,
    Outgoing,
    Receipt,
    Sent,
)
from falai.channel.reading import header, object_of, same, signature, text_at
from falai.session.dates import from_ms, iso, to_ms

__all__ = ["WebhookChannel"]

_LONGEST: Final = 256  # bytes of what a host finds its rows by
_STAMP: Final = re.compile("[0-9]{1,11}")
_LATER: Final = frozenset({408, 409, 425, 429})


class _Message(msgspec.Struct, rename="camel"):
    """An `Incoming` of which the headers say what is left out."""

    address: str
    text: str = ""
    id: str | None = None
    at: datetime | None = None
    kind: Literal["text", "button", "attachment"] | None = None
    attachments: tuple[Attachment, ...] = ()
    name: str | None = None
    user: str | None = None
    choice: str | None = None
    reply_to: str | None = None


class WebhookChannel(HttpChannel):
    """Sends messages to a URL and takes them in, signed both ways.

    `secret` is text, or `whsec_` and the key in base64; of several, all sign and each is accepted, so
    that one can be replaced without a gap. What comes in may be `tolerance` seconds old, or early. The
    receiver drops what has a `webhook-id` that it has seen: that is the idempotency key.

    Raises `ImportError` when the extra `channels` is missing, `ValueError` for an address, a secret
    or a tolerance that is none.
    """

    def __init__(
        self,
        url: str,
        secret: str | Sequence[str],
        *,
        name: str = "webhook",
        tolerance: int = 300,
        media: Mapping[str, Attachment] | None = None,
        timeout: float = 10.0,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        secrets = (secret,) if isinstance(secret, str) else tuple(secret)
        check_url("the url of a webhook", url)
        hidden = (*secrets, *(value for value in (urlsplit(url).password, urlsplit(url).query) if value))
        super().__init__(name, secrets=hidden, timeout=timeout, media=media, clock=clock)
        self._url = url
        self._keys = [_key(each) for each in secrets]
        self._tolerance = tolerance
        if tolerance < 0:
            raise ValueError(f"tolerance is {tolerance}: write the seconds that a request may be old, 0 or more")
        if not self._keys:
            raise ValueError("a webhook needs a secret, or nobody could tell its messages from a stranger's")

    async def send(self, out: Outgoing) -> Sent:
        """Posts the message; with the same idempotency key again, the receiver knows it."""
        if is_empty(out):
            return Sent()
        message = msgspec.structs.replace(out, media=self.media_of(out))
        stamp = to_ms(self._clock()) // 1000
        envelope = {"type": "message", "timestamp": iso(stamp * 1000), "data": message}
        body = self.encoded(envelope)
        key = quote(out.idempotency_key, safe="-_.~:/")  # a header is ASCII, and the key whatever the session's id is
        signed = self._signature(key, str(stamp), body)
        headers = {"webhook-id": key, "webhook-timestamp": str(stamp), "webhook-signature": signed}
        reply = await self.post(self._url, body, headers)
        if not reply.ok:
            raise self._refused(reply)
        return Sent(text_at(reply.json(), "id") or out.idempotency_key)

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:
        key, stamp, given = (header(headers, f"webhook-{name}") for name in ("id", "timestamp", "signature"))
        if not (key and stamp and given):
            raise BadSignatureError(self.name, "webhook-id, webhook-timestamp or webhook-signature is missing")
        if not _STAMP.fullmatch(stamp):
            raise BadSignatureError(self.name, "webhook-timestamp is no number of seconds")
        if abs(to_ms(self._clock()) // 1000 - int(stamp)) > self._tolerance:
            raise BadSignatureError(self.name, f"webhook-timestamp is more than {self._tolerance} seconds from now")
        expected = self._signature(key, stamp, body).split()
        if not any(same(one, other) for one in given.split() for other in expected):
            raise BadSignatureError(self.name, "webhook-signature is not that of this body")

    def parse(self, headers: Mapping[str, str], body: bytes) -> Sequence[Incoming | Receipt]:
        """`id` and `at` of a message may be left out: then they are those of the headers. Other types are left out."""
        value = object_of(self.name, body)
        try:
            match value.get("type"):
                case "message":
                    message = msgspec.convert(value.get("data"), _Message, strict=True)
                    return (self._incoming(message, headers),)
                case "receipt":
                    receipt = msgspec.convert(value.get("data"), Receipt, strict=True)
                    return (msgspec.structs.replace(receipt, at=_utc(receipt.at)),)
                case _:
                    return ()
        except (msgspec.ValidationError, OverflowError) as error:
            raise BadPayloadError(self.name, f"data: {error}") from None

    def _incoming(self, message: _Message, headers: Mapping[str, str]) -> Incoming:
        given = message.id or ""
        key = given if given.strip() else header(headers, "webhook-id")
        if not key.strip() or not message.address.strip():
            raise BadPayloadError(self.name, "data: `address` is blank, or there is neither `id` nor webhook-id")
        if max(len(name.encode(errors="replace")) for name in (key, message.address)) > _LONGEST:
            raise BadPayloadError(self.name, f"data: `address` or `id` has more than {_LONGEST} bytes")
        stamp = header(headers, "webhook-timestamp")
        at = message.at or (from_ms(int(stamp) * 1000) if _STAMP.fullmatch(stamp) else self._clock())
        said = {name: getattr(message, name) for name in ("attachments", "name", "user", "choice", "reply_to")}
        kind = message.kind or ("attachment" if message.attachments and not message.text else "text")
        return Incoming(message.address, key, message.text, _utc(at), kind, **said)

    def _signature(self, key: str, stamp: str, body: bytes) -> str:
        signed = f"{key}.{stamp}.".encode(errors="replace") + body
        return " ".join(f"v1,{base64.b64encode(signature(each, signed)).decode()}" for each in self._keys)

    def _refused(self, reply: Reply) -> Exception:
        later = reply.status in _LATER or reply.status >= 500
        return self.failed(
            f"the receiver answered {reply.status}",
            retryable=later,
            retry_after_ms=self.retry_after_ms(reply.headers) if later else None,
            maybe_delivered=reply.status in UNSURE,
            code=reply.status,
        )


def _key(secret: str) -> bytes:
    if not secret.startswith("whsec_"):
        key = secret.encode()
    else:
        try:
            key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        except binascii.Error:
            raise ValueError("a secret that begins with whsec_ goes on in base64; this one does not") from None
    if not key:
        raise ValueError("a webhook's secret is empty")
    return key


def _utc(at: datetime) -> datetime:
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
