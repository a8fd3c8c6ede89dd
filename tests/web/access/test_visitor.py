"""A playground's one visitor: an address that is good once, and what a page elsewhere cannot do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from falai.web.access.visitor import Visitor
from web.access.asking import Answer, ask, echo

HOST = ("host", "127.0.0.1:8000")
OWN = [("origin", "http://127.0.0.1:8000"), ("x-falai", "playground")]


async def arrive(visitor: Visitor, query: str, *headers: tuple[str, str], **more: Any) -> Answer:
    async def app(head: Any, receive: Any, send: Any) -> None:
        await visitor({**head, "query_string": query.encode()}, receive, send)

    return await ask(app, "/", headers=[HOST, *headers], **more)


async def visited() -> tuple[Visitor, tuple[str, str]]:
    """A visitor who has arrived, and the cookie."""
    visitor = Visitor(echo(), port=8000)
    answer = await arrive(visitor, f"token={visitor.token}")
    return visitor, ("cookie", answer.headers["set-cookie"].partition(";")[0])


async def test_the_address_becomes_a_cookie_and_is_spent() -> None:
    """No script reads the cookie, and no other site sends it; what it was is not what the address had."""
    visitor = Visitor(echo(), port=8000)
    token = visitor.token
    assert token is not None
    answer = await arrive(visitor, f"token={token}")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    found = re.fullmatch(r"falai_8000=([\w-]{43}); HttpOnly; Path=/; SameSite=strict", answer.headers["set-cookie"])
    assert found is not None
    assert found[1] != token
    assert visitor.token is None
    again = await arrive(visitor, f"token={token}")
    assert again.status == 401
    assert "set-cookie" not in again.headers


@pytest.mark.parametrize("query", ["", "token=", "token=x", "token=None", "t=1&token=x", "token=%00", "token=é"])
async def test_a_wrong_address_opens_nothing(query: str) -> None:
    """And does not spend the right one."""
    visitor = Visitor(echo(), port=8000)
    assert (await arrive(visitor, query)).status == 401
    assert (await arrive(visitor, f"token={visitor.token}", method="POST")).status == 401
    assert (await arrive(visitor, f"token={visitor.token}")).status == 303


async def test_who_came_by_a_link_arrives_too() -> None:
    """A browser does not send a new cookie along when a page of another place leads on: so this page leads."""
    visitor = Visitor(echo(), port=8000)
    answer = await arrive(visitor, f"token={visitor.token}", ("sec-fetch-site", "cross-site"))
    assert answer.status == 200
    assert "set-cookie" in answer.headers
    assert b'url=/"' in answer.body


async def test_without_the_cookie_nothing_opens() -> None:
    """A person is told in words, a program with a problem."""
    visitor, (_, cookie) = await visited()
    name, _, secret = cookie.partition("=")
    wrong = [
        [],
        [("cookie", f"{name}=")],
        [("cookie", f"{name}={secret}x")],
        [("cookie", f"{name}x={secret}")],
        [("cookie", f"x={secret}")],
    ]
    for headers in wrong:
        answer = await ask(visitor, headers=[HOST, *headers, *OWN])
        assert (answer.status, answer.code) == (401, "unauthenticated")
    answer = await ask(visitor, headers=[HOST, ("accept", "text/html,*/*")])
    assert (answer.status, answer.headers["content-type"]) == (401, "text/plain; charset=utf-8")


async def test_with_the_cookie_one_may_look() -> None:
    """Among other cookies too."""
    visitor, (_, cookie) = await visited()
    for header in (cookie, f"a=b; {cookie}", f"{cookie}; a=b", f'a="x;y";{cookie}'):
        assert (await ask(visitor, headers=[HOST, ("cookie", header)])).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        [], OWN[:1], OWN[1:], [OWN[0], ("x-falai", "")], [("origin", "null"), OWN[1]], [("origin", "https://evil.example"), OWN[1]],
        [("origin", "http://127.0.0.1:9000"), OWN[1]], [OWN[0], OWN[0], OWN[1]], [OWN[0], OWN[1], OWN[1]],
    ],
)  # fmt: skip
async def test_a_change_has_to_be_meant(headers: list[tuple[str, str]]) -> None:
    """The cookie alone changes nothing: a page elsewhere could make a browser send it."""
    visitor, cookie = await visited()
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        answer = await ask(visitor, headers=[HOST, cookie, *headers], method=method)
        assert (answer.status, answer.code) == (403, "bad-origin")
    assert (await ask(visitor, headers=[HOST, cookie, *OWN], method="POST")).status == 200


async def test_a_socket_has_to_be_of_this_page() -> None:
    """It can have no header of its own: its origin is looked at."""
    visitor, cookie = await visited()
    said: list[Any] = []

    async def send(message: Any) -> None:
        said.append(message)

    for origin in ("https://evil.example", "null"):
        pairs = [HOST, cookie, ("origin", origin)]
        headers = [(name.encode(), value.encode()) for name, value in pairs]
        await visitor({"type": "websocket", "path": "/", "headers": headers}, send, send)  # type: ignore[arg-type]
    assert [(one["type"], one["code"]) for one in said] == [("websocket.close", 1008)] * 2
