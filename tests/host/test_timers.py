"""Timers: each fires once in effect, at its time, also after a restart; late ones by the policy, and no storm."""

from __future__ import annotations

from datetime import datetime

from falai import Flow, Message, OnSilence, Prompt, Say, Start, Wait
from falai.channel import Template
from falai.host import SendingWindow, Settings, Windows
from falai.session.dates import system_now
from falai.testing import Clock
from host.stage import FLOWS, Home, Wire, echo, hosted, until

NUDGE = Flow(
    "nudge", on=[OnSilence("2h")],
    steps=[Say("first", "Still there?"), Wait("pause", "24h", else_="end"), Say("last", "Goodbye.")],
)  # fmt: skip
LATER = Flow("later", steps=[Wait("pause", "1h"), Say("now", "It is time.")])


async def test_a_silence_fires_once(home: Home) -> None:
    """Two hours after the assistant's last word the reminder goes out, once; the next one a day later."""
    clock, wire = Clock(), Wire()
    async with hosted(echo(clock=clock, flows=[*FLOWS, NUDGE]), home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        for pause, said in (("119m", 1), ("1m", 2), ("1m", 2), ("23h", 2), ("1h", 3), ("9d", 3)):
            clock.advance(pause)
            await host.drained()
            assert len(wire.sent) == said, pause
    assert wire.texts == ["re: hello", "Still there?", "Goodbye."]


async def test_a_reply_ends_the_reminders(home: Home) -> None:
    """Who writes after the first reminder hears no more of them."""
    clock, wire = Clock(), Wire()
    async with hosted(echo(clock=clock, flows=[*FLOWS, NUDGE]), home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        clock.advance("2h")
        await host.drained()
        await host.receive("s1", Message("yes", id="m2"))
        await host.drained()
        clock.advance("9d")
        await host.drained()
    assert wire.texts == ["re: hello", "Still there?", "re: yes"]


async def test_a_timer_fires_after_a_restart(home: Home) -> None:
    """What came due while no host ran is played when one begins."""
    clock, wire = Clock(), Wire()
    agent = echo(clock=clock, flows=[*FLOWS, LATER])
    async with hosted(agent, home, channel=wire) as host:
        await host.receive("s1", Start("later", key="k"))
        await host.drained()
    clock.advance("30d")
    async with hosted(agent, home, channel=wire) as host:
        await host.drained()
        await host.drained()
    assert wire.texts == ["It is time."]


async def test_a_late_silence_is_dropped(home: Home) -> None:
    """A follow-up that is due for longer than `max_late` would disturb: it goes, and the run log says so."""
    clock, wire = Clock(), Wire()
    agent = echo(clock=clock, flows=[*FLOWS, NUDGE])
    async with hosted(agent, home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
    clock.advance("8d")
    async with hosted(agent, home, channel=wire, settings=Settings(max_late="3d")) as host:
        await host.drained()
        look = await host.look("s1")
    assert wire.texts == ["re: hello"]
    assert look is not None
    assert '"skipped":"late"' in look.log[0].log


async def test_a_timer_fires_on_the_real_clock(home: Home) -> None:
    """Nobody has to look: a timer of the system's clock starts its turn by itself."""
    wire = Wire()
    soon = Flow("soon", steps=[Wait("pause", "11s"), Say("now", "It is time.")])
    real = system_now()

    def fast() -> datetime:
        return real + (system_now() - real) * 100

    agent = echo(flows=[*FLOWS, soon])
    async with hosted(agent, home, channel=wire, clock=fast) as host:
        await host.receive("s1", Start("soon", key="k"))
        await until(lambda: wire.texts == ["It is time."])


async def test_many_timers_do_not_hold_up_who_writes(home: Home) -> None:
    """After a night in which the host was down, a message is answered before the timers that are overdue."""
    clock, wire = Clock(), Wire()
    agent = echo(clock=clock, flows=[*FLOWS, LATER])
    async with hosted(agent, home, channel=wire) as host:
        for n in range(300):
            await host.receive(f"s{n}", Start("later", key="k"))
        await host.drained()
    clock.advance("12h")
    settings = Settings(at_once=2)
    async with hosted(agent, home, channel=wire, settings=settings) as host:
        await host.receive("writes", Message("hello", id="m1"))
        await until(lambda: bool(wire.said("writes")))
        before = len(wire.sent)
        await host.drained()
    assert before < 150
    assert wire.texts.count("It is time.") == 300


async def test_a_clock_that_jumps_back(home: Home) -> None:
    """What is due later is due later, and messages are answered meanwhile."""
    clock, wire = Clock(), Wire()
    agent = echo(clock=clock, flows=[*FLOWS, LATER])
    async with hosted(agent, home, channel=wire) as host:
        await host.receive("s1", Start("later", key="k"))
        await host.drained()
        clock.advance(-3_600_000)
        await host.receive("s2", Message("hello", id="m1"))
        await host.drained()
        assert wire.texts == ["re: hello"]
        clock.advance("2h")
        await host.drained()
    assert wire.texts == ["re: hello", "It is time."]


# --- windows -------------------------------------------------------------------------------------


async def test_follow_ups_wait_for_the_morning(home: Home) -> None:
    """A reminder that is due at night goes out in the morning; a message at night is answered at once."""
    clock, wire = Clock("2026-09-21T17:00:00.000Z"), Wire()
    settings = Settings(windows=Windows(follow_ups=SendingWindow("09:00-18:00", tz="UTC")))
    agent = echo(clock=clock, flows=[*FLOWS, NUDGE])
    async with hosted(agent, home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        clock.advance("2h")
        await host.drained()
        await host.receive("s2", Message("so late", id="m1"))
        await host.drained()
        assert wire.texts == ["re: hello", "re: so late"]
        clock.set("2026-09-22T08:59:59.000Z")
        await host.drained()
        assert len(wire.sent) == 2
        clock.set("2026-09-22T09:00:00.000Z")
        await host.drained()
    assert wire.said("s1") == ["re: hello", "Still there?"]


async def test_follow_ups_that_wait_take_no_room(home: Home) -> None:
    """A night's reminders do not fill the inbox: who writes meanwhile is taken in."""
    clock, wire = Clock("2026-09-21T17:00:00.000Z"), Wire()
    settings = Settings(windows=Windows(follow_ups=SendingWindow("09:00-18:00", tz="UTC")), host_limit=5)
    agent = echo(clock=clock, flows=[*FLOWS, NUDGE])
    async with hosted(agent, home, channel=wire, settings=settings) as host:
        for n in range(10):
            await host.ask(f"s{n}", Message("hello", id="m1"))
        clock.advance("2h")
        await host.drained()
        assert (await host.status()).inputs == 0
        await host.ask("s0", Message("good evening", id="m2"))
        clock.set("2026-09-22T09:00:00.000Z")
        await host.drained()
    assert wire.texts.count("Still there?") == 10


async def test_a_message_is_not_held_up_by_a_follow_up_that_waits(home: Home) -> None:
    """While a reminder waits for the morning, the session's messages are answered; it is void then."""
    clock, wire = Clock("2026-09-21T17:00:00.000Z"), Wire()
    settings = Settings(windows=Windows(follow_ups=SendingWindow("09:00-18:00", tz="UTC")))
    agent = echo(clock=clock, flows=[*FLOWS, NUDGE])
    async with hosted(agent, home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        clock.advance("2h")
        await host.drained()
        await host.receive("s1", Message("I am here", id="m2"))
        await host.drained()
        clock.set("2026-09-22T09:00:00.000Z")
        await host.drained()
    assert wire.said("s1") == ["re: hello", "re: I am here", "Still there?"]  # that of the second silence


async def test_answers_wait_for_their_hours_in_order(home: Home) -> None:
    """Outside the hours of answers, messages wait, and are answered in order when they open."""
    clock, wire = Clock("2026-09-21T20:00:00.000Z"), Wire()
    settings = Settings(windows=Windows(answers=SendingWindow("09:00-18:00", tz="UTC")))
    async with hosted(echo(clock=clock), home, channel=wire, settings=settings) as host:
        for n in range(3):
            await host.receive("s1", Message(f"{n}", id=f"m{n}"))
            await host.drained()
        assert wire.texts == []
        clock.set("2026-09-22T09:00:00.000Z")
        await host.drained()
    assert wire.texts == ["re: 0", "re: 1", "re: 2"]


class Day(Wire):
    """Takes free text for a day after the customer's last message."""

    window_ms = 86_400_000


LONG = Flow("long", on=[OnSilence("30h")], steps=[Prompt("again", "Pick it up.")])


async def test_the_window_of_a_channel(home: Home) -> None:
    """A day after the customer's last message nothing is said any more; the run log has the reason."""
    clock, wire = Clock(), Day()
    async with hosted(echo(clock=clock, flows=[*FLOWS, LONG]), home, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        clock.advance("30h")
        await host.drained()
        look = await host.look("s1")
    assert wire.texts == ["re: hello"]
    assert look is not None
    assert "channel-window" in look.log[0].log


async def test_a_template_outside_the_window(home: Home) -> None:
    """With a template, that is sent in place of what the turn would have said."""
    clock, wire = Clock(), Day()
    template = Template("follow_up", "en", ("your booking",))
    settings = Settings(windows=Windows(template=template))
    async with hosted(echo(clock=clock, flows=[*FLOWS, LONG]), home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        clock.advance("30h")
        await host.drained()
    assert [out.template for out in wire.sent] == [None, template]


async def test_opt_out_and_in(home: Home) -> None:
    """The word ends follow-ups to the customer for good, in all sessions, but not answers; another lets them begin again."""
    clock, wire = Clock(), Wire()
    settings = Settings(opt_outs=("stop",), opt_ins=("start",))
    nudge = Flow("nudge", on=[OnSilence("2h", repeat="always")], steps=[Say("first", "Still there?")])
    agent = echo(clock=clock, flows=[*FLOWS, nudge])
    async with hosted(agent, home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("Stop!", id="m1"), customer="c1")
        await host.drained()
        await host.receive("s2", Message("hello", id="m1"), customer="c1")
        await host.drained()
        clock.advance("3d")
        await host.drained()
        assert sorted(wire.texts) == ["re: Stop!", "re: hello"]
        await host.receive("s2", Message("start", id="m2"))
        await host.drained()
        clock.advance("2h")
        await host.drained()
    assert wire.said("s2") == ["re: hello", "re: start", "Still there?"]
