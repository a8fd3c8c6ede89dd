"""Which pages may call from a browser: those of this server, and the named ones.

A browser says where a page is from (`Origin`), and of requests that have none, whether they come from another
site (`Sec-Fetch-Site`). A page without a place (`null`: a file, a sandbox) is nobody's. Cookies are never
allowed across origins: a page that is named sends a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from falai.session.jsontext import show
from falai.web.access.addresses import Proxies
from falai.web.access.authority import place_of_host, place_of_origin
from falai.web.access.heads import App, Head, Message, Receive, Send, value_of, values_of
from falai.web.access.refusing import problem, refuse

__all__ = ["Origins", "is_own"]

_ALLOWED: Final = [
    (b"access-control-allow-methods", b"GET, POST, DELETE"),
    (b"access-control-allow-headers", b"Authorization, Content-Type, Last-Event-ID"),
    (b"access-control-max-age", b"600"),
]
_STARTS: Final = ("http.response.start", "websocket.http.response.start")
_WHY: Final = (
    "The request comes from a page of {}, and this server is not for that. If it is yours, its operator names it in "
    '`origins`; behind a proxy that has the certificate, the proxy in `proxies`, as it says "https".'
)


class Origins:
    """ASGI: refuses pages of other places (403), and lets those that are named read the answers (CORS)."""

    def __init__(self, app: App, named: Sequence[str], proxies: Proxies) -> None:
        self._app = app
        self._named = {place_of_origin(origin) for origin in named}
        self._proxies = proxies

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] == "lifespan":
            await self._app(head, receive, send)
            return
        origins = values_of(head, b"origin")
        if not origins:
            await self._without(head, receive, send)
        elif len(origins) == 1 and is_own(head, origins[0], self._proxies):
            await self._app(head, receive, send)
        elif len(origins) == 1 and (place := place_of_origin(origins[0])) is not None and place in self._named:
            await self._from_named(origins[0], head, receive, send)
        else:
            await refuse(head, receive, send, problem("bad-origin", _WHY.format(show(origins[0]))))

    async def _without(self, head: Head, receive: Receive, send: Send) -> None:
        """No page, or what a page embeds or leads to: a link may be followed, nothing may be embedded."""
        site, mode = value_of(head, b"sec-fetch-site"), value_of(head, b"sec-fetch-mode")
        if site in ("cross-site", "same-site") and mode != "navigate":
            await refuse(head, receive, send, problem("bad-origin", _WHY.format("another place")))
        else:
            await self._app(head, receive, send)

    async def _from_named(self, origin: str, head: Head, receive: Receive, send: Send) -> None:
        may_read = [(b"access-control-allow-origin", origin.encode("latin-1")), (b"vary", b"Origin")]
        if _is_preflight(head):
            await send({"type": "http.response.start", "status": 204, "headers": [*may_read, *_ALLOWED]})
            await send({"type": "http.response.body", "body": b""})
            return

        async def sending(message: Message) -> None:
            if message["type"] in _STARTS:
                expose = (b"access-control-expose-headers", b"Retry-After")
                message = {**message, "headers": [*message.get("headers", ()), *may_read, expose]}
            await send(message)

        await self._app(head, receive, sending)


def is_own(head: Head, origin: str, proxies: Proxies) -> bool:
    """Whether a page of this origin is of this server: scheme, name and port are those of the request."""
    host = value_of(head, b"host")
    place = None if host is None else place_of_host(host, proxies.scheme(head))
    return place is not None and place == place_of_origin(origin)


def _is_preflight(head: Head) -> bool:
    asked = value_of(head, b"access-control-request-method")
    return head["type"] == "http" and head["method"] == "OPTIONS" and asked is not None
