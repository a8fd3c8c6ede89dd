"""Requests to a vendor: what a failure means for the message, and that no secret is told.

A request that did not reach the server may be repeated. One that did, and whose answer was lost, may
have been carried out: its error says `maybe_delivered`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from datetime import datetime
from email.utils import parsedate_to_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from falai.channel.port import Attachment, Channel, ChannelError, Outgoing
from falai.errors import words_of
from falai.session.dates import system_now, to_ms
from falai.session.jsontext import parse_json, quoted

if TYPE_CHECKING:
    from httpx2 import AsyncClient, Response

__all__ = ["DAY_MS", "UNSURE", "HttpChannel", "Reply", "check_url", "is_empty"]

UNSURE: Final = frozenset({408, 500, 502, 504})
"""Statuses of a server, or of one before it, that may have taken the message."""
DAY_MS: Final = 24 * 60 * 60 * 1000
_SHORTEST: Final = 4  # a shorter word would take the letters out of the rest of an error
_ANSWER: Final = 1_000_000
"""Of a longer answer to a message the rest is not read: what counts is its status."""
_TELLING: Final = ("httpx2", "httpcore2.http11")
"""Loggers of the library that tell the address, which may hold a token, or headers that may repeat it."""
_ours: Final[ContextVar[bool]] = ContextVar("falai_channel_request", default=False)
"""Whether a request of a channel is on its way: what the library logs of it is kept to itself."""


class Reply(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300

    def json(self) -> Any:
        """The plain data of the body; `None` when it is no JSON."""
        try:
            return parse_json(self.body)
        except ValueError:
            return None


class HttpChannel(Channel):
    """A channel over HTTP. Needs the extra `channels`; the connections are opened by the first request."""

    def __init__(
        self,
        name: str,
        *,
        secrets: tuple[str, ...],
        timeout: float,
        media: Mapping[str, Attachment] | None,
        clock: Callable[[], datetime] | None,
    ) -> None:
        if find_spec("httpx2") is None:
            raise ImportError('channels over HTTP need the package httpx2: run pip install "falai[channels]"')
        self.name = name
        self._secrets = secrets
        self._timeout = timeout
        self._media = dict(media or {})
        self._clock = clock or system_now
        self._client: AsyncClient | None = None

    async def aclose(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def failed(self, what: str, *, retryable: bool, **more: Any) -> ChannelError:
        """An error of this channel, in words that hold none of its secrets."""
        return ChannelError(self.name, self.clean(what), retryable=retryable, **more)

    def refusal(self, why: str) -> ChannelError:
        """The error of a message that no other try would send."""
        return self.failed(why, retryable=False)

    def clean(self, text: str) -> str:
        """The text without what this channel was given to keep."""
        for secret in sorted(self._secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST:
                text = text.replace(secret, "[secret]")
        return text

    def media_of(self, out: Outgoing) -> Attachment | None:
        """The file of a message. Raises `ChannelError` for a slug that the channel does not know."""
        if not isinstance(out.media, str):
            return out.media
        if out.media not in self._media:
            raise self.refusal(f"no media has the slug {quoted(out.media)}: add it to media=")
        return self._media[out.media]

    def known_media(self, out: Outgoing) -> Attachment | None:
        """The file of a message, `None` when there is none or nobody knows it."""
        return self._media.get(out.media) if isinstance(out.media, str) else out.media

    def encoded(self, value: object) -> bytes:
        """The value as JSON. Raises `ChannelError` for what has none, as data of an attachment may."""
        try:
            return msgspec.json.encode(value)
        except (TypeError, ValueError) as error:
            raise self.refusal(f"the message has no JSON form: {words_of(error)}") from error

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> Reply:
        """Sends JSON once. Raises `ChannelError` when no answer came."""
        return await self._ask("POST", url, body, {"content-type": "application/json", **headers}, None)

    async def get(self, url: str, headers: Mapping[str, str], limit: int) -> Reply:
        """Reads at most `limit` bytes. Raises `ChannelError` when no answer came, or a larger one."""
        return await self._ask("GET", url, None, headers, limit)

    def retry_after_ms(self, headers: Mapping[str, str]) -> int | None:
        """What the header of RFC 9110 says, as seconds or as a date; `None` when it says nothing readable.

        At most a day: a vendor that is wrong about it shall not silence a session for good.
        """
        value = headers.get("retry-after", "").strip()
        if re.fullmatch(r"[0-9]{1,9}", value):
            return min(int(value) * 1000, DAY_MS)
        try:
            return min(max(0, to_ms(parsedate_to_datetime(value)) - to_ms(self._clock())), DAY_MS)
        except (TypeError, ValueError):
            return None

    async def _ask(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], limit: int | None
    ) -> Reply:
        answer = await self._answer(method, url, body, headers, limit)
        if isinstance(answer, ChannelError):
            raise answer  # here, and not where the library's error is at hand: that one holds address and headers
        return answer

    async def _answer(
        self, method: str, url: str, body: bytes | None, headers: Mapping[str, str], limit: int | None
    ) -> Reply | ChannelError:
        from httpx2 import InvalidURL, RequestError  # an extra

        ours = _ours.set(True)
        try:
            async with self._open().stream(method, url, content=body, headers=headers) as response:
                return await self._read(response, limit)
        except (RequestError, InvalidURL, ValueError) as error:  # ValueError: a header that is none
            return self._lost(error)
        finally:
            _ours.reset(ours)

    async def _read(self, response: Response, limit: int | None) -> Reply | ChannelError:
        from httpx2 import RequestError  # an extra

        received = bytearray()
        try:
            async for piece in response.aiter_bytes():
                received += piece
                if limit is not None and len(received) > limit:
                    return self.refusal(f"the file has more than {limit} bytes")
                if limit is None and len(received) > _ANSWER:
                    break
        except RequestError:
            if limit is not None or not response.is_success:
                raise
            # The status has come: the message was taken, and only its id is lost.
        return Reply(response.status_code, response.headers, bytes(received))

    def _lost(self, error: Exception) -> ChannelError:
        from httpx2 import (  # an extra
            ConnectError,
            ConnectTimeout,
            LocalProtocolError,
            PoolTimeout,
            ProxyError,
            RequestError,
            UnsupportedProtocol,
        )

        what = f"{type(error).__name__}: {words_of(error)}"
        if isinstance(error, ConnectError | ConnectTimeout | PoolTimeout | ProxyError):
            return self.failed(f"the server was not reached ({what})", retryable=True)
        if isinstance(error, UnsupportedProtocol | LocalProtocolError) or not isinstance(error, RequestError):
            # The library's words quote what it could not send: it may be the token.
            what = f"{type(error).__name__}: is its address or its token misspelt?"
            return self.refusal(f"the request could not be made ({what})")
        return self.failed(f"the answer was lost ({what})", retryable=True, maybe_delivered=True)

    def _open(self) -> AsyncClient:
        if self._client is None:
            from httpx2 import AsyncClient  # an extra

            for name in _TELLING:
                logging.getLogger(name).addFilter(_is_not_ours)
            self._client = AsyncClient(timeout=self._timeout, follow_redirects=False)
        return self._client


def check_url(what: str, url: str) -> None:
    """Raises `ValueError` for what is no address, in words that do not show it: it may hold a password."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{what} begins with https:// or http:// and names a host")


def is_empty(out: Outgoing) -> bool:
    """Whether a message has nothing that a vendor could show; vendors refuse those."""
    return not (out.text.strip() or out.media or out.buttons or out.template)


def _is_not_ours(_: logging.LogRecord) -> bool:
    return not _ours.get()
