"""Lists of sessions: by filters, in pages, and without walking over those that are not wanted."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from falai.host.ledger.dialect import SQLITE, in_dialect
from falai.host.ledger.gating import hold
from falai.host.ledger.looking import Wanted, sessions, waits
from falai.host.ledger.port import Gate, Ledger, Place, Statement, Work
from host.ledger.ledgers import NOW, PLACE, play, receive, sqlite_ledger

WANTED = [Wanted(*given) for given in itertools.product((None, "c1"), (None, "wa"), (None, True, False))]


async def _some(ledger: Ledger) -> None:
    """Sixty sessions of two customers and two channels, a few of them held; and some of another tenant."""
    for number in range(60):
        place = Place("t", "a", f"s{number:02}")
        customer, channel = f"c{number % 2}" if number % 5 else None, "wa" if number % 3 else "tg"
        await receive(ledger, "m1", place=place, customer=customer, channel=channel)
        if number % 7 == 0:
            await ledger.run(hold(place, Gate(reason="Bo"), now_ms=NOW))
    await receive(ledger, "m1", place=Place("u", "a", "s00"), customer="c1", channel="wa")
    await receive(ledger, "m1", place=Place("t", "b", "s00"), customer="c1", channel="wa")


@pytest.mark.parametrize("wanted", WANTED, ids=repr)
async def test_pages_of_what_is_wanted(ledger: Ledger, wanted: Wanted) -> None:
    """All pages together are what a look at each of all sessions would find, each once, in the order of the ids."""
    await _some(ledger)
    every = await ledger.run(sessions("a", tenant="t", limit=100))
    assert len(every) == 60
    found = [""]
    while page := await ledger.run(sessions("a", tenant="t", wanted=wanted, after=found[-1], limit=3)):
        assert len(page) <= 3
        found += [row.place.session for row in page]
    assert found[1:] == [
        row.place.session
        for row in every
        if wanted.customer in (None, row.customer)
        and wanted.channel in (None, row.channel)
        and wanted.held in (None, row.gate.reason is not None)
    ]


@pytest.mark.parametrize(
    ("wanted", "index"),
    [
        (Wanted(), "sqlite_autoindex_falai_sessions_1"),
        (Wanted(held=False), "sqlite_autoindex_falai_sessions_1"),
        (Wanted(held=True), "falai_sessions_held"),
        (Wanted(channel="wa"), "falai_sessions_channel"),
        (Wanted(customer="c1"), "falai_sessions_customer"),
        (Wanted(customer="c1", channel="wa", held=True), "falai_sessions_customer"),
    ],
    ids=repr,
)
async def test_no_list_walks_over_sessions_that_are_not_wanted(tmp_path: Path, wanted: Wanted, index: str) -> None:
    """Each filter that leaves few has an index; without one the pages are in the order of the key."""
    ledger = sqlite_ledger(tmp_path)
    await ledger.open()
    try:
        (statement,) = next(sessions("a", tenant="t", wanted=wanted, after="s1", limit=3))
        plan = await ledger.run(_explained(statement))
    finally:
        await ledger.close()
    assert f"USING INDEX {index} " in plan[0]


def _explained(statement: Statement) -> Work[list[str]]:
    """Each step of how the database carries it out."""
    sql = f"EXPLAIN QUERY PLAN {in_dialect(statement.sql, SQLITE)}"
    (rows,) = yield (Statement(sql, statement.params),)
    return [row[3] for row in rows]


async def test_whether_an_input_waits(ledger: Ledger) -> None:
    """Until it had its turn."""
    assert not await ledger.run(waits(PLACE, "m1"))
    await receive(ledger, "m1")
    assert await ledger.run(waits(PLACE, "m1"))
    await play(ledger)
    assert not await ledger.run(waits(PLACE, "m1"))
