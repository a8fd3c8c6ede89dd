"""The page for everyone: by keyboard alone, on a telephone, in the dark, in Portuguese, and with a screen reader."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import BrowserContext, Page, expect

from web.browser.axe import barriers
from web.browser.demo import Demo
from web.browser.playground import VISIT, Playground, t, words

TABS = ("fields", "flows", "turn", "calls", "graph", "editor", "session")
NARROW = {"viewport": {"width": 360, "height": 740}}


async def test_no_barriers(playground: Playground) -> None:
    """axe-core finds nothing serious or critical: at the beginning, in each panel, and in each dialog."""
    assert await barriers(playground.page) == []
    await playground.say(*VISIT[:3])
    for tab in TABS:
        panel = await playground.look(tab)
        if tab in ("graph", "editor"):
            await expect(panel.locator("svg").first).to_be_visible()
        assert (tab, await barriers(playground.page)) == (tab, [])
    await playground.try_again(2)
    for opener in ("event.open", "start.open", "gate.close", "clock.other", "model.open", "compare.open"):
        await playground.press(opener, name=t("model.lexical"))
        await expect(playground.dialog).to_be_visible()
        assert (opener, await barriers(playground.page)) == (opener, [])
        await playground.page.keyboard.press("Escape")
        await expect(playground.dialog).to_have_count(0)


async def test_the_focus_stays_where_one_works(playground: Playground) -> None:
    """A button that does something can be pressed again; where it is gone behind that, one may write."""
    keyboard = playground.page.keyboard
    day = playground.button("clock.day")
    await day.focus()
    for days in (1, 2):
        await keyboard.press("Enter")
        await expect(playground.turns).to_have_count(days)
        await expect(day).to_be_focused()
    await playground.press("gate.close")
    await playground.press("gate.close", within=playground.dialog)
    await expect(playground.dialog).to_have_count(0)
    await playground.button("gate.open").focus()
    await keyboard.press("Enter")
    await expect(playground.box).to_be_focused()


@pytest.mark.parametrize("window", [NARROW])
async def test_no_barriers_on_a_telephone(page: Page) -> None:
    """Nor there."""
    await expect(page.locator("#composer")).to_be_visible()
    assert await barriers(page) == []
    await page.get_by_role("button", name=t("side.house"), exact=True).click()
    assert await barriers(page) == []


@pytest.mark.parametrize("window", [NARROW])
async def test_on_a_telephone(page: Page) -> None:
    """One side at a time, nothing wider than the screen, and the same conversation on both."""
    playground = Playground(page)
    await playground.fresh()
    await playground.say("hello")
    await expect(page.get_by_role("tablist")).to_be_hidden()
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    await playground.press("side.house")
    await expect(playground.box).to_be_hidden()
    for tab in TABS:
        await playground.look(tab)
        assert (tab, await page.evaluate("document.documentElement.scrollWidth - innerWidth")) <= (tab, 0)
    await playground.press("side.chat")
    await expect(playground.last).to_contain_text("Hello, this is Sofia")


@pytest.mark.parametrize("window", [NARROW])
async def test_on_a_telephone_the_turn_that_was_looked_at_is_in_view(page: Page) -> None:
    """Whoever chooses a turn among what it did finds it when going back to the conversation."""
    playground = Playground(page)
    await playground.fresh()
    await playground.say("one", "two", "three", "four", "five", "six")
    await playground.press("side.house")
    await playground.look("turn")
    for _ in range(5):
        await playground.press("turn.before")
    await playground.press("side.chat")
    await expect(playground.turns.first).to_be_in_viewport()


async def test_by_keyboard_alone(playground: Playground) -> None:
    """From the first key: to the box, a message, the tabs by arrows, a dialog and back to where one was."""
    page, keys = playground.page, playground.page.keyboard
    await page.reload()
    await expect(playground.box).to_be_visible()
    await page.evaluate("document.activeElement.blur()")
    await keys.press("Tab")
    await expect(page.locator(":focus")).to_have_text(t("skip"))
    await keys.press("Enter")
    await expect(playground.box).to_be_focused()
    await keys.type("how much is a filling?")
    await keys.press("Enter")
    await expect(playground.last).to_contain_text("A check-up is 40 €")
    await expect(playground.box).to_be_focused()

    await _tab_to(page, t("event.open"))
    await keys.press("Enter")
    await expect(playground.dialog).to_be_visible()
    assert await page.evaluate("document.querySelector('dialog').contains(document.activeElement)")
    await keys.press("Escape")
    await expect(playground.dialog).to_have_count(0)
    await expect(page.get_by_role("button", name=t("event.open"), exact=True)).to_be_focused()

    await _tab_to(page, t("tab.fields"))
    await keys.press("ArrowRight")
    await expect(page.get_by_role("tab", name=t("tab.flows"), exact=True)).to_be_focused()
    await expect(page.get_by_role("tab", name=t("tab.flows"), exact=True)).to_have_attribute("aria-selected", "true")
    await keys.press("End")
    await expect(page.get_by_role("tab", name=t("tab.session"))).to_be_focused()
    await keys.press("Tab")
    await expect(playground.panel).to_be_focused()


async def test_who_has_gone_on_is_not_fetched_back(playground: Playground) -> None:
    """A dialog gives the focus back as it closes, and is gone a moment later: by then one may be somewhere else."""
    page = playground.page
    await playground.press("event.open")
    await expect(playground.dialog).to_be_visible()
    begins = page.locator("button", has_text=t("start.open"))
    await begins.evaluate("(button) => (document.querySelector('dialog').close(), button.focus())")
    await expect(page.locator("dialog")).to_have_count(0)
    await expect(begins).to_be_focused()


async def _tab_to(page: Page, text: str) -> None:
    """Goes on by the Tab key to what has this text; fails when it is not on the way."""
    for _ in range(60):
        await page.keyboard.press("Tab")
        if await page.evaluate("document.activeElement.textContent.trim()") == text:
            return
    pytest.fail(f"{text!r} is not reached by the Tab key")


async def test_a_screen_reader_hears_the_answer(playground: Playground) -> None:
    """What the assistant says is put where it is read aloud."""
    await playground.say("how much is a filling?")
    await expect(playground.page.locator("[aria-live=polite]").first).to_contain_text("A check-up is 40 €")


@pytest.mark.parametrize("window", [{"color_scheme": "dark"}])
async def test_in_the_dark(playground: Playground) -> None:
    """Dark behind, light in front, and far enough from each other in each panel."""
    page = playground.page
    ground = await _light(page, "background-color")
    assert ground < 80
    assert await _light(page, "color") > 150 > ground
    await playground.say("hello")
    for tab in TABS:
        await playground.look(tab)
        assert (tab, await barriers(page, "color-contrast")) == (tab, [])


async def _light(page: Page, what: str) -> float:
    """How light a colour of the page is, from 0 to 255."""
    found = await page.evaluate("what => getComputedStyle(document.body).getPropertyValue(what)", what)
    red, green, blue = map(float, re.findall(r"[\d.]+", found)[:3])
    return (red + green + blue) / 3


@pytest.mark.parametrize("window", [{"reduced_motion": "reduce"}])
async def test_nothing_moves_for_those_who_ask(playground: Playground) -> None:
    """No animation runs."""
    await playground.say("hello")
    assert await playground.page.evaluate("document.getAnimations().length") == 0


@pytest.mark.parametrize("window", [{"locale": "pt-BR"}])
async def test_in_portuguese(page: Page) -> None:
    """As the browser prefers, in the whole page; and as the reader chose, from then on."""
    portuguese = words("pt")
    await expect(page.get_by_role("textbox", name=portuguese["composer.customer"])).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "pt")
    await expect(page.locator("body")).not_to_contain_text(re.compile(r"\b(Skip|Send|Fields|Conversation|Close)\b"))
    await page.locator("select:has(option[value=en])").select_option("en")
    await expect(page.get_by_role("button", name=t("composer.send"))).to_be_visible()
    await page.reload()
    await expect(page.get_by_role("button", name=t("composer.send"))).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "en")


IN_THE_BACKGROUND = """
    const later = setTimeout;
    requestAnimationFrame = () => 0;
    setTimeout = (what, ms, ...rest) => later(what, Math.max(ms ?? 0, 1000), ...rest);
"""


async def test_opened_in_a_tab_that_nobody_looks_at(context: BrowserContext, demo: Demo) -> None:
    """Such a page gets no picture and slow timers: the server's answer is there first, and is shown all the same."""
    await context.add_init_script(IN_THE_BACKGROUND)
    page = await context.new_page()
    await page.goto(f"{demo.url}/playground/")
    await expect(page.locator("#composer")).to_be_visible(timeout=5000)
