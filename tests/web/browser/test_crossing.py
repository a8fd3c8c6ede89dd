"""Answers that come late: what a person did last is what the page shows."""

from __future__ import annotations

import asyncio
import re

from playwright.async_api import Route, expect

from web.browser.playground import Playground, t


class Held:
    """Answers of the server that are kept back until they are let go."""

    def __init__(self) -> None:
        self.there = asyncio.Event()
        self._may_go = asyncio.Event()

    async def keep(self, route: Route) -> None:
        answer = await route.fetch()
        self.there.set()
        await self._may_go.wait()
        await route.fulfill(response=answer)

    def go(self) -> None:
        self._may_go.set()


async def test_a_conversation_that_was_chosen_before_the_new_one(playground: Playground) -> None:
    """Its state comes behind the new conversation's, which stays."""
    held, (other, _) = Held(), await _two(playground)
    await playground.say("hello")
    await playground.page.route(_state_of(other), held.keep)
    count = await playground.branches.locator("option").count()
    await playground.branches.select_option(other)
    await held.there.wait()
    await playground.press("branch.new")
    await expect(playground.branches.locator("option")).to_have_count(count + 1)
    new = await playground.branches.input_value()
    await _let_go(playground, held, "/api/state")
    await expect(playground.branches).to_have_value(new)
    await expect(playground.turns).to_have_count(0)


async def test_a_message_that_is_written_before_the_chosen_conversation_is_there(playground: Playground) -> None:
    """It goes to that one, and not to the one that is still shown."""
    held, (other, left) = Held(), await _two(playground)
    await playground.page.route(_state_of(other), held.keep)
    await playground.branches.select_option(other)
    await held.there.wait()
    await playground.say("what does a filling cost?")
    await expect(playground.branches).to_have_value(other)
    await _let_go(playground, held, "/api/state")
    await expect(playground.last).to_contain_text("what does a filling cost?")
    await playground.branches.select_option(left)
    await expect(playground.turns).to_have_count(0)


async def test_a_turn_that_is_taken_back_before_the_chosen_conversation_is_there(playground: Playground) -> None:
    """It is the turn that was seen: the new conversation goes on from the one that is still shown."""
    held, (other, _) = Held(), await _two(playground)
    await playground.say("hello", "what does a filling cost?")
    await playground.page.route(_state_of(other), held.keep)
    await playground.branches.select_option(other)
    await held.there.wait()
    await playground.try_again(2)
    await _let_go(playground, held, "/api/state")
    await expect(playground.turns).to_have_count(1)
    await expect(playground.last).to_contain_text("hello")


async def test_a_conversation_that_was_left_while_its_clock_was_moved(playground: Playground) -> None:
    """The one that was chosen meanwhile stays; the other has moved."""
    held, (other, left) = Held(), await _two(playground)
    await playground.page.route("**/api/clock", held.keep)
    await playground.press("clock.day")
    await held.there.wait()
    async with playground.page.expect_response(_state_of(other)):
        await playground.branches.select_option(other)
    await _let_go(playground, held, "/api/clock")
    await expect(playground.button("clock.day")).to_be_enabled()
    await expect(playground.branches).to_have_value(other)
    await expect(playground.turns).to_have_count(0)
    await playground.branches.select_option(left)
    await expect(playground.last).to_contain_text(t("input.clock", span="1 day"))


async def test_a_page_that_is_loaded_anew_shows_the_same_conversation(playground: Playground) -> None:
    """It is the one that was looked at, and not the newest."""
    other, _ = await _two(playground)
    await playground.branches.select_option(other)
    await playground.say("what does a filling cost?")
    await playground.page.reload()
    await expect(playground.branches).to_have_value(other)
    await expect(playground.last).to_contain_text("what does a filling cost?")


async def test_a_button_that_is_pressed_twice_at_once(playground: Playground) -> None:
    """It is pressed once, also before the page could show that it is busy."""
    await playground.button("clock.day").evaluate("(button) => (button.click(), button.click())")
    await expect(playground.turns).to_have_count(1)
    await expect(playground.button("clock.day")).to_be_enabled()
    await playground.say("hello")
    await expect(playground.turns).to_have_count(2)


async def _two(playground: Playground) -> tuple[str, str]:
    """Two new conversations; the second is shown."""
    first = await playground.branches.input_value()
    await playground.fresh()
    return first, await playground.branches.input_value()


def _state_of(branch: str) -> re.Pattern[str]:
    """Where the page asks for a conversation."""
    return re.compile(rf"/api/state\?branch={branch}$")


async def _let_go(playground: Playground, held: Held, path: str) -> None:
    """The page has had the answer when this returns."""
    async with playground.page.expect_event("requestfinished", lambda request: path in request.url):
        held.go()
    await playground.page.evaluate("new Promise((done) => setTimeout(done))")
