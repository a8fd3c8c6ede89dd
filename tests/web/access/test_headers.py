"""What every answer says to a browser."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest

from falai.web.access import Headers, page_policy
from web.access.asking import application, ask


async def test_every_answer_has_them() -> None:
    """Also a refusal; nothing may be loaded, framed, guessed or kept."""
    app = Headers(application())
    for host in ("localhost", "evil.example"):
        said = (await ask(app, headers=[("host", host)])).headers
        assert said["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
        assert (said["x-content-type-options"], said["cache-control"]) == ("nosniff", "no-store")
        assert said["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "image/svg+xml", "text/plain", None])
async def test_what_a_browser_could_show_has_more(kind: str | None) -> None:
    """A document may not be framed by an old browser, opened by another page, or ask for the camera."""

    async def page(head: Any, receive: Any, send: Any) -> None:
        own = [] if kind is None else [(b"content-type", kind.encode())]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body", "body": b""})

    said = (await ask(Headers(page))).headers
    assert (said["x-frame-options"], said["referrer-policy"]) == ("DENY", "no-referrer")
    assert said["cross-origin-opener-policy"] == "same-origin"
    assert said["permissions-policy"] == "camera=(), geolocation=(), microphone=()"


async def test_what_an_answer_says_itself_stays() -> None:
    """A page has a policy of its own, and its files may be kept; there is each header once."""

    async def page(head: Any, receive: Any, send: Any) -> None:
        own = [(b"Cache-Control", b"no-cache"), (b"Content-Security-Policy", page_policy().encode())]
        await send({"type": "http.response.start", "status": 200, "headers": own})
        await send({"type": "http.response.body", "body": b""})

    said = await ask(Headers(page))
    assert "cache-control" not in said.headers
    assert said.headers["Cache-Control"] == "no-cache"
    assert sum(name.lower() == "content-security-policy" for name in said.headers) == 1


def test_the_policy_of_a_page() -> None:
    """From this server only; of inline scripts those that were named, by their hash; nothing is evaluated."""
    script = '{"imports":{}}'
    policy = dict(part.strip().partition(" ")[::2] for part in page_policy(script).split(";"))
    hashed = b64encode(sha256(script.encode()).digest()).decode()
    assert policy == {
        "default-src": "'none'", "script-src": f"'self' 'sha256-{hashed}'", "style-src": "'self'",
        "connect-src": "'self'", "img-src": "'self' data:", "base-uri": "'none'", "form-action": "'self'",
        "frame-ancestors": "'none'",
    }  # fmt: skip
