"""A browser and a playground for each file of tests; for each test a window of its own, under guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, BrowserContext, Page, StorageState, expect

from web.browser.chromium import Guard, chromium
from web.browser.demo import Demo
from web.browser.playground import Playground

HERE = Path(__file__).parent
WAIT_MS = 30_000  # far more than anything needs, on a machine that has much else to do
expect.set_options(timeout=WAIT_MS)
READER = {"locale": "en-GB", "timezone_id": "Europe/Lisbon", "viewport": {"width": 1280, "height": 860}}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def demo(request: pytest.FixtureRequest) -> Iterator[Demo]:
    """With the agent that the file calls `AGENT`, else with the example's."""
    demo = Demo(*getattr(request.module, "AGENT", ()))
    try:
        demo.start()
        yield demo
    finally:
        demo.stop()
        demo.remove()


@pytest.fixture(scope="module")
async def admitted(browser: Browser, demo: Demo) -> StorageState:
    """The cookie for which the printed address is exchanged."""
    context = await browser.new_context()
    await (await context.new_page()).goto(demo.address)
    state = await context.storage_state()
    await context.close()
    return state


@pytest.fixture
def guard(demo: Demo) -> Iterator[Guard]:
    guard = Guard(demo.url)
    yield guard
    assert guard.found == []


@pytest.fixture
def window() -> dict[str, Any]:
    """What is special about a test's window; a test says it by `parametrize`."""
    return {}


@pytest.fixture
async def context(
    browser: Browser, admitted: StorageState, guard: Guard, window: dict[str, Any]
) -> AsyncIterator[BrowserContext]:
    """Windows of one reader."""
    context = await browser.new_context(storage_state=admitted, **{**READER, **window})
    context.set_default_timeout(WAIT_MS)
    guard.watch(context)
    yield context
    await context.close()


@pytest.fixture
async def page(context: BrowserContext, demo: Demo) -> Page:
    page = await context.new_page()
    await page.goto(f"{demo.url}/playground/")
    return page


@pytest.fixture
async def playground(page: Page) -> Playground:
    """A new conversation with the example agent."""
    playground = Playground(page)
    await playground.fresh()
    return playground
