"""WhatsApp by Meta's Cloud API: one channel for one phone number of the business.

Meta takes no idempotency key: what is sent again after a lost answer may arrive twice. It hands back
what stands in `biz_opaque_callback_data`, so each receipt tells of which message it is, also of one
whose answer was lost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote

from falai.channel.http import DAY_MS, UNSURE, HttpChannel, Reply, check_url, is_empty
from falai.channel.port import (
    Attachment,
    BadPayloadError,
    BadSignatureError,
    ChannelError,
    Incoming,
    Outgoing,
    Receipt,
    Sent,
)
from falai.channel.reading import header, list_at, number_at, object_at, object_of, same, signature, text_at
from falai.channel.whatsapp_incoming import incoming_of, receipts_of
from falai.channel.whatsapp_outgoing import content_of, pieces_of, recipient_of

__all__ = ["WhatsAppChannel"]

_PAUSES_MS: Final[Mapping[int, int | None]] = {
    1: None, 2: None, 131000: None, 131016: None, 131057: None, 133004: None,  # something of Meta's is down
    4: None, 80007: None, 130429: None, 131048: None,  # too much for the app, the account or the number
    131056: 6_000,  # too much for this customer, who may get one message in six seconds
}  # fmt: skip
"""Codes of errors that pass by themselves, and how long that takes where Meta says so."""
_OPAQUE: Final = 512
_ABOUT: Final = 100_000  # bytes of what Meta says of a file, whose own limit is another


class WhatsAppChannel(HttpChannel):
    """Sends and takes in the messages of one phone number.

    `phone_number_id` is the id of the number, not the number; `token` an access token that may send;
    `app_secret` signs what comes in, `verify_token` is the word of the handshake, chosen by the host.
    Without those two, nothing is taken in. What concerns other numbers of the account is left out.
    `media` says what the slugs of `say` steps are; `menu` stands on the button that opens a list, which
    more than three buttons become. `base_url` is that of the Graph API, with its version.

    Raises `ImportError` when the extra `channels` is missing, `ValueError` for a secret that is blank
    (anybody could sign with it) and for a `base_url` that is none.
    """

    window_ms = DAY_MS

    def __init__(
        self,
        phone_number_id: str,
        token: str,
        *,
        app_secret: str | None = None,
        verify_token: str | None = None,
        name: str = "whatsapp",
        media: Mapping[str, Attachment] | None = None,
        menu: str = "…",
        timeout: float = 10.0,
        base_url: str = "https://graph.facebook.com/v25.0",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        for what, secret in (("token", token), ("app_secret", app_secret), ("verify_token", verify_token)):
            if secret is not None and not secret.strip():
                raise ValueError(f"{what} is blank: write the secret, or leave it out where nothing is to come in")
        secrets = tuple(secret for secret in (token, app_secret, verify_token) if secret)
        check_url("base_url", base_url)
        super().__init__(name, secrets=secrets, timeout=timeout, media=media, clock=clock)
        self._number = phone_number_id
        self._headers = {"authorization": f"Bearer {token}"}
        self._app_secret = app_secret
        self._verify_token = verify_token
        self._menu = menu
        self._base_url = base_url.rstrip("/")

    async def send(self, out: Outgoing) -> Sent:
        if is_empty(out):
            return Sent()
        body: dict[str, Any] = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            **recipient_of(out.address),
            **content_of(out, self.media_of(out), self._menu, self.refusal),
        }
        if len(out.idempotency_key) <= _OPAQUE:
            body["biz_opaque_callback_data"] = out.idempotency_key
        url = f"{self._base_url}/{self._number}/messages"
        reply = await self.post(url, self.encoded(body), self._headers)
        if not reply.ok:
            raise self._refused(reply)
        return Sent(next((text_at(each, "id") for each in list_at(reply.json(), "messages")), None))

    def split(self, out: Outgoing) -> Sequence[Outgoing]:
        return pieces_of(out, self.known_media(out))

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:
        if self._app_secret is None:
            raise BadSignatureError(self.name, "the channel was made without app_secret, which signs what comes in")
        expected = f"sha256={signature(self._app_secret.encode(), body).hex()}"
        if not same(header(headers, "x-hub-signature-256"), expected):
            raise BadSignatureError(self.name, "X-Hub-Signature-256 is missing, or not that of this body")

    def parse(self, headers: Mapping[str, str], body: bytes) -> Sequence[Incoming | Receipt]:  # noqa: ARG002  # the port's
        value = object_of(self.name, body)
        if value.get("object") != "whatsapp_business_account":
            raise BadPayloadError(self.name, "the body is not of a WhatsApp account: `object` says something else")
        found: list[Incoming | Receipt] = []
        for entry in list_at(value, "entry"):
            for change in list_at(entry, "changes"):
                content = object_at(change, "value")
                if text_at(content, "metadata", "phone_number_id") == self._number:
                    found += [*incoming_of(content, self._clock), *receipts_of(content, self._clock)]
        return found

    def answer_to_verification(self, query: Mapping[str, str]) -> str:
        challenge, given = query.get("hub.challenge", ""), query.get("hub.verify_token", "")
        if self._verify_token is None or query.get("hub.mode") != "subscribe" or not same(given, self._verify_token):
            raise BadSignatureError(self.name, "hub.verify_token is not the verify_token of the channel")
        return challenge

    async def download(self, attachment: Attachment, *, limit: int = 20_000_000) -> bytes:
        if attachment.id is None:
            raise self.refusal("an attachment without an id is no file of WhatsApp's")
        about = await self.get(f"{self._base_url}/{quote(attachment.id, safe='')}", self._headers, _ABOUT)
        url = text_at(about.json(), "url")
        if not about.ok or url is None:
            raise self._refused(about)
        file = await self.get(url, self._headers, limit)
        if not file.ok:
            raise self._refused(file)
        return file.body

    def _refused(self, reply: Reply) -> ChannelError:
        error = object_at(reply.json(), "error")
        code = number_at(error, "code")
        words = text_at(error, "error_data", "details") or text_at(error, "message") or "it says nothing more"
        passing = error.get("is_transient") is True or code in _PAUSES_MS or reply.status == 429 or reply.status >= 500
        pause = self.retry_after_ms(reply.headers)
        return self.failed(
            f"WhatsApp answered {reply.status}, code {code}: {words}",
            retryable=passing,
            retry_after_ms=(_PAUSES_MS.get(code or 0) if pause is None else pause) if passing else None,
            maybe_delivered=code is None and reply.status in UNSURE,
            code=reply.status if code is None else code,
        )
