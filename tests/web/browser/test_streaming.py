"""Words that are shown while the model writes them, and that count only when the turn is over."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import expect

from falai.session import OUTCOME_MESSAGES
from web.browser import talker
from web.browser.demo import Demo
from web.browser.playground import Playground, t

AGENT = [str(Path(talker.__file__))]


async def test_words_come_as_they_are_written(playground: Playground, demo: Demo) -> None:
    """The first words are seen before the model has found the last, marked as provisional; then the message stands."""
    pending = await _asked(playground, "hello")
    await expect(pending.locator(".theirs")).to_contain_text(talker.FIRST.strip())
    await expect(pending).not_to_contain_text(talker.REST)
    await expect(pending).to_contain_text(t("message.provisional"))
    _go_on(demo)
    await playground.hears(talker.FIRST + talker.REST, "What can we do for you?")
    await expect(pending).to_have_count(0)


async def test_what_was_sent_with_a_delay(playground: Playground, demo: Demo) -> None:
    """The time that an assistant takes to type is told with the message."""
    await _asked(playground, "hello")
    _go_on(demo)
    await expect(playground.last.locator(".delay")).to_have_text(t("message.delay", time="2 s"))


async def test_words_are_taken_back(playground: Playground, demo: Demo) -> None:
    """What a turn that fails had begun to say is gone with it; why it failed is told, and the next one is played."""
    pending = await _asked(playground, talker.FAILS)
    await expect(pending).to_contain_text(talker.FIRST.strip())
    _go_on(demo)
    await expect(pending).to_have_count(0)
    await expect(playground.page.locator(".chat")).not_to_contain_text(talker.FIRST.strip())
    await expect(playground.last.locator(".happening")).to_contain_text(OUTCOME_MESSAGES["provider-unavailable"])
    await expect(await playground.look("turn")).to_contain_text(OUTCOME_MESSAGES["provider-unavailable"])
    await expect(await playground.look("calls")).to_contain_text("the line is cut")
    await _asked(playground, "hello")
    _go_on(demo)
    await expect(playground.last).to_contain_text(talker.REST)


async def test_a_page_that_is_loaded_anew_waits_for_the_reply(playground: Playground, demo: Demo) -> None:
    """What was written is there, as under way; the reply comes by itself, in every page that shows the conversation."""
    pending = await _asked(playground, "hello")
    await expect(pending).to_contain_text(talker.FIRST.strip())  # so the server has it
    await playground.page.reload()
    await expect(pending.locator(".mine")).to_have_text("hello")
    _go_on(demo)
    await playground.hears(talker.FIRST + talker.REST, "What can we do for you?")
    await expect(pending).to_have_count(0)


async def test_another_conversation_hears_nothing_of_it(playground: Playground, demo: Demo) -> None:
    """Who looks at another one meanwhile finds the reply under way when coming back, and then whole."""
    pending = await _asked(playground, "hello")
    here = await playground.branches.input_value()
    await playground.branches.select_option("b1" if here != "b1" else "b2")
    await expect(pending).to_have_count(0)
    await playground.branches.select_option(here)
    await expect(pending.locator(".mine")).to_have_text("hello")
    _go_on(demo)
    await playground.hears(talker.FIRST + talker.REST, "What can we do for you?")


async def test_looking_around_meanwhile_ends_nothing(playground: Playground, demo: Demo) -> None:
    """What the other tabs load is beside the reply: its words stay, and nothing else can be sent before its end."""
    pending = await _asked(playground, "hello")
    await expect(pending).to_contain_text(talker.FIRST.strip())
    await expect((await playground.look("graph")).locator(".picture svg")).to_be_visible()
    await expect((await playground.look("editor")).locator(".picture svg")).to_be_visible()
    await expect(pending).to_contain_text(talker.FIRST.strip())
    await expect(playground.button("branch.new")).to_be_disabled()
    _go_on(demo)
    await playground.hears(talker.FIRST + talker.REST, "What can we do for you?")
    await expect(playground.button("branch.new")).to_be_enabled()


async def _asked(playground: Playground, text: str):
    """The customer has written this; gives what is under way."""
    await playground.box.fill(text)
    await playground.box.press("Enter")
    pending = playground.page.locator(".turn.pending")
    await expect(pending.locator(".mine")).to_have_text(text)
    return pending


def _go_on(demo: Demo) -> None:
    (demo.folder / talker.GO).touch()
