"""Tokens at the door: what is valid, for how long, and for what."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.host.ledger.port import Ledger, Work
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.tokens import add_token, revoke_token
from falai.web.access import SCOPES, Keys
from falai.web.access.tokens import NewToken, is_secret_of, new_token, parts_of
from web.access.asking import AGENT, Answer, application, ask

HOST = ("host", "127.0.0.1:8000")


class Counting:
    """A ledger that counts how often it is asked."""

    def __init__(self, ledger: Ledger) -> None:
        self.asked = 0
        self._ledger = ledger

    async def run(self, work: Work[Any]) -> Any:
        self.asked += 1
        return await self._ledger.run(work)


async def made(ledger: Ledger, **more: Any) -> NewToken:
    token = new_token(**{"name": "shop", "tenant": "acme", "scopes": ["chat"], "now_ms": 1, **more})
    await ledger.run(add_token(token.row))
    return token


async def with_token(app: Any, text: str, path: str = "/chat", method: str = "GET", scheme: str = "Bearer") -> Answer:
    return await ask(app, path, method=method, headers=[HOST, ("authorization", f"{scheme} {text}")])


# --- the text ------------------------------------------------------------------------------------


def test_a_token_is_two_parts() -> None:
    """An id that is no secret, and 256 random bits, of which the row has a hash."""
    tokens = [new_token(name="n", tenant="t", scopes=["read", "chat"], now_ms=1) for _ in range(50)]
    for token in tokens:
        parts = parts_of(token.text)
        assert parts is not None
        assert (parts.text, parts.id) == (token.text, token.row.id)
        assert is_secret_of(parts.secret, token.row.hash)
        assert parts.secret not in repr(token.row)
        assert token.row.scopes == ("chat", "read")
    assert len({token.text for token in tokens}) == 50


@pytest.mark.property
@given(st.text(max_size=70) | st.from_regex(r"\Afalai_[0-9a-f]{11,13}_[A-Za-z0-9_-]{42,44}\Z"))
def test_what_is_no_token_has_no_parts(text: str) -> None:
    """And what has parts is made of them, with nothing around."""
    parts = parts_of(text)
    assert parts is None or (parts.text == text and len(parts.id) == 12 and len(parts.secret) == 43)


@pytest.mark.parametrize(
    "wrong",
    [{"name": ""}, {"tenant": " "}, {"session": ""}, {"scopes": []}, {"scopes": ["chat", "all"]}, {"name": "x" * 513}],
)
def test_what_a_token_cannot_be_for(wrong: dict[str, Any]) -> None:
    """Nobody, nothing, or a scope that there is not."""
    with pytest.raises(ValueError, match=next(iter(wrong))):
        new_token(**{"name": "n", "tenant": "t", "scopes": ["chat"], "now_ms": 1, **wrong})


# --- at the door ---------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "Bearer  "])
async def test_a_token_opens_what_it_is_for(ledger: SQLiteLedger, scheme: str) -> None:
    """And says whose it is."""
    token = await made(ledger)
    answer = await with_token(application(ledger), token.text, scheme=scheme)
    assert (answer.status, answer.body) == (200, b'"shop of acme"')


async def test_without_a_token_nothing_opens(ledger: SQLiteLedger) -> None:
    """Each answer says how to show one, and none whether there is such a one."""
    app, token = application(ledger), await made(ledger)
    parts = parts_of(token.text)
    assert parts is not None
    other = await made(ledger, agent="Bea")
    gone, old = await made(ledger), await made(ledger, expires_at=2)
    await ledger.run(revoke_token(gone.row.id, now_ms=2))
    secret = "x" * 43
    wrong = [
        f"falai_{parts.id}_{secret}",
        f"falai_{'0' * 12}_{parts.secret}",
        token.text[:-1],
        token.text + "x",
        "falai_",
        "x",
    ]
    answers = [await with_token(app, text) for text in (*wrong, other.text, gone.text, old.text)]
    assert {(one.status, one.code, one.body, one.headers["www-authenticate"]) for one in answers} == {
        (401, "unauthenticated", answers[0].body, 'Bearer realm="falai", error="invalid_token"')
    }
    for headers in ([HOST], [HOST, ("authorization", f"Basic {token.text}")], [HOST, ("authorization", token.text)]):
        answer = await ask(app, "/chat", headers=headers)
        assert (answer.status, answer.headers["www-authenticate"]) == (401, 'Bearer realm="falai"')
        assert "falai_…" in answer.body.decode("unicode-escape")


async def test_two_tokens_are_none(ledger: SQLiteLedger) -> None:
    """Who is in front may have looked at the other one."""
    token = await made(ledger)
    twice = [HOST, *[("authorization", f"Bearer {token.text}")] * 2]
    assert (await ask(application(ledger), "/chat", headers=twice)).status == 401


async def test_an_address_is_no_place_for_a_token(ledger: SQLiteLedger) -> None:
    """It would stand in histories and logs."""
    token = await made(ledger)
    for path in (f"/chat?token={token.text}", f"/chat?access_token={token.text}"):
        assert (await ask(application(ledger), path.partition("?")[0], headers=[HOST])).status == 401


async def test_a_scope_opens_nothing_else(ledger: SQLiteLedger) -> None:
    """The refusal names the scope."""
    app = application(ledger)
    token = await made(ledger, scopes=["chat", "read", "people", "flows"])
    answer = await with_token(app, token.text, "/operate")
    assert (answer.status, answer.code) == (403, "forbidden")
    assert b"operate" in answer.body
    every = await made(ledger, scopes=SCOPES)
    assert (await with_token(app, every.text, "/operate")).status == 200


async def test_a_token_of_a_session_is_for_that_one(ledger: SQLiteLedger) -> None:
    """Another session is refused, and so is what is no session's."""
    app, token = application(ledger), await made(ledger, session="s1")
    assert (await with_token(app, token.text, "/sessions/s1/chat", "POST")).body == b'"shop in s1"'
    for path, method in (("/sessions/s2/chat", "POST"), ("/sessions/S1/chat", "POST"), ("/chat", "GET")):
        answer = await with_token(app, token.text, path, method)
        assert (answer.status, answer.code) == (403, "forbidden")


