"""What is kept how long, what is erased, and what can be looked at."""

from __future__ import annotations

from falai.host.ledger.campaigning import PlannedStart, begin_campaign, plan_starts
from falai.host.ledger.dead import dead
from falai.host.ledger.erasing import erase, erase_customer
from falai.host.ledger.gating import opt_out
from falai.host.ledger.looking import counts, messages, run_log, session, sessions, sessions_of, transcript
from falai.host.ledger.playing import note_answers, put_off, set_aside
from falai.host.ledger.port import (
    Arrival,
    Claim,
    Counts,
    Done,
    Keep,
    Ledger,
    Limits,
    LiveRun,
    Place,
    Reply,
    TranscriptLine,
    WakeWrite,
)
from falai.host.ledger.sending import next_message, send_failed, sent
from falai.host.ledger.sweeping import sweep
from falai.host.ledger.taking import take_in
from host.ledger.ledgers import MANY, NOW, PLACE, arrival, ask, dump, job_of, play, receive

DAY = 86_400_000


async def _live(ledger: Ledger, place: Place, *, now: int = NOW) -> None:
    """A session with something in every table, and something that waits."""
    await receive(ledger, "m1", "m2", "m3", place=place, now=now, customer="c1", channel="wa", address="+1")
    done = Done(
        blob="{}",
        claims=(Claim(f"f:{place.session}:", "x"),),
        live=(LiveRun("f", place.session),),
        transcript=(TranscriptLine("user", "secret", now),),
        outbox=(Reply("secret"), Reply("later", DAY)),
        wakes=(WakeWrite("w", now + 9 * DAY),),
        log='"secret"',
        opt_out=True,
    )
    await play(ledger, done, place, now=now)
    message = await ledger.run(next_message(place))
    assert message is not None
    await ledger.run(sent(message, now_ms=now, provider_id="p"))
    await ledger.run(set_aside(await job_of(ledger, place, now=now), "secret", now_ms=now))
    await ledger.run(note_answers(await job_of(ledger, place, now=now), {("speak", 0): "secret"}))


async def test_of_an_erased_session_nothing_is_left(ledger: Ledger) -> None:
    """In no table; other sessions keep all of theirs, and the customer's wish to be left alone stays."""
    await _live(ledger, Place("t", "a", "s2"))
    before = await dump(ledger)
    await _live(ledger, PLACE)
    assert all((await dump(ledger)).values())
    assert await ledger.run(erase(PLACE))
    assert await dump(ledger) == before
    assert not await ledger.run(erase(PLACE))


async def test_of_an_erased_customer_nothing_is_left(ledger: Ledger) -> None:
    """In any session; an input that comes again is new then."""
    await _live(ledger, PLACE)
    await _live(ledger, Place("t", "a", "s2"))
    await receive(ledger, "m1", place=Place("t", "a", "s3"), customer="c2")
    await receive(ledger, "m1", place=Place("u", "a", "s1"), customer="c1")
    assert await ledger.run(erase_customer("a", tenant="t", customer="c1")) == ("s1", "s2")
    left = await dump(ledger)
    assert {row[:3] for row in left["falai_inbox"]} == {("t", "a", "s3"), ("u", "a", "s1")}
    assert not left["falai_optouts"]
    assert (await ledger.run(take_in(PLACE, [arrival("m1")], now_ms=NOW, limits=MANY))).new == ("m1",)


async def test_a_sweep_takes_what_was_kept_long_enough(ledger: Ledger) -> None:
    """What an input said, messages, the conversation, the log; what waits, is set aside or is younger stays."""
    keep = Keep(inputs=DAY, messages=DAY, transcript=DAY, log=DAY)
    await _live(ledger, PLACE)
    await _live(ledger, Place("t", "a", "s2"), now=NOW + DAY)
    before = await dump(ledger)
    assert not await ledger.run(sweep("a", now_ms=NOW + DAY, keep=keep, limit=100))
    assert await dump(ledger) == before
    assert not await ledger.run(sweep("a", now_ms=NOW + DAY + 1, keep=keep, limit=100))
    assert [row.state for row in await ledger.run(messages(PLACE, limit=9))] == ["new"]
    assert await ledger.run(transcript(PLACE, limit=9)) == ()
    assert await ledger.run(run_log(PLACE, limit=9)) == ()
    bodies = await ledger.run(ask("SELECT session, key, body FROM falai_inbox ORDER BY seq"))
    assert [tuple(row) for row in bodies][:3] == [
        ("s1", "m1", ""),
        ("s1", "m2", '{"text":"m2"}'),
        ("s1", "m3", '{"text":"m3"}'),
    ]
    assert len(await ledger.run(transcript(Place("t", "a", "s2"), limit=9))) == 1
    assert (await ledger.run(take_in(PLACE, [arrival("m1")], now_ms=NOW, limits=MANY))).new == ()


