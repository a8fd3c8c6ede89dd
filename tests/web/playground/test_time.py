"""The clock that one can move: timers go off in order, each at its own time, and not without end."""

from __future__ import annotations

from falai import Agent, Flow, OnEvent, Say, Wait
from falai.testing import Clock
from web.playground.stage import NOW, playground


def waiting(**flows: str) -> Agent[None]:
    """An agent whose flows say their names after so long."""
    made = [
        Flow(name, on=[OnEvent("go")], steps=[Wait("w", after), Say("s", name)]) for name, after in flows.items()
    ]  # fmt: skip
    return Agent[None](name="Ana", model="lexical", flows=made, events={"go": {}})


async def test_skipping_goes_to_the_next_timer() -> None:
    """The clock stands at the timer's time, and what came of it is the last thing that happened."""
    async with playground(waiting(late="2d", soon="3h"), context=None) as page:
        state = await page.post("event", {"branch": "b1", "name": "go"})
        assert state["clock"]["nextWake"]["at"] == "2026-12-01T13:00:00.000Z"
        assert state["clock"]["nextWake"]["flow"] == "soon"
        state = await page.skip()
        assert state["clock"]["now"] == "2026-12-01T13:00:00.000Z"
        assert state["clock"]["aheadMs"] == 3 * 3_600_000
        assert (state["turns"][-1]["input"]["kind"], state["turns"][-1]["input"]["flow"]) == ("wake", "soon")
        assert await page.said() == ["soon"]


async def test_a_silence_says_whose_it_is() -> None:
    """The flow that follows up on silence begins when its time has come, and the entry names it."""
    async with playground() as page:
        await page.say("hello")
        state = await page.skip()
        assert state["turns"][-1]["input"]["flow"] == "nudge"
        assert state["turns"][-1]["started"] == [{"flow": "nudge"}]


async def test_timers_on_the_way_go_off_at_their_times() -> None:
    """A day's move plays each at its own hour, in order, and ends where it was to end."""
    async with playground(waiting(c="20h", a="1h", b="5h", d="25h"), context=None) as page:
        await page.post("event", {"branch": "b1", "name": "go"})
        state = await page.skip(ms=86_400_000)
        told = [(turn["at"][11:16], [m["text"] for m in turn["messages"]]) for turn in state["turns"][1:]]
        assert told == [("11:00", ["a"]), ("15:00", ["b"]), ("06:00", ["c"]), ("10:00", [])]
        assert state["turns"][-1]["input"] == {"kind": "clock", "ms": 86_400_000, "to": "2026-12-02T10:00:00.000Z"}
        assert state["clock"]["nextWake"]["flow"] == "d"


async def test_timers_of_one_instant_are_two_turns() -> None:
    """Both go off, one after the other, and one can go back to between them."""
    async with playground(waiting(a="1h", b="1h"), context=None) as page:
        await page.post("event", {"branch": "b1", "name": "go"})
        state = await page.skip()
        assert [turn["messages"][0]["text"] for turn in state["turns"][1:]] == ["a", "b"]
        between = await page.post("take-back", {"branch": "b1", "turn": 2})
        assert len(between["turns"]) == 2
        assert [run["flow"] for run in between["runs"]] == ["b"]
        after = await page.skip(branch=between["branch"], ms=0)
        assert await page.said(after["branch"]) == ["a", "b"]


async def test_timers_without_end_are_cut_off() -> None:
    """A flow that waits a minute again and again does not hold up the page for ever, and the entry says why."""
    steps = [Wait("w", "1m"), Say("s", "tick", then="w")]
    desk = Agent[None](
        name="Ana", model="lexical", events={"go": {}}, flows=[Flow("f", on=[OnEvent("go")], steps=steps)]
    )
    async with playground(desk, context=None) as page:
        await page.post("event", {"branch": "b1", "name": "go"})
        state = await page.skip(ms=86_400_000)
        assert "may be no end" in state["turns"][-1]["problem"]["message"]
        assert state["clock"]["now"] == "2026-12-01T13:20:00.000Z"
        assert len(state["turns"]) == 202


async def test_a_timer_that_is_due_is_played_before_what_comes_next() -> None:
    """The clock goes on with the system's: what came due meanwhile has its turn first, at its own time."""
    clock = Clock(NOW)
    async with playground(waiting(soon="5m"), context=None, clock=clock) as page:
        await page.post("event", {"branch": "b1", "name": "go"})
        clock.advance("10m")
        state = await page.say("hello")
        assert [turn["at"][11:16] for turn in state["turns"]] == ["10:00", "10:05", "10:10"]
        assert [turn["input"]["kind"] for turn in state["turns"]] == ["event", "wake", "message"]


async def test_who_looks_sees_what_has_come_due() -> None:
    """A timer whose time has come meanwhile has had its turn when the state is asked for."""
    clock = Clock(NOW)
    async with playground(waiting(soon="5m"), context=None, clock=clock) as page:
        await page.post("event", {"branch": "b1", "name": "go"})
        clock.advance("4m")
        assert await page.said() == []
        clock.advance("1m")
        assert await page.said() == ["soon"]


async def test_each_conversation_has_its_own_clock() -> None:
    """Moving one leaves the other where it is."""
    async with playground(waiting(soon="1h"), context=None) as page:
        other = (await page.post("new", {}))["branch"]
        await page.skip(ms=3_600_000)
        assert (await page.get("state", branch="b1"))["clock"]["now"] == "2026-12-01T11:00:00.000Z"
        assert (await page.get("state", branch=other))["clock"]["now"] == NOW


async def test_what_cannot_be_is_refused_in_words() -> None:
    """No timer, a clock that goes back or beyond all years, and a move that is none."""
    async with playground(waiting(soon="1h"), context=None) as page:
        refused = await page.post("clock", {"branch": "b1", "next": True}, 422)
        assert refused["detail"] == "No timer is set: there is nothing to skip to."
        assert "year 9000" in (await page.post("clock", {"branch": "b1", "ms": 10**15}, 422))["detail"]
        for body in ({"ms": -1}, {"ms": 1, "next": True}, {}, {"ms": "1"}):
            refused = await page.post("clock", {"branch": "b1", **body}, 422)
            assert refused["code"] == "invalid"
        assert (await page.get("state", branch="b1"))["turns"] == []
