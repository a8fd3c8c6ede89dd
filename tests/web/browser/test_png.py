"""Pictures in fewer bytes."""

from __future__ import annotations

import base64

import pytest
from playwright.async_api import Browser

from web.browser.png import smaller

_COLOURS = "url => new Promise(done => { const image = new Image(); image.onload = () => { const canvas = document.createElement('canvas'); canvas.width = image.width; canvas.height = image.height; const brush = canvas.getContext('2d'); brush.drawImage(image, 0, 0); done([...brush.getImageData(0, 0, image.width, image.height).data]) }; image.src = url })"
PAGE = "<body style='background: linear-gradient(90deg, #102030, #405060)'><h1 style='color: #fff'>Words</h1>"


async def test_a_picture_stays_what_it_was(browser: Browser) -> None:
    """A browser reads it, in the same size; no colour is far from what it was."""
    page = await browser.new_page(viewport={"width": 160, "height": 90})
    await page.set_content(PAGE)
    whole = await page.screenshot()
    small = smaller(whole)
    assert len(small) < len(whole)
    before, after = [
        await page.evaluate(_COLOURS, "data:image/png;base64," + base64.b64encode(one).decode())
        for one in (whole, small)
    ]
    assert len(before) == len(after) == 160 * 90 * 4
    assert max(abs(one - other) for one, other in zip(before, after, strict=True)) < 40
    await page.close()


def test_another_form_is_refused() -> None:
    """A picture that has a palette already is none of the browser's."""
    png = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABAQMAAAAl21bKAAAAA1BMVEX///+nxBvIAAAACklEQVQI12NgAAAAAgAB4iG8MwAAAABJRU5ErkJggg=="
    )
    with pytest.raises(ValueError, match="none of chromium's"):
        smaller(png)
