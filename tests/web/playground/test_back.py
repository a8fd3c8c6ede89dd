"""Take back: a branch stands as the conversation did behind a turn, and behaves as that did."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.session.jsontext import is_list, is_object
from web.playground.stage import BOOKING, Page, playground
from web.playground.things import FEW, THINGS

# What may differ between two conversations that behave alike: names, and how long the machine took.
_OWN = ("branch", "branches", "ms")


async def test_taking_back_keeps_the_other_conversation() -> None:
    """The new branch has the turns up to there, says where it is from, and the old one goes on beside it."""
    async with playground() as page:
        before = await page.say(*BOOKING)
        state = await page.post("take-back", {"branch": "b1", "turn": 2})
        assert state["branch"] == "b2"
        assert state["turns"] == before["turns"][:2]
        told = {branch["id"]: (branch["from"], branch["turn"], branch["turns"]) for branch in state["branches"]}
        assert told == {"b1": (None, None, 6), "b2": ("b1", 2, 2)}
        await page.say("no, whitening", branch="b2")
        assert (await page.get("state", branch="b1"))["turns"] == before["turns"]


async def test_taking_back_takes_back_what_the_context_keeps_in_its_folder() -> None:
    """A visit that one branch has booked is not in the calendar of another that began before it."""
    async with playground() as page:
        await page.say(*BOOKING)
        await page.post("take-back", {"branch": "b1", "turn": 1})
        state = await page.say(*BOOKING[1:], branch="b2")
        assert state["turns"][-1]["messages"][1]["text"].startswith("It is booked, Ana Silva")


async def test_back_to_the_beginning_and_to_nowhere() -> None:
    """Turn 0 is the beginning; a turn that is not there, and a conversation that is not there, are refused."""
    async with playground() as page:
        await page.say("hello")
        state = await page.post("take-back", {"branch": "b1", "turn": 0})
        assert (state["turns"], state["session"], state["runs"]) == ([], None, [])
        assert "no turn 2" in (await page.post("take-back", {"branch": "b1", "turn": 2}, 422))["detail"]
        assert (await page.post("take-back", {"branch": "b9", "turn": 0}, 404))["code"] == "not-found"


async def test_the_gate_is_as_it_was() -> None:
    """Taken back to before a person came, the assistant answers."""
    async with playground() as page:
        await page.say("hello")
        await page.post("person", {"branch": "b1", "text": "This is Rita."})
        state = await page.post("take-back", {"branch": "b1", "turn": 2})
        assert state["gate"]["closed"]
        state = await page.post("take-back", {"branch": "b1", "turn": 1})
        assert not state["gate"]["closed"]
        assert (await page.say("where are you?", branch=state["branch"]))["turns"][-1]["messages"]


@pytest.mark.property
@given(st.lists(THINGS, min_size=1, max_size=8), st.integers(0, 7), st.booleans())
@FEW
async def test_the_same_inputs_give_the_same_results(things: list[Any], number: int, twice: bool) -> None:
    """Taken back to any turn, the same inputs lead to the same state as they did then: messages, data, runs, timers
    and the clock. This is so for all inputs, and for a branch of a branch."""
    async with playground() as page:
        counts = [0]
        for address, body in things:
            state = await page.post(address, {"branch": "b1", **body})
            counts.append(len(state["turns"]))
        at = number % len(things)
        branch = "b1"
        for _ in range(2 if twice else 1):
            branch = (await page.post("take-back", {"branch": branch, "turn": counts[at]}))["branch"]
        await _repeat(page, branch, things[at:])
        one, other = await page.get("state", branch="b1"), await page.get("state", branch=branch)
        assert _alike(one) == _alike(other)


async def _repeat(page: Page, branch: str, things: list[Any]) -> None:
    for address, body in things:
        await page.post(address, {"branch": branch, **body})


def _alike(value: Any) -> Any:
    if is_object(value):
        return {key: _alike(part) for key, part in value.items() if key not in _OWN}
    return [_alike(part) for part in value] if is_list(value) else value
