"""What axe-core finds in a page: what keeps people with other eyes, hands or ears out of it."""

from __future__ import annotations

from importlib.resources import files

from playwright.async_api import Page

__all__ = ["barriers"]

_AXE = (files("axe_playwright_python") / "axe.min.js").read_text("utf-8")
_RUN = """rules => axe.run(document, {resultTypes: ['violations'], ...(rules.length && {runOnly: rules})})
    .then(found => found.violations)"""
_GRAVE = ("serious", "critical")


async def barriers(page: Page, *rules: str) -> list[str]:
    """The serious and critical findings of the page as it stands, a line each; by these rules, or by all."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_AXE)
    found = await page.evaluate(_RUN, list(rules))
    return [f"{one['id']}: {one['help']}: {_where(one['nodes'])}" for one in found if one["impact"] in _GRAVE]


def _where(nodes: list[dict[str, list[str]]]) -> str:
    return ", ".join(" ".join(node["target"]) for node in nodes)