# --- for a moment --------------------------------------------------------------------------------


async def test_a_request_costs_no_query(ledger: SQLiteLedger) -> None:
    """A token is looked up once for a moment, whoever asks meanwhile, and all at once too."""
    token, counting = await made(ledger), Counting(ledger)
    keys = Keys(lambda: counting, AGENT)  # type: ignore[arg-type,return-value]  # what of a ledger is asked for
    assert {await one for one in [keys.caller(token.text) for _ in range(3)]} != {None}
    assert all(await asyncio.gather(*(keys.caller(token.text) for _ in range(50))))
    assert counting.asked == 1
    await asyncio.gather(*(Keys(lambda: counting, AGENT).caller("falai_x") for _ in range(9)))  # type: ignore[arg-type,return-value]
    assert counting.asked == 1


async def test_many_ask_at_once_and_one_query_is_made(ledger: SQLiteLedger) -> None:
    """Also when the one who asked first goes away."""
    token, counting = await made(ledger), Counting(ledger)
    keys = Keys(lambda: counting, AGENT)  # type: ignore[arg-type,return-value]
    first = asyncio.create_task(keys.caller(token.text))
    others = [asyncio.create_task(keys.caller(token.text)) for _ in range(20)]
    await asyncio.sleep(0)
    first.cancel()
    assert all(await asyncio.gather(*others))
    assert counting.asked == 1


async def test_a_revoked_token_is_dead_within_five_seconds(ledger: SQLiteLedger) -> None:
    """It was known a moment ago, and is not believed for longer."""
    token = await made(ledger)
    keys = Keys(lambda: ledger, AGENT)
    assert await keys.caller(token.text)
    await ledger.run(revoke_token(token.row.id, now_ms=2))
    async with asyncio.timeout(5):
        while await keys.caller(token.text):
            await asyncio.sleep(0.05)


async def test_a_known_token_expires_to_the_moment(ledger: SQLiteLedger) -> None:
    """Though its row is remembered."""
    now, token = 10, await made(ledger, expires_at=20)
    keys = Keys(lambda: ledger, AGENT, now_ms=lambda: now)
    assert await keys.caller(token.text)
    now = 20
    assert await keys.caller(token.text) is None


async def test_guesses_are_not_remembered(ledger: SQLiteLedger) -> None:
    """A stranger cannot fill the memory, nor drive out who is known."""
    token, counting = await made(ledger), Counting(ledger)
    keys = Keys(lambda: counting, AGENT)  # type: ignore[arg-type,return-value]
    assert await keys.caller(token.text)
    for number in range(300):
        assert await keys.caller(f"falai_{number:012x}_{'x' * 43}") is None
    asked = counting.asked
    assert await keys.caller(token.text)
    assert counting.asked == asked


async def test_a_store_that_is_away_opens_nothing(ledger: SQLiteLedger) -> None:
    """What it raises passes through, to everybody who waits, and the next request asks again."""
    token = await made(ledger)

    class Away:
        async def run(self, work: Work[Any]) -> Any:
            work.close()
            raise ConnectionError("away")

    stores: list[Any] = [Away()]
    keys = Keys(lambda: stores[0], AGENT)
    found = await asyncio.gather(*(keys.caller(token.text) for _ in range(3)), return_exceptions=True)
    assert [type(one) for one in found] == [ConnectionError] * 3
    stores[0] = ledger
    assert await keys.caller(token.text)


async def test_a_token_of_this_run_is_in_no_store(ledger: SQLiteLedger) -> None:
    """It opens what it is for, and costs no query."""
    token, counting = new_token(name="this run", tenant="t", scopes=SCOPES, now_ms=1), Counting(ledger)
    keys = Keys(lambda: counting, AGENT, own=(token.row,))  # type: ignore[arg-type,return-value]
    caller = await keys.caller(token.text)
    assert caller is not None
    assert (caller.scopes, counting.asked) == (set(SCOPES), 0)
    assert await keys.caller(token.text[:-1] + ("a" if token.text[-1] != "a" else "b")) is None
