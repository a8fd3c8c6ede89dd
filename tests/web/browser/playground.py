"""The playground's page as its reader sees it: by roles and names. What they are called is in the page's own words."""

from __future__ import annotations

import json
from importlib.resources import files

from playwright.async_api import Locator, Page, expect

__all__ = ["VISIT", "Playground", "t", "words"]


def words(language: str) -> dict[str, str]:
    """The page's words in a language, by key."""
    text = (files("falai.web.playground") / "page" / "text" / f"{language}.js").read_text("utf-8")
    return json.loads(text[text.index("export default ") + len("export default ") : text.rindex("}") + 1])


_EN = words("en")


def t(key: str, **values: object) -> str:
    """What the page says in English, as its own function of this name has it."""
    return _EN[key].format(**values)


VISIT = ("hello", "I have a toothache", "2099-03-02 at 11am", "Ana Silva", "912 345 678", "no", "yes")
"""What a patient of the example agent writes, from the first word to a booked visit."""


class Playground:
    """A page with the playground in it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.box = page.locator("#composer")
        self.turns = page.locator(".turns > .turn:not(.pending)")
        self.last = self.turns.last
        self.panel = page.get_by_role("tabpanel")
        self.dialog = page.get_by_role("dialog")
        self.next = self.button("clock.skip")
        self.branches = page.get_by_role("combobox", name=t("branch.choose"))

    async def say(self, *texts: str) -> None:
        """The customer writes these, each after the answer to the one before."""
        for text in texts:
            await expect(self.dialog).to_have_count(0)  # behind one nobody can write
            written = self.turns.locator(".mine")
            before = await written.count()
            await self.box.fill(text)
            await expect(self.page.get_by_role("button", name=t("composer.send"))).to_be_enabled()
            await self.box.press("Enter")
            await expect(written.nth(before)).to_be_attached()

    async def try_again(self, turn: int) -> None:
        """Back to before a turn, in a conversation of its own."""
        await self.turns.nth(turn - 1).locator(".take-back").click()
        await expect(self.turns).to_have_count(turn - 1)

    async def hears(self, *texts: str) -> None:
        """The last turn's messages, in their order."""
        await expect(self.last.locator(".theirs > p")).to_have_text(texts)

    def button(self, key: str, within: Locator | None = None, **values: object) -> Locator:
        """The button with these words."""
        return (within or self.page).get_by_role("button", name=t(key, **values), exact=True)

    async def press(self, key: str, within: Locator | None = None, **values: object) -> None:
        await self.button(key, within, **values).click()

    async def look(self, tab: str) -> Locator:
        """The panel of a tab, opened."""
        await self.page.get_by_role("tab", name=t(f"tab.{tab}"), exact=True).click()
        return self.panel

    async def fresh(self) -> None:
        """A new conversation, and the page is done with beginning it."""
        before = await self.branches.input_value()
        await self.press("branch.new")
        await expect(self.branches).not_to_have_value(before)
        await expect(self.button("branch.new")).to_be_enabled()
        await expect(self.page.get_by_role("heading", name=t("welcome.title", name="Sofia"))).to_be_visible()

    async def row(self, name: str) -> list[str]:
        """What the fields' table says of a field: value, how often asked, where from."""
        row = (await self.look("fields")).get_by_role("row").filter(has=self.page.locator("th", has_text=name))
        return [" ".join(text.split()) for text in await row.first.get_by_role("cell").all_inner_texts()]
