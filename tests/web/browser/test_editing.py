"""Changing the flows beside their pictures: what is wrong is said as one types, and what is right can be tried at once."""

from __future__ import annotations

import re

from playwright.async_api import expect

from web.browser.playground import Playground, t

QUESTION = "how much is a filling?"
OLD = "A check-up is 40 €"
NEW = "This week a check-up is free"


async def test_a_mistake_and_a_good_one(playground: Playground) -> None:
    """A mistake is found with its line and changes nothing; once mended, the next turn has the new flows."""
    panel = await playground.look("editor")
    text = panel.get_by_role("textbox", name=t("editor.label"))
    await expect(text).to_have_value(re.compile(OLD))
    good = (await text.input_value()).replace(OLD, NEW)
    wrong = good.replace('"say": "This week', '"says": "This week')
    assert wrong != good

    await text.fill(wrong)
    line = wrong[: wrong.index('"says"')].count("\n") + 1
    finding = panel.locator("#findings li.error").filter(has_text="says")
    await expect(finding.first).to_contain_text("Line ")
    await finding.first.get_by_role("button").click()
    start = await text.evaluate("box => box.selectionStart")
    assert abs(wrong[:start].count("\n") + 1 - line) <= 2
    await expect(playground.button("editor.apply", panel)).to_be_disabled()
    await playground.say(QUESTION)
    await expect(playground.last).to_contain_text(OLD)

    await text.fill(good)
    await expect(panel.get_by_role("status")).not_to_contain_text(t("editor.checking"))
    await expect(panel.locator("#findings li.error")).to_have_count(0)
    await playground.press("editor.apply", panel)
    await expect(panel).to_contain_text(t("editor.same"))
    await playground.say(QUESTION)
    await expect(playground.last).to_contain_text(NEW)


async def test_a_text_that_is_no_json(playground: Playground) -> None:
    """The place is said, and undoing brings back what the agent has."""
    panel = await playground.look("editor")
    text = panel.get_by_role("textbox", name=t("editor.label"))
    await expect(text).not_to_be_empty()
    whole = await text.input_value()
    await text.fill(whole[:-3])
    await expect(panel.locator("#findings li.error")).to_contain_text(
        re.compile(r"Line \d+, column \d+.*a closing bracket")
    )
    await playground.press("editor.undo", panel)
    await expect(text).to_have_value(whole)


async def test_the_pictures_beside_the_text(playground: Playground) -> None:
    """The flow in which one writes is drawn, with its steps in words; and drawn anew when it is changed."""
    panel = await playground.look("editor")
    text = panel.get_by_role("textbox", name=t("editor.label"))
    await expect(text).not_to_be_empty()
    whole = await text.input_value()
    step = whole.index('"id": "hours"', whole.index('"id": "hours"') + 1) + len('"id": "')
    await text.evaluate("(box, at) => { box.focus(); box.setSelectionRange(at, at) }", step)
    await text.press("n")
    await expect(panel.locator("svg [data-step=nhours]")).to_have_count(1)
    await expect(panel.get_by_role("listitem").filter(has_text="nhours")).not_to_have_count(0)