async def test_a_sweep_goes_on_where_it_stopped(ledger: Ledger) -> None:
    """In bounded steps, past the rows of another agent, until there is no more."""
    for n in range(10):
        place = Place("t", "ab"[n % 2], "s1")
        await receive(ledger, f"m{n}", place=place)
        await play(ledger, Done(blob="{}", log="[]", transcript=(TranscriptLine("note", "x", NOW),)), place)
    keep, steps = Keep(inputs=1, keys=2, messages=1, transcript=1, log=1), 0
    while await ledger.run(sweep("a", now_ms=NOW + DAY, keep=keep, limit=3)):
        steps += 1
    assert steps in {2, 3, 4}
    left = await dump(ledger)
    for table in ("falai_inbox", "falai_transcript", "falai_run_log"):
        assert {row[1] for row in left[table]} == {"b"}
    while await ledger.run(sweep("b", now_ms=NOW + DAY, keep=keep, limit=3)):
        pass
    left = await dump(ledger)
    assert not left["falai_inbox"]
    await receive(ledger, "again")  # its number is a new one, though the table was empty
    await play(ledger)
    await ledger.run(sweep("a", now_ms=NOW + DAY, keep=keep, limit=3))
    assert not (await dump(ledger))["falai_inbox"]


async def test_what_was_set_aside_is_swept_by_its_own_time(ledger: Ledger) -> None:
    """For ever, unless a time is given."""
    await receive(ledger, "m1", "m2")
    await play(ledger, Done(blob="{}", outbox=(Reply("x"),)))
    message = await ledger.run(next_message(PLACE))
    assert message is not None
    await ledger.run(send_failed(message, "no", now_ms=NOW))
    await ledger.run(set_aside(await job_of(ledger), "no", now_ms=NOW))
    await ledger.run(sweep("a", now_ms=NOW + 999 * DAY, keep=Keep(), limit=9))
    assert len(await ledger.run(dead("a", limit=9))) == 2
    await ledger.run(sweep("a", now_ms=NOW + DAY + 1, keep=Keep(dead=DAY), limit=9))
    assert await ledger.run(dead("a", limit=9)) == ()
    assert [row[0] for row in await ledger.run(ask("SELECT error FROM falai_inbox"))] == [None, None]
    assert (await ledger.run(take_in(PLACE, [arrival("m2")], now_ms=NOW, limits=MANY))).new == ()


async def test_looking_at_sessions(ledger: Ledger) -> None:
    """Page by page in the order of their ids, those of one tenant; and those of one customer."""
    for name in ("b", "a", "c", "\u00e9"):
        await receive(ledger, "m1", place=Place("t", "a", name), customer="c1" if name != "b" else "c2")
    await receive(ledger, "m1", place=Place("u", "a", "z"))
    first = await ledger.run(sessions("a", tenant="t", limit=3))
    assert [row.place.session for row in first] == ["a", "b", "c"]
    second = await ledger.run(sessions("a", tenant="t", after="c", limit=3))
    assert [row.place.session for row in second] == ["\u00e9"]
    assert await ledger.run(sessions_of("a", tenant="t", customer="c1")) == ("a", "c", "\u00e9")
    assert await ledger.run(session(Place("t", "a", "nobody"))) is None


async def test_looking_back(ledger: Ledger) -> None:
    """The conversation and the log, the newest first, page by page."""
    await receive(ledger, *(f"m{n}" for n in range(5)))
    for n in range(5):
        await play(ledger, Done(blob="{}", log=str(n), transcript=(TranscriptLine("user", str(n), NOW),)))
    for look in (transcript, run_log):
        first = await ledger.run(look(PLACE, limit=2))
        second = await ledger.run(look(PLACE, before=first[-1].seq, limit=9))
        assert [getattr(row, "text", None) or getattr(row, "log", None) for row in (*first, *second)] == list("43210")


async def test_counts(ledger: Ledger) -> None:
    """What waits, since when, what is due, set aside and planned, of this agent."""
    assert await ledger.run(counts("a", now_ms=NOW)) == Counts(0, None, 0, 0, 0, 0)
    await _live(ledger, PLACE)
    await ledger.run(put_off(await job_of(ledger), NOW + DAY))
    await receive(ledger, "m1", place=Place("t", "b", "s1"))
    await ledger.run(opt_out(PLACE, now_ms=NOW))
    await ledger.run(begin_campaign("a", tenant="t", campaign="spring", begins_at=NOW))
    await ledger.run(plan_starts("a", [PlannedStart("s1", "k", "{}", NOW + 99 * DAY)], tenant="t", campaign="spring"))
    assert await ledger.run(counts("a", now_ms=NOW + 9 * DAY)) == Counts(1, NOW, 1, 1, 1, 1)


async def test_limits_have_defaults() -> None:
    """A hundred of a session, ten thousand of an agent; an arrival needs a key, a kind and a body."""
    assert Limits() == Limits(100, 10_000)
    assert Arrival("k", "event", "{}") == Arrival("k", "event", "{}", "[]", 0, None, None, None)
