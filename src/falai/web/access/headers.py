"""What every answer says to a browser: load nothing, frame nothing, guess nothing, keep nothing."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Final

from falai.web.access.heads import App, Head, Message, Receive, Send

__all__ = ["Headers", "page_policy"]

_API: Final = "default-src 'none'; frame-ancestors 'none'"
_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
_OF_PAGES: Final = (
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
"""What a browser heeds of a document: JSON goes without, since each header costs a message some microseconds."""
_JSON: Final = (b"application/json", b"application/problem+json")
_STARTS: Final = ("http.response.start", "websocket.http.response.start")


class Headers:
    """ASGI: adds the headers that an answer does not have; `policy` is its content security policy."""

    def __init__(self, app: App, policy: str = _API) -> None:
        self._app = app
        self._headers = (*_ALWAYS, (b"content-security-policy", policy.encode()))

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] in _STARTS:
                said = list(message.get("headers", ()))
                names = {name.lower(): value for name, value in said}
                more = self._headers if names.get(b"content-type") in _JSON else (*self._headers, *_OF_PAGES)
                message = {**message, "headers": said + [one for one in more if one[0] not in names]}
            await send(message)

        await self._app(head, receive, sending if head["type"] != "lifespan" else send)


def page_policy(*scripts: str) -> str:
    """The policy of a page: everything from this server only, and of inline scripts (an import map) only these."""
    hashes = "".join(f" 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    return (
        f"default-src 'none'; script-src 'self'{hashes}; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
