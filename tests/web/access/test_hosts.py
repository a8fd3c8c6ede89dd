"""Names: what a server answers to, whoever lets whichever name lead to it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.web.access.authority import place_of_host
from web.access.asking import application, ask

LOOPBACK = application()
NAMED = application(hosts=["Chat.Shop.example", "10.0.0.9"])


async def status(app: Any, *hosts: str, **more: Any) -> int:
    return (await ask(app, headers=[("host", host) for host in hosts], **more)).status


@pytest.mark.parametrize(
    "host",
    [
        *(
            "127.0.0.1",
            "127.0.0.1:8000",
            "localhost",
            "localhost:8000",
            "LOCALHOST:8000",
            "localhost.",
            "LocalHost.:80",
        ),
        *("[::1]", "[::1]:8000", "[0:0:0:0:0:0:0:1]:8000", "127.8.8.8", "127.0.0.1."),
    ],
)
async def test_loopback_is_known(host: str) -> None:
    """In every form in which a client may write it, with any port or none."""
    assert await status(LOOPBACK, host) == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example", "localhost.."),
        *("localhost@evil.example", "evil.example#localhost", "evil.example/localhost", "evil.example\\localhost"),
        *(
            "localhost:8000:8000",
            "localhost:",
            "localhost:x",
            "localhost:123456",
            "localhost evil.example",
            " localhost",
        ),
        *(
            "[::1",
            "::1",
            "[::1]evil.example",
            "[::1].evil.example",
            "[::ffff:10.0.0.1]",
            "[fe80::1%25lo]",
            "[localhost]",
        ),
        *(
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "127.1",
            "0.0.0.0",
            "[::]",
            "10.0.0.1",
            "",
            ".",
            "xn--",
            "löcalhost",
        ),
        *("localhost\x00", "localhost\n", "*", "chat.shop.example.evil.example", "a" * 300),
    ],
)
async def test_a_foreign_name_is_refused(host: str) -> None:
    """Also one that leads to this machine (DNS rebinding), and what only looks like a known one."""
    for app in (LOOPBACK, NAMED):
        answer = await ask(app, headers=[("host", host)])
        assert (answer.status, answer.code) == (421, "bad-host")


async def test_there_is_one_name() -> None:
    """None, or two, are nobody's: who is in front may have looked at the other one."""
    assert await status(LOOPBACK) == 421
    assert await status(LOOPBACK, "localhost", "evil.example") == 421
    assert await status(LOOPBACK, "localhost", "localhost") == 421


@pytest.mark.parametrize(
    "host", ["chat.shop.example", "CHAT.SHOP.EXAMPLE:443", "chat.shop.example.", "10.0.0.9:8000", "localhost"]
)
async def test_a_named_host_is_known(host: str) -> None:
    """Whatever its case and port; loopback stays known."""
    assert await status(NAMED, host) == 200


async def test_the_address_that_the_connection_came_to_is_known() -> None:
    """As health probes use it. What a test client or a proxy takes for the server's name is no address."""
    assert await status(LOOPBACK, "10.1.2.3:8000", server=("10.1.2.3", 8000)) == 200
    assert await status(LOOPBACK, "[FD00::0:1]:8000", server=("fd00::1", 8000)) == 200
    assert await status(LOOPBACK, "10.1.2.4:8000", server=("10.1.2.3", 8000)) == 421
    assert await status(LOOPBACK, "evil.example", server=("evil.example", 80)) == 421
    assert await status(LOOPBACK, "10.1.2.3", server=None) == 421
    assert await status(LOOPBACK, "localhost", server=("/run/falai.sock", None)) == 200


async def test_any_name_where_somebody_else_looks_at_it() -> None:
    """With a star; what is no name stays refused."""
    app = application(hosts=["*"])
    assert await status(app, "anything.example") == 200
    assert await status(app, "any thing") == 421


async def test_what_a_proxy_says_of_the_name_is_not_asked() -> None:
    """Nobody is believed about it, a named proxy neither: it passes the `Host` on."""
    app = application(proxies=["127.0.0.1"])
    for name in ("x-forwarded-host", "forwarded", "x-host", "x-original-host"):
        said = [("host", "evil.example"), (name, "localhost" if name != "forwarded" else "host=localhost")]
        assert (await ask(app, headers=said)).status == 421


@pytest.mark.property
@given(st.text(max_size=30) | st.from_regex(r"\A[a-z0-9.\[\]:@%-]{1,30}\Z"))
def test_whatever_is_written_is_one_place_or_none(text: str) -> None:
    """A name that is read is in its one form: read again, it is the same, and has nothing that a URL splits at."""
    place = place_of_host(text, "http")
    if place is not None:
        form = f"[{place.name}]" if ":" in place.name else place.name
        assert place_of_host(f"{form}:{place.port}", "http") == place
        assert not set(place.name) & set("/@#?\\ %")
        assert place.name == place.name.lower()
