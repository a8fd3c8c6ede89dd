"""The tests' own guard: that it sees what it is there for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from playwright.async_api import Browser, Page

from web.browser.axe import barriers
from web.browser.chromium import Guard


class _Empty(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(204 if self.path == "/nothing" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Security-Policy", "default-src 'none'; connect-src *")
        self.end_headers()

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def home() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), _Empty) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
async def watched(browser: Browser, home: str) -> AsyncIterator[tuple[Page, Guard]]:
    guard = Guard(home)
    context = await browser.new_context()
    guard.watch(context)
    page = await context.new_page()
    await page.goto(home)
    yield page, guard
    await context.close()


async def test_a_page_that_does_nothing_wrong(watched: tuple[Page, Guard]) -> None:
    """Requests to its own host, and what it only tells, are nobody's business."""
    page, guard = watched
    await page.evaluate("async () => { console.log('hello'); await fetch('/nothing') }")
    assert guard.found == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("console.error('lost')", "console: error: lost"),
        ("setTimeout(() => { throw new Error('broken') })", "error in the page"),
        ("fetch('http://example.com/').catch(() => 0)", "request to another host: http://example.com/"),
        ("fetch('http://127.0.0.1:9/').catch(() => 0)", "request to another host: http://127.0.0.1:9/"),
    ],
)
async def test_what_a_page_does_wrong(watched: tuple[Page, Guard], wrong: str, told: str) -> None:
    """An error that is told, one that nobody catches, and another host or port: each is found."""
    page, guard = watched
    await page.evaluate(f"() => {{ {wrong} }}")
    await page.wait_for_timeout(50)
    assert any(told in line for line in guard.found), guard.found


async def test_no_name_leads_anywhere(watched: tuple[Page, Guard]) -> None:
    """The browser finds no host but this machine, whatever the network is."""
    page, _ = watched
    failed = await page.evaluate("fetch('http://example.com/').then(() => 'reached', error => error.message)")
    assert failed == "Failed to fetch"


async def test_a_page_that_keeps_people_out(watched: tuple[Page, Guard]) -> None:
    """A button that says nothing is found, under a strict policy too, and looking for it breaks no rule."""
    page, guard = watched
    await page.evaluate("""() => {
        document.documentElement.lang = 'en';
        document.title = 'Words';
        document.body.innerHTML = '<main><h1>Words</h1><button></button></main>';
    }""")
    assert [line.split(":")[0] for line in await barriers(page)] == ["button-name"]
    await page.locator("button").evaluate("button => button.textContent = 'Send'")
    assert await barriers(page) == []
    assert guard.found == []
