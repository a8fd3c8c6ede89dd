"""A whole conversation with the example agent, and what the page tells about it."""

from __future__ import annotations

import json
import re

from playwright.async_api import Browser, BrowserContext, Page, expect

from web.browser.chromium import Guard
from web.browser.demo import Demo
from web.browser.playground import VISIT, Playground, t

BOOKED = "It is booked, Ana Silva: filling on Monday, 2 March at 11:00. Your code is V001."


async def test_a_visit_is_booked(playground: Playground) -> None:
    """From the first word to the code of the visit; both sides' messages stand in their order, under their names."""
    await playground.say("hello")
    await playground.hears(
        "Hello, this is Sofia of the Sorriso dental clinic. I can book, move or cancel a visit, and tell you about "
        "prices, opening hours and the way here."
    )
    await playground.say("I have a toothache", "2099-03-02 at 10am")
    await playground.hears(
        "Monday, 2 March at 10:00 is taken; still free that day: 09:00, 11:00, 14:00, 15:00, 16:00, 17:00.",
        "What other time suits you that day?",
    )
    await playground.say("how much is a filling?")
    await playground.hears("A check-up is 40 €, a cleaning 60 €, a whitening 180 €, a filling from 75 €.")
    await playground.say("11am", *VISIT[3:])
    await expect(playground.last.locator(".theirs > p").last).to_have_text(BOOKED)
    await expect(playground.turns).to_have_count(9)
    await expect(playground.page.locator(".mine > p").nth(1)).to_have_text("I have a toothache")


async def test_who_said_what(playground: Playground) -> None:
    """Each message says whether the author or the model worded it, and in which step."""
    await playground.say(*VISIT[:3])
    await expect(playground.turns.first.locator(".meta")).to_contain_text("say")
    await expect(playground.last.locator(".meta")).to_contain_text("ai")
    await playground.say(*VISIT[3:])
    said = playground.last.locator(".theirs")
    await expect(said.first.locator(".meta")).to_contain_text("ai")
    await expect(said.last.locator(".meta")).to_contain_text("say")
    await expect(said.last.locator(".meta")).to_contain_text("booked")


async def test_the_house_of_the_conversation(playground: Playground) -> None:
    """Fields with their source, outcome lines in words, runs and waits, model calls, the graph and the session."""
    await playground.say(*VISIT[:4])
    assert await playground.row("phone") == ["being asked", "2×", "—"]
    assert await playground.row("name") == ["Ana Silva", "1×", "Turn 4 read in the message"]
    flows = await playground.look("flows")
    await expect(flows.get_by_role("listitem").filter(has_text=t("runs.floor"))).to_contain_text(t("run.asking"))
    await playground.say(*VISIT[4:])
    assert (await playground.row("appointment"))[0::2] == ["V001", "Turn 7 from an action"]

    turn = await playground.look("turn")
    await expect(turn).to_contain_text(t("turn.of", n=7, all=7))
    await expect(turn.locator(".outcome").filter(has_text="V001")).to_contain_text("The action did its work.")
    await expect(turn.locator(".changes").first).to_contain_text("appointment")

    flows = await playground.look("flows")
    await expect(flows).to_contain_text("The reminder before a visit")
    await expect(flows.locator("time")).to_contain_text("1 Mar 2099")

    calls = await playground.look("calls")
    await expect(calls.locator("summary")).to_contain_text([re.compile("Understand.*lexical"), re.compile("Speak")])
    await calls.locator("summary").first.click()
    await expect(calls.get_by_label(t("calls.prompt")).first).to_contain_text("yes")

    session = await playground.look("session")
    stored = json.loads(await session.locator("pre").inner_text())
    assert stored["data"]["appointment"] == "V001"


async def test_the_graph_lights_where_the_conversation_is(playground: Playground) -> None:
    """The steps that it went through and the one where it stands, in the picture and in the words beside it."""
    await playground.say(*VISIT[:2])
    graph = await playground.look("graph")
    await expect(graph.locator("svg .here")).to_have_count(1)
    step = await graph.locator("svg .here").get_attribute("data-step")
    here = graph.get_by_role("listitem").filter(has_text=t("graph.here"))
    await expect(here).to_contain_text(str(step))
    await graph.get_by_role("combobox", name=t("flow")).select_option("welcome")
    await playground.press("turn.before", graph)
    await expect(graph.locator("svg [data-step=hello]")).to_have_class(re.compile("now|visited"))


async def test_an_earlier_turn_is_looked_at(playground: Playground) -> None:
    """Choosing a turn shows what it did, and the newest one comes back with the next message."""
    await playground.say(*VISIT[:2])
    turn = await playground.look("turn")
    await playground.turns.first.get_by_role("button", name=re.compile("^" + t("turn.n", n=1))).click()
    await expect(turn).to_contain_text(t("turn.of", n=1, all=2))
    await playground.say(VISIT[2])
    await expect(turn).to_contain_text(t("turn.of", n=3, all=3))


async def test_two_tabs(playground: Playground, context: BrowserContext) -> None:
    """Both may write into one conversation at once: each is answered, nothing is lost, and both see all of it."""
    other = Playground(await context.new_page())
    await other.page.goto(playground.page.url)
    await other.branches.select_option(await playground.branches.input_value())
    await expect(other.page.get_by_role("heading", name=t("welcome.title", name="Sofia"))).to_be_visible()
    for tab, text in ((playground, "how much is a filling?"), (other, "where are you?")):
        await tab.box.fill(text)
    for tab in (playground, other):
        await tab.box.press("Enter")
    for tab in (playground, other):
        await tab.say("thanks")
    await playground.page.reload()
    await playground.branches.select_option(await other.branches.input_value())
    await expect(playground.turns).to_have_count(4)
    written = await playground.page.locator(".mine > p").all_inner_texts()
    assert sorted(written) == ["how much is a filling?", "thanks", "thanks", "where are you?"]


async def test_the_printed_address_opens_once(browser: Browser, demo: Demo, page: Page, guard: Guard) -> None:
    """A second reader of the address is turned away with a sentence; the first one's page goes on."""
    context = await browser.new_context()
    stranger = await context.new_page()
    await stranger.goto(demo.address)
    await expect(stranger.locator("body")).not_to_contain_text("Say hello")
    state = await context.request.get(f"{demo.url}/playground/api/state")
    assert state.status == 401
    await context.close()
    await page.reload()
    await expect(Playground(page).box).to_be_visible()
