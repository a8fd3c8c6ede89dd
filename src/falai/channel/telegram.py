"""Telegram by its Bot API: one channel for one bot.

Telegram takes no idempotency key and tells nothing of what became of a message: what is sent again
after a lost answer may arrive twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

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
from falai.channel.reading import header, number_at, object_at, object_of, same, text_at
from falai.channel.telegram_incoming import UPDATES, incoming_of
from falai.channel.telegram_outgoing import call_of, pieces_of

__all__ = ["TelegramChannel"]


class TelegramChannel(HttpChannel):
    """Sends and takes in the messages of one bot.

    `token` is the bot's, from BotFather; `webhook_secret` (1 to 256 letters, digits, `_` and `-`) is
    chosen by the host and comes back with every update; without it, nothing is taken in. `media` says
    what the slugs of `say` steps are. A message with a template goes out as its text.

    Raises `ImportError` when the extra `channels` is missing, `ValueError` for another `webhook_secret`, a
    blank `token` or a `base_url` that is none.
    """

    def __init__(
        self,
        token: str,
        *,
        webhook_secret: str | None = None,
        name: str = "telegram",
        media: Mapping[str, Attachment] | None = None,
        timeout: float = 10.0,
        base_url: str = "https://api.telegram.org",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        if not token.strip():
            raise ValueError("token is blank: write what BotFather gave")
        if webhook_secret is not None and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", webhook_secret):
            raise ValueError("webhook_secret has 1 to 256 letters, digits, _ and -; this one has something else")
        secrets = tuple(secret for secret in (token, webhook_secret) if secret)
        check_url("base_url", base_url)
        super().__init__(name, secrets=secrets, timeout=timeout, media=media, clock=clock)
        self._webhook_secret = webhook_secret
        self._base_url = base_url.rstrip("/")
        self._token = token

    async def send(self, out: Outgoing) -> Sent:
        if out.template is not None:
            out = msgspec.structs.replace(out, template=None, media=None, buttons=())
        if is_empty(out):
            return Sent()
        result = await self._call(*call_of(out, self.media_of(out), self.refusal))
        chat, number = number_at(result, "chat", "id"), number_at(result, "message_id")
        return Sent(None if number is None else f"{out.address if chat is None else chat}:{number}")

    def split(self, out: Outgoing) -> Sequence[Outgoing]:
        return pieces_of(out, None if out.template else self.known_media(out))

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:  # noqa: ARG002  # Telegram signs nothing
        if self._webhook_secret is None:
            raise BadSignatureError(self.name, "the channel was made without webhook_secret, which comes with updates")
        if not same(header(headers, "x-telegram-bot-api-secret-token"), self._webhook_secret):
            raise BadSignatureError(self.name, "X-Telegram-Bot-Api-Secret-Token is missing, or another")

    def parse(self, headers: Mapping[str, str], body: bytes) -> Sequence[Incoming | Receipt]:  # noqa: ARG002  # the port's
        update = object_of(self.name, body)
        if number_at(update, "update_id") is None:
            raise BadPayloadError(self.name, "the body is no update: it has no `update_id`")
        return incoming_of(update, self._clock)

    def acknowledgement(self, headers: Mapping[str, str], body: bytes) -> bytes:  # noqa: ARG002  # the port's
        """Ends the waiting that a tapped button shows."""
        try:
            key = text_at(object_of(self.name, body), "callback_query", "id")
        except BadPayloadError:
            return b""
        return b"" if key is None else msgspec.json.encode({"method": "answerCallbackQuery", "callback_query_id": key})

    async def set_webhook(self, url: str) -> None:
        """Tells Telegram where updates go, and with which secret. Raises `ChannelError`, `ValueError` without a secret."""
        if self._webhook_secret is None:
            raise ValueError("the channel needs a webhook_secret, or anybody could send it updates")
        await self._call("setWebhook", {"url": url, "secret_token": self._webhook_secret, "allowed_updates": UPDATES})

    async def download(self, attachment: Attachment, *, limit: int = 20_000_000) -> bytes:
        if attachment.id is None:
            raise self.refusal("an attachment without an id is no file of Telegram's")
        path = text_at(await self._call("getFile", {"file_id": attachment.id}), "file_path")
        if path is None:
            raise self.refusal("Telegram has no file of this id any more")
        file = await self.get(f"{self._base_url}/file/bot{self._token}/{path}", {}, limit)
        if not file.ok:
            raise self._refused(file)
        return file.body

    async def _call(self, method: str, content: Mapping[str, Any]) -> Any:
        reply = await self.post(f"{self._base_url}/bot{self._token}/{method}", self.encoded(content), {})
        if not reply.ok or object_at(reply.json()).get("ok") is False:
            raise self._refused(reply)
        return object_at(reply.json(), "result")

    def _refused(self, reply: Reply) -> ChannelError:
        said = reply.json()
        told = number_at(said, "error_code")
        code = reply.status if told is None else told
        moved = number_at(said, "parameters", "migrate_to_chat_id")
        words = text_at(said, "description") or "it says nothing more"
        return self.failed(
            f"Telegram answered {code}: {words}" + (f"; the chat's id is now {moved}" if moved is not None else ""),
            retryable=code == 429 or code >= 500,
            retry_after_ms=self._pause(said, reply) if code == 429 or code >= 500 else None,
            maybe_delivered=told is None and code in UNSURE,
            code=code,
        )

    def _pause(self, said: Any, reply: Reply) -> int | None:
        seconds = number_at(said, "parameters", "retry_after")
        return self.retry_after_ms(reply.headers) if seconds is None else min(max(0, seconds) * 1000, DAY_MS)
