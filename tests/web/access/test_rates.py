"""Rates: how often each may come, and that many who come fill no memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.tokens import add_token
from falai.web.access.addresses import Proxies, neighbourhood
from falai.web.access.buckets import Buckets, is_rate
from falai.web.access.tokens import new_token
from web.access.asking import application, ask

HOST = ("host", "127.0.0.1:8000")


# --- buckets -------------------------------------------------------------------------------------


@pytest.mark.property
@given(st.integers(1, 9), st.integers(1, 9), st.lists(st.floats(0, 5, allow_nan=False), min_size=1, max_size=60))
def test_no_time_has_more_than_there_may_be(count: int, period: int, pauses: list[float]) -> None:
    """In no span do more come than `count`, and what flows in meanwhile; who waits as long as was said, may come."""
    buckets, now, taken = Buckets(f"{count} in {period}s"), 0.0, list[float]()
    for pause in pauses:
        now += pause
        wait = buckets.take("a", now)
        if wait is None:
            taken.append(now)
        else:
            assert 0 < wait <= period / count + 1e-6
            assert buckets.take("a", now + wait * 0.99 - 1e-6) is not None
            now += wait + 1e-6
            assert buckets.take("a", now) is None
            taken.append(now)
    for begin, first in enumerate(taken):
        for end, last in enumerate(taken[begin:], begin):
            assert end - begin + 1 <= count + (last - first) * count / period + 1e-3


class Crowd(RuleBasedStateMachine):
    """However many come: there are no more buckets than there may be, and who comes again soon is held back."""

    def __init__(self) -> None:
        super().__init__()
        self.buckets = Buckets("2 in 10s", most=5)
        self.now = 0.0

    @rule(many=st.integers(1, 30))
    def strangers_come(self, many: int) -> None:
        for one in range(many):
            self.buckets.take(f"{self.now}-{one}", self.now)

    @rule(key=st.sampled_from("abc"))
    def somebody_comes_three_times(self, key: str) -> None:
        assert any(self.buckets.take(key, self.now) is not None for _ in range(3))

    @rule(seconds=st.floats(0, 20))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @invariant()
    def memory_is_bounded(self) -> None:
        assert len(self.buckets) <= 5


TestCrowd = pytest.mark.property(Crowd.TestCase)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("3 in 1s", True),
        (" 30  in 1m ", True),
        ("3", False),
        ("0 in 1s", False),
        ("3 in 0s", False),
        ("3 in soon", False),
        ("9999999999 in 1s", False),
        (3, False),
    ],
)
def test_what_is_a_rate(text: object, right: bool) -> None:
    """How many, in which time."""
    assert is_rate(text) is right


async def test_thousands_of_addresses_fill_no_memory() -> None:
    """Each may come, and no more of them are remembered than there is room for; the last ones are counted."""
    buckets = Buckets("1 in 1h")
    for number in range(50_000):
        assert buckets.take(f"10.{number // 65536}.{number // 256 % 256}.{number % 256}", 0.0) is None
    assert len(buckets) == 10_000
    assert buckets.take("10.0.195.79", 0.0) is not None


# --- who is counted ------------------------------------------------------------------------------


async def test_who_comes_too_often_is_told_when_to_come_again() -> None:
    """An address without a token, by itself."""
    app = application(rate="2 in 1h")
    for status in (200, 200, 429):
        answer = await ask(app, headers=[HOST])
        assert answer.status == status
    assert (answer.code, answer.headers["retry-after"]) == ("too-many-requests", "1800")
    assert (await ask(app, headers=[HOST], client=("127.0.0.2", 1))).status == 200


async def test_a_token_has_its_own(ledger: SQLiteLedger) -> None:
    """Nobody uses up the requests of a token by showing its id, and a known one is not held back with its address."""
    app = application(ledger, rate="3 in 1h")
    token = new_token(name="shop", tenant="t", scopes=["chat"], now_ms=1)
    await ledger.run(add_token(token.row))
    right, wrong = ("authorization", f"Bearer {token.text}"), ("authorization", f"Bearer {token.text[:-1]}x")
    assert (await ask(app, "/chat", headers=[HOST, right])).status == 200  # its first look counts for the address
    for status in (401, 401, 429, 429):
        assert (await ask(app, "/chat", headers=[HOST, wrong])).status == status
    for status in (200, 200, 200, 429):
        assert (await ask(app, "/chat", headers=[HOST, right])).status == status


async def test_a_refused_request_asks_for_no_token() -> None:
    """Whoever guesses too often costs no query: here, there is not even a ledger."""
    app = application(rate="1 in 1h")
    assert (await ask(app, headers=[HOST])).status == 200
    guess = ("authorization", f"Bearer falai_{'0' * 12}_{'x' * 43}")
    assert (await ask(app, "/chat", headers=[HOST, guess])).status == 429


def test_one_site_of_ipv6_is_one() -> None:
    """Whoever has a network of it has all of its addresses."""
    assert neighbourhood("2001:db8::1") == neighbourhood("2001:db8::ffff:2%eth0") == "2001:db8::/64"
    assert neighbourhood("2001:db8:0:1::1") != neighbourhood("2001:db8::1")
    assert [neighbourhood(one) for one in ("192.0.2.1", "", "/run/x")] == ["192.0.2.1", "", "/run/x"]


# --- proxies -------------------------------------------------------------------------------------

ADDRESSES = st.ip_addresses().map(str)


def head(peer: str, *forwarded: str) -> dict[str, object]:
    return {"client": (peer, 1), "headers": [(b"x-forwarded-for", one.encode()) for one in forwarded]}


@pytest.mark.property
@given(st.ip_addresses(v=4, network="192.0.2.0/24").map(str), st.lists(st.text(alphabet="0123456789.:, abcdef")))
def test_who_is_no_named_proxy_is_not_believed(peer: str, said: list[str]) -> None:
    """Whatever it says: nobody escapes the count of their address."""
    assert Proxies(["10.0.0.0/8"]).client(head(peer, *said)) == peer
    assert Proxies([]).client(head(peer, *said)) == peer


@pytest.mark.property
@given(ADDRESSES, st.lists(ADDRESSES))
def test_the_last_that_is_no_proxy_is_the_client(client: str, before: list[str]) -> None:
    """What a client wrote in front of its own address changes nothing."""
    proxies = Proxies(["10.0.0.0/8", "fd00::1"])
    if not client.startswith("10.") and client != "fd00::1" and not client.startswith("::ffff:"):
        assert proxies.client(head("10.0.0.1", ", ".join([*before, client, "10.0.0.2"]))) == client
        assert proxies.client(head("fd00::1", *before, client)) == client


@pytest.mark.parametrize("said", ["nonsense", "", "unknown", "10.0.0.1.5", "192.0.2.1:80", "[2001:db8::1]"])
def test_what_is_no_address_ends_the_way(said: str) -> None:
    """The one who says so is counted."""
    assert Proxies(["10.0.0.0/8"]).client(head("10.0.0.1", f"192.0.2.9, {said}")) == "10.0.0.1"
