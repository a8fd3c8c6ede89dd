"""Changing the flows beside their pictures: what is wrong is said as one types, and what is right can be tried at once."""

from __future__ import annotations

import re

from playwright.async_api import Locator, expect

from web.browser.playground import Playground, t

QUESTION = "how much is a filling?"
OLD = "A check-up is 40 €"
NEW = "This week a check-up is free"
_CHOOSE = """(box, text) => {
    const at = box.value.lastIndexOf(text);
    box.focus();
    box.setSelectionRange(at, at + text.length);
    return at >= 0;
}"""


async def test_a_mistake_and_a_good_one(playground: Playground) -> None:
    """A mistake is found with its line and changes nothing; once mended, the next turn has the new flows."""
    text = await _editor(playground)
    await _write(text, OLD, NEW)
    await _write(text, f'"say": "{NEW}', f'"says": "{NEW}')
    finding = playground.panel.locator("#findings li.error").filter(has_text='Did you mean say instead of "says"?')
    wrong = await text.input_value()
    await finding.get_by_role("button", name=re.compile(r"Line \d+")).click()
    start = await text.evaluate("box => box.selectionStart")
    assert 0 < wrong[start:].index('"says"') < 100
    await expect(playground.button("editor.apply", playground.panel)).to_be_disabled()
    await playground.say(QUESTION)
    await expect(playground.last).to_contain_text(OLD)

    await _write(text, '"says"', '"say"')
    await playground.press("editor.apply", playground.panel)
    await expect(playground.panel).to_contain_text(t("editor.same"))
    await playground.say(QUESTION)
    await expect(playground.last).to_contain_text(NEW)


async def test_a_text_that_is_no_json(playground: Playground) -> None:
    """The place is said, and undoing brings back what the agent has."""
    text = await _editor(playground)
    whole = await text.input_value()
    await _write(text, "]\n", "\n")
    finding = playground.panel.locator("#findings li.error")
    await expect(finding).to_contain_text(re.compile(r"Line \d+, column \d+.*a closing bracket"))
    await playground.press("editor.undo", playground.panel)
    await expect(text).to_have_value(whole)


async def test_the_pictures_beside_the_text(playground: Playground) -> None:
    """The flow in which one writes is drawn, with its steps in words; and drawn anew when it is changed."""
    text = await _editor(playground)
    await _write(text, '"id": "hours"', '"id": "open"')
    await text.press("ArrowLeft")
    await expect(playground.panel.locator("svg [data-step=open]")).to_have_count(1)
    await expect(playground.panel.get_by_role("listitem").filter(has_text="open: ")).to_have_count(1)


async def _editor(playground: Playground) -> Locator:
    """The box with the flows as text."""
    text = (await playground.look("editor")).get_by_role("textbox", name=t("editor.label"))
    await expect(text).not_to_be_empty()
    return text


async def _write(text: Locator, old: str, new: str) -> None:
    """Writes over the last place that has this."""
    assert await text.evaluate(_CHOOSE, old)
    await text.page.keyboard.insert_text(new)
