"""Texts and names that would harm a page which trusted them: markup, marks of direction, what every object has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from web.browser import stranger
from web.browser.playground import Playground, t

AGENT = [str(Path(stranger.__file__))]
TABS = ("fields", "flows", "turn", "calls", "graph", "editor", "session")


NARROW = {"viewport": {"width": 390, "height": 800}}


@pytest.fixture
async def playground(page: Page) -> Playground:
    """A conversation that ends with a visit of somebody with a strange name."""
    playground = Playground(page)
    await playground.press("branch.new")
    await expect(playground.turns).to_have_count(0)
    await playground.say("a visit, please")
    await playground.say(f"My name is {stranger.MARKUP}{stranger.TURNED}")
    return playground


async def test_texts_are_texts(playground: Playground) -> None:
    """Wherever they are shown, they are no markup, run nothing, and load nothing."""
    await playground.say(stranger.MARKUP, stranger.TURNED, "x" * 10_000)
    await expect(playground.page.locator(".mine p").nth(2)).to_have_text(stranger.MARKUP)
    for tab in TABS:
        await playground.look(tab)
        assert await playground.page.locator("#playground").locator("img, script").count() == 0
        assert (tab, await playground.page.evaluate("document.documentElement.scrollWidth - innerWidth")) <= (tab, 0)
    assert await playground.page.evaluate("window.harm") is None


@pytest.mark.parametrize("window", [NARROW])
async def test_long_names_on_a_telephone(page: Page) -> None:
    """No panel is wider than the screen, and no word is broken to make place for a name."""
    playground = Playground(page)
    await playground.say("a visit, please", f"My name is {stranger.MARKUP}")
    await playground.press("side.house")
    for tab in TABS:
        panel = await playground.look(tab)
        assert (tab, await panel.evaluate("(panel) => panel.scrollWidth - panel.clientWidth")) == (tab, 0)
    label = (await playground.look("graph")).locator(".flow-choice")
    assert await label.evaluate("(one) => one.clientHeight < 60")


async def test_names_that_every_object_has(playground: Playground) -> None:
    """A flow and steps that are called like them are drawn, and only those are lit that the conversation went through."""
    panel = await playground.look("graph")
    await expect(panel.locator(".picture svg")).to_be_visible()
    await expect(panel.locator(".words li.now")).to_have_count(2)
    editor = await playground.look("editor")
    await expect(editor.locator(".picture svg")).to_be_visible()
    await expect(editor.locator(".words .tag")).to_have_count(0)


async def test_what_a_customer_wrote_turns_nothing_around_it(playground: Playground) -> None:
    """Its marks of direction end with it: what the page says behind a value stands behind it."""
    await (await playground.look("turn")).get_by_text(t("how.understand")).first.wait_for()
    turned = "Array.from(document.querySelectorAll('.changes ins'), (one) => getComputedStyle(one).unicodeBidi)"
    assert await playground.page.evaluate(turned) == ["isolate"]
    # The value is not wider than the panel either, however long it is.
    assert await playground.panel.evaluate("(panel) => panel.scrollWidth - panel.clientWidth") <= 0


async def test_a_flow_may_be_called_anything(playground: Playground) -> None:
    """The editor draws it still: control characters have no place in XML, and are not there."""
    box = (await playground.look("editor")).locator("textarea.code")
    await expect(box).not_to_be_empty()
    flows = json.loads(await box.input_value())
    flows[0]["name"] = "a\u0001b\u0000c"
    await box.fill(json.dumps(flows))
    await expect(playground.page.locator("#findings h3")).not_to_have_text(t("editor.checking"))
    await expect(playground.panel.locator(".picture svg title").first).to_contain_text("a")
