"""The system's chromium, cut off from every network, and a guard over what its pages do.

Playwright's driver runs beside it. Everything is asynchronous, because its synchronous face leaves a running
event loop behind it, in which no other asynchronous test could begin.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Browser, BrowserContext, Request, async_playwright

from servers.process import program

__all__ = ["Guard", "chromium"]

_QUIET = (
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--no-pings",
    "--no-proxy-server",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
_LOOKS = ("--font-render-hinting=none", "--force-color-profile=srgb", "--hide-scrollbars")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """A browser without a window; when the program is missing, as for any server of the tests."""
    path = program("chromium", "chromium")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=[*as_root, *_QUIET, *_LOOKS])
        try:
            yield browser
        finally:
            await browser.close()


class Guard:
    """What must not happen in any page: an error, or a request to another host than `home`."""

    def __init__(self, home: str) -> None:
        self.found: list[str] = []
        self._home = urlsplit(home).netloc

    def watch(self, context: BrowserContext) -> None:
        context.on("request", self._request)
        context.on("console", self._console)
        context.on("weberror", lambda error: self.found.append(f"error in the page: {error.error}"))

    def forget(self, part: str) -> None:
        """One finding that the test has provoked."""
        self.found.remove(next(line for line in self.found if part in line))

    def _request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and parts.netloc != self._home:
            self.found.append(f"request to another host: {request.url}")

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.found.append(f"console: {message.type}: {message.text}")
