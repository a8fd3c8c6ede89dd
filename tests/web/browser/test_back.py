"""Going back to a turn, comparing what came of it, and keeping a conversation as a test."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from playwright.async_api import expect

from web.browser.playground import VISIT, Playground, t


async def test_another_answer_is_tried(playground: Playground) -> None:
    """Taken back to before a turn, the conversation stands as it did then; the other one is kept, and both are compared."""
    await playground.say(*VISIT)
    await playground.try_again(7)
    await expect(playground.box).to_have_value("yes")
    await expect(playground.page.locator(".chat")).not_to_contain_text("Your code is")
    assert (await playground.row("appointment"))[0] == "not known"
    await playground.say("no")
    await expect(playground.last).not_to_contain_text("It is booked")

    await playground.press("compare.open")
    await expect(playground.dialog).to_contain_text(t("compare.shared", n=6))
    sides = playground.dialog.locator(".sides section")
    await expect(sides).to_have_count(2)
    await expect(playground.dialog).to_contain_text("It is booked, Ana Silva")
    await expect(playground.dialog.get_by_role("row").filter(has_text="appointment")).to_contain_text("V001")
    await playground.press("dialog.close", playground.dialog)

    origin = playground.branches.locator("option").nth(-2)
    await playground.branches.select_option(await origin.get_attribute("value"))
    await expect(playground.turns).to_have_count(7)
    await expect(playground.last).to_contain_text("Your code is V001")


async def test_what_was_waited_for_is_taken_back_too(playground: Playground) -> None:
    """Timers, the clock and the gate are as they were."""
    await playground.say("I would like a cleaning")
    await playground.next.click()
    await playground.hears("Hello, it is me again. Shall we go on?")
    await playground.try_again(2)
    await expect(playground.page.locator(".clock .next")).to_contain_text("Following up on silence")
    await playground.next.click()
    await playground.hears("Hello, it is me again. Shall we go on?")


async def test_a_conversation_becomes_a_scenario(playground: Playground, tmp_path: Path) -> None:
    """The file that is saved, clock, event, gate and person included, is played by `falai test` and found as it was."""
    await playground.say(*VISIT)
    await playground.press("event.open")
    await playground.press("event.send", playground.dialog)
    await playground.press("clock.day")
    await playground.say("4")
    async with playground.page.expect_download() as downloading:
        await playground.press("save.open")
    download = await downloading.value
    assert re.fullmatch(r"[\w.-]+\.(json|yaml)", download.suggested_filename)
    saved = tmp_path / download.suggested_filename
    await download.save_as(saved)

    played = subprocess.run(
        [sys.executable, "-m", "falai.cli", "test", str(saved)], capture_output=True, text=True, check=False
    )
    assert (played.returncode, played.stderr) == (0, ""), played.stdout
    assert "V001" in saved.read_text("utf-8")
    if saved.suffix == ".json":
        assert len(json.loads(saved.read_text("utf-8"))["cases"]) == 1
