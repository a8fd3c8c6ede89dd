"""The one visitor of a playground: whoever opened the address that was printed, which is good once.

The address becomes a cookie that no script reads and no other site sends. What changes something needs more:
a header that a page elsewhere cannot set, and an origin that is this server's own.
"""

from __future__ import annotations

import hmac
import re
import secrets  # noqa: TID251 - an edge: here a secret is made
from typing import Final
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

from falai.web.access.addresses import Proxies
from falai.web.access.heads import App, Head, Receive, Send, value_of, values_of
from falai.web.access.origins import is_own
from falai.web.access.refusing import problem, refuse

__all__ = ["Visitor"]

_HARMLESS: Final = ("GET", "HEAD")
_CLOSED: Final = (
    "This is somebody's playground. The address that falai demo printed opens it, once; start it again for another."
)
_ARRIVED: Final = (
    '<!doctype html><title>falai</title><meta http-equiv="refresh" content="0; url=/"><a href="/">The playground</a>'
)


class Visitor:
    """ASGI: lets in who has the cookie, or the token that is good once."""

    def __init__(self, app: App, *, port: int) -> None:
        self._app = app
        self._token: str | None = secrets.token_urlsafe(32)
        self._name = f"falai_{port}"  # a browser keeps one jar for all ports of a host
        self._secret = secrets.token_urlsafe(32)
        self._direct = Proxies(())

    @property
    def token(self) -> str | None:
        """What the printed address has; `None` once it was used."""
        return self._token

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] == "lifespan":
            await self._app(head, receive, send)
        elif self._is_arrival(head):
            await self._arrived(head)(head, receive, send)
        elif not self._is_known(head):
            await self._stop(head, receive, send)
        elif not self._is_meant(head):
            why = "A change needs the header `X-Falai: playground`, and an origin of this server."
            await refuse(head, receive, send, problem("bad-origin", why))
        else:
            await self._app(head, receive, send)

    def _is_arrival(self, head: Head) -> bool:
        """Whether this is the first time that the address is opened; the token is spent then."""
        if head["type"] != "http" or head["method"] != "GET" or head["path"] != "/" or self._token is None:
            return False
        shown = parse_qs(head["query_string"].decode("latin-1")).get("token", [""])[0]
        if not hmac.compare_digest(shown.encode(), self._token.encode()):
            return False
        self._token = None
        return True

    def _arrived(self, head: Head) -> Response:
        """A redirection; who came by a link of another place would not send the new cookie along with that."""
        by_link = value_of(head, b"sec-fetch-site") in ("cross-site", "same-site")
        answer = HTMLResponse(_ARRIVED) if by_link else RedirectResponse("/", 303)
        answer.set_cookie(self._name, self._secret, httponly=True, samesite="strict")
        return answer

    def _is_known(self, head: Head) -> bool:
        for value in values_of(head, b"cookie"):
            for shown in re.findall(rf"(?:^|;)\s*{self._name}=([^;]*)", value):
                if hmac.compare_digest(shown.strip().encode(), self._secret.encode()):
                    return True
        return False

    def _is_meant(self, head: Head) -> bool:
        if head["type"] == "http" and head["method"] in _HARMLESS:
            return True
        origin = value_of(head, b"origin")
        marked = head["type"] == "websocket" or value_of(head, b"x-falai") == "playground"
        return marked and origin is not None and is_own(head, origin, self._direct)

    async def _stop(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] == "http" and "text/html" in (value_of(head, b"accept") or ""):
            await PlainTextResponse(_CLOSED, 401)(head, receive, send)
        else:
            await refuse(head, receive, send, problem("unauthenticated", _CLOSED))
