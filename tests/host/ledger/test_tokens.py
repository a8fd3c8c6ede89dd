"""Tokens in the ledger, on both databases."""

from __future__ import annotations

from falai.host.ledger.erasing import erase
from falai.host.ledger.port import Ledger
from falai.host.ledger.tokens import TokenRow, add_token, find_token, has_token, list_tokens, revoke_token
from host.ledger.ledgers import NOW, PLACE, receive

MONTH = 30 * 86_400_000


def row(
    id: str,
    *,
    tenant: str = "t",
    agent: str = "",
    session: str | None = None,
    at: int = NOW,
    expires: int | None = None,
) -> TokenRow:
    return TokenRow(id, tenant, agent, "shop", "f" * 64, ("chat", "read"), session, at, expires)


async def test_a_token_is_found_as_it_was_made(ledger: Ledger) -> None:
    """By its id, with everything that it is for; another id finds none."""
    made = row("a", agent="Ana", session="s1", expires=NOW + 5)
    await ledger.run(add_token(made))
    assert await ledger.run(find_token("a")) == made
    assert await ledger.run(find_token("b")) is None


async def test_a_revoked_token_stays_revoked(ledger: Ledger) -> None:
    """It is revoked once, at that moment, and can still be seen."""
    await ledger.run(add_token(row("a")))
    assert await ledger.run(revoke_token("a", now_ms=NOW + 1))
    assert not await ledger.run(revoke_token("a", now_ms=NOW + 2))
    assert not await ledger.run(revoke_token("b", now_ms=NOW))
    found = await ledger.run(find_token("a"))
    assert found is not None
    assert (found.revoked_at, found.is_live(NOW)) == (NOW + 1, False)


def test_a_token_lives_until_it_expires() -> None:
    """At that moment it is over."""
    made = row("a", expires=NOW + 5)
    assert (made.is_live(NOW + 4), made.is_live(NOW + 5)) == (True, False)


async def test_tokens_are_listed_by_tenant_and_agent(ledger: Ledger) -> None:
    """The oldest first; one that names no agent is every agent's."""
    for made in (row("a", at=NOW + 1), row("b", agent="Ana"), row("c", agent="Bea"), row("d", tenant="u", at=NOW + 2)):
        await ledger.run(add_token(made))
    found = [
        "".join(one.id for one in await ledger.run(list_tokens(**which)))
        for which in ({}, {"tenant": "t"}, {"agent": "Ana"}, {"tenant": "u", "agent": "Bea"})
    ]
    assert found == ["bcad", "bca", "bad", "d"]


async def test_an_agent_has_a_token_while_one_is_live(ledger: Ledger) -> None:
    """Of its own, or of all agents; neither a revoked nor an expired one counts."""
    assert not await ledger.run(has_token("Ana", now_ms=NOW))
    await ledger.run(add_token(row("a", agent="Bea")))
    assert not await ledger.run(has_token("Ana", now_ms=NOW))
    await ledger.run(add_token(row("b", agent="Ana", expires=NOW + 5)))
    await ledger.run(add_token(row("c")))
    assert await ledger.run(has_token("Ana", now_ms=NOW))
    await ledger.run(revoke_token("c", now_ms=NOW))
    assert await ledger.run(has_token("Ana", now_ms=NOW + 4))
    assert not await ledger.run(has_token("Ana", now_ms=NOW + 5))


async def test_tokens_that_are_over_for_a_month_go_when_another_is_made(ledger: Ledger) -> None:
    """So that those of many visitors do not stay for ever."""
    await ledger.run(add_token(row("a", expires=NOW + 1)))
    await ledger.run(add_token(row("b")))
    await ledger.run(add_token(row("c")))
    await ledger.run(revoke_token("b", now_ms=NOW + 1))
    await ledger.run(add_token(row("d", at=NOW + 1 + MONTH)))
    assert [one.id for one in await ledger.run(list_tokens())] == ["a", "b", "c", "d"]
    await ledger.run(add_token(row("e", at=NOW + 2 + MONTH)))
    assert [one.id for one in await ledger.run(list_tokens())] == ["c", "d", "e"]


async def test_the_tokens_of_a_session_are_erased_with_it(ledger: Ledger) -> None:
    """Those for other sessions, agents and tenants stay."""
    await receive(ledger, "m1")
    gone = (row("a", agent=PLACE.agent, session=PLACE.session), row("b", session=PLACE.session))
    stay = (
        row("c"),
        row("d", session="s2"),
        row("e", agent="z", session=PLACE.session),
        row("f", tenant="u", session=PLACE.session),
    )
    for made in (*gone, *stay):
        await ledger.run(add_token(made))
    assert await ledger.run(erase(PLACE))
    assert [one.id for one in await ledger.run(list_tokens())] == ["c", "d", "e", "f"]
