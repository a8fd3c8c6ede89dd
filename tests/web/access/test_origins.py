"""Pages: which ones may call from a browser, and read what comes."""

from __future__ import annotations

from typing import Any

import pytest

from web.access.asking import Answer, application, ask

HOST = ("host", "127.0.0.1:8000")
PLAIN = application()
NAMED = application(origins=["https://Shop.example", "http://localhost:3000"])


async def from_page(
    app: Any, origin: str, *, host: str = "127.0.0.1:8000", method: str = "POST", **more: Any
) -> Answer:
    return await ask(app, headers=[("host", host), ("origin", origin)], method=method, **more)


@pytest.mark.parametrize(
    ("origin", "host"),
    [
        ("http://127.0.0.1:8000", "127.0.0.1:8000"), ("http://localhost:8000", "LOCALHOST:8000"),
        ("HTTP://LocalHost:8000", "localhost:8000"), ("http://[::1]:8000", "[::1]:8000"),
        ("http://localhost", "localhost"), ("http://localhost", "localhost:80"), ("http://localhost.:80", "localhost"),
    ],
)  # fmt: skip
async def test_an_own_page_may_call(origin: str, host: str) -> None:
    """Same scheme, name and port, however they are written; nothing is said to other pages."""
    answer = await from_page(PLAIN, origin, host=host)
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    "origin",
    [
        *(
            "https://evil.example",
            "http://evil.example:8000",
            "null",
            "NULL",
            "",
            " ",
            "file://",
            "chrome-extension://abc",
        ),
        *(
            "http://127.0.0.1:8001",
            "http://127.0.0.1",
            "https://127.0.0.1:8000",
            "http://localhost:8000",
            "http://[::1]:8000",
        ),
        *(
            "http://127.0.0.1:8000.evil.example",
            "http://127.0.0.1:8000@evil.example",
            "http://evil.example#127.0.0.1:8000",
        ),
        *(
            "http://127.0.0.1:8000/",
            "http://127.0.0.1:8000 http://evil.example",
            "127.0.0.1:8000",
            "http://127.0.0.1:8000,null",
        ),
    ],
)
async def test_a_page_elsewhere_does_not_reach_a_loopback_server(origin: str) -> None:
    """Whatever it sends, a preflight too; nor does a page of another server on this machine."""
    for app, method in ((PLAIN, "POST"), (PLAIN, "GET"), (PLAIN, "OPTIONS"), (NAMED, "POST")):
        asked = [HOST, ("origin", origin), ("access-control-request-method", "POST"), ("content-type", "text/plain")]
        answer = await ask(app, headers=asked, method=method)
        assert (answer.status, answer.code) == (403, "bad-origin")
        assert not [name for name in answer.headers if name.startswith("access-control")]


async def test_there_is_one_origin() -> None:
    """Two are nobody's."""
    answer = await ask(PLAIN, headers=[HOST, ("origin", "http://127.0.0.1:8000"), ("origin", "https://evil.example")])
    assert answer.status == 403


@pytest.mark.parametrize(
    ("site", "mode"),
    [("cross-site", "no-cors"), ("same-site", "no-cors"), ("cross-site", "cors"), ("cross-site", "websocket")],
)
async def test_what_a_page_elsewhere_embeds_is_refused(site: str, mode: str) -> None:
    """A picture or a script has no origin; the browser says that it is for another site."""
    answer = await ask(PLAIN, headers=[HOST, ("sec-fetch-site", site), ("sec-fetch-mode", mode)])
    assert (answer.status, answer.code) == (403, "bad-origin")


@pytest.mark.parametrize("site", ["none", "same-origin", "cross-site"])
async def test_a_link_may_be_followed(site: str) -> None:
    """What a person opens comes in the window, whoever wrote the link."""
    answer = await ask(PLAIN, headers=[HOST, ("sec-fetch-site", site), ("sec-fetch-mode", "navigate")])
    assert answer.status == 200


async def test_who_is_no_browser_says_no_origin() -> None:
    """A program with a token may call from anywhere."""
    assert (await ask(PLAIN, headers=[HOST])).status == 200


@pytest.mark.parametrize("origin", ["https://shop.example", "https://shop.example:443", "http://localhost:3000"])
async def test_a_named_page_may_call_and_read(origin: str) -> None:
    """Without cookies; caches keep the answers to two pages apart."""
    answer = await from_page(NAMED, origin)
    assert answer.status == 200
    assert answer.headers["access-control-allow-origin"] == origin
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-credentials" not in answer.headers


async def test_a_named_page_may_read_a_refusal() -> None:
    """And when it may come again."""
    answer = await from_page(
        application(origins=["https://shop.example"]), "https://shop.example", method="GET", path="/chat"
    )
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert answer.headers["access-control-allow-origin"] == "https://shop.example"
    assert answer.headers["access-control-expose-headers"] == "Retry-After"


async def test_a_browser_asks_first() -> None:
    """A preflight is answered for a named page, and reaches no route."""
    asked = [HOST, ("origin", "https://shop.example"), ("access-control-request-method", "POST")]
    answer = await ask(NAMED, "/nowhere", headers=asked, method="OPTIONS")
    assert (answer.status, answer.body) == (204, b"")
    assert answer.headers["access-control-allow-headers"] == "Authorization, Content-Type, Last-Event-ID"
    assert answer.headers["access-control-allow-methods"] == "GET, POST, DELETE"


async def test_behind_a_proxy_with_the_certificate() -> None:
    """The page is of https and the request comes as http: the proxy says so, and only a named one is believed."""
    said = [("host", "localhost"), ("origin", "https://localhost"), ("x-forwarded-proto", "https")]
    for proxies, peer, status in (
        (["10.0.0.0/8"], "10.0.0.7", 200), ([], "10.0.0.7", 403), (["10.0.0.0/8"], "192.0.2.1", 403),
        (["fd00::/8"], "fd00::7", 200), (["10.0.0.7"], "::ffff:10.0.0.7", 200),
    ):  # fmt: skip
        assert (await ask(application(proxies=proxies), headers=said, client=(peer, 1))).status == status
    assert (await ask(application(), headers=said[:2], scheme="https")).status == 200
