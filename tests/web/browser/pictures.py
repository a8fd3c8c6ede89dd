"""Takes the pictures of the playground that the documentation shows: `make pictures`.

The clock stands still, and nothing is taken that says how long something took: the same page gives the same picture.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import uvicorn
from playwright.async_api import Browser, expect

from falai.examples.clinic import agent, chat_context
from falai.web.playground import create_playground
from web.browser.chromium import Guard, chromium
from web.browser.playground import Playground, t
from web.browser.png import smaller

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
NOW = datetime(2026, 9, 21, 9, 30, tzinfo=UTC)
WRITTEN = ("hello", "I have a toothache", "2026-09-24 at 11am", "Ana Silva", "912 345 678", "no", "yes")
DESK = {"viewport": {"width": 1200, "height": 760}}
TELEPHONE = {"viewport": {"width": 390, "height": 760}, "color_scheme": "dark"}


@asynccontextmanager
async def playground() -> AsyncIterator[str]:
    """The example agent's, open to whoever comes; gives its address."""
    app = create_playground(agent, context=chat_context, clock=lambda: NOW)
    place = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    task = asyncio.create_task(server.serve([place]))
    yield f"http://127.0.0.1:{place.getsockname()[1]}/playground/"
    server.should_exit = True
    await task


@asynccontextmanager
async def page(browser: Browser, address: str, window: dict[str, Any]) -> AsyncIterator[Playground]:
    """A new conversation in a window of its own."""
    context = await browser.new_context(locale="en-GB", timezone_id="UTC", reduced_motion="reduce", **window)
    guard = Guard(address)
    guard.watch(context)
    view = await context.new_page()
    await view.goto(address)
    shown = Playground(view)
    await shown.fresh()
    yield shown
    await context.close()
    if guard.found:
        raise RuntimeError("\n".join(guard.found))


async def take(shown: Playground, name: str) -> None:
    """The page as it stands, in the documentation."""
    await shown.page.evaluate("document.activeElement.blur()")
    (PICTURES / f"{name}.png").write_bytes(smaller(await shown.page.screenshot(animations="disabled", caret="hide")))


async def at_a_desk(shown: Playground) -> None:
    """The parts of the page, over one conversation."""
    await shown.say(*WRITTEN[:4])
    await shown.look("fields")
    await take(shown, "playground")
    await shown.look("graph")
    await expect(shown.panel.locator("svg .here")).to_have_count(1)
    await take(shown, "playground-graph")
    await shown.say(*WRITTEN[4:])
    await shown.look("turn")
    await take(shown, "playground-turn")
    await shown.try_again(7)
    await shown.say("no")
    await shown.press("compare.open")
    await expect(shown.dialog.locator(".sides section")).to_have_count(2)
    await take(shown, "playground-compare")


async def editing(shown: Playground) -> None:
    """A mistake in a flow, and what is said about it."""
    panel = await shown.look("editor")
    text = panel.get_by_role("textbox", name=t("editor.label"))
    await expect(text).not_to_be_empty()
    await text.fill((await text.input_value()).replace('"onFail": "later"', '"onFail": "latter"'))
    await panel.locator("#findings li.error button").first.click()
    await take(shown, "playground-editor")


async def follow_up(shown: Playground) -> None:
    """On a telephone, in the dark: a customer who fell silent."""
    await shown.say("I would like a cleaning")
    await shown.next.click()
    await shown.hears("Hello, it is me again. Shall we go on?")
    await take(shown, "playground-telephone")


async def main() -> None:
    """All of them."""
    logging.disable(logging.CRITICAL)
    async with playground() as address, chromium() as browser:
        for window, views in ((DESK, at_a_desk), (DESK, editing), (TELEPHONE, follow_up)):
            async with page(browser, address, window) as shown:
                await views(shown)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
