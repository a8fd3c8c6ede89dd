"""Agents of all kinds, talked to in the playground: what was said is saved, and passes as it was saved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.source import case_files
from falai.errors import FalaiError
from falai.testing.scenario import load_files, run_case
from falai.testing.scenario.stage import Stage
from web.playground.stage import Page, playground

_EACH = 9  # of so many, one is played in the short form


async def test_conversations_with_all_kinds_of_agents_pass(full: bool, tmp_path: Path) -> None:
    """The agents are those of the conformance cases, the inputs theirs too; the lexical model answers."""
    cases = [case.spec for case in load_files(case_files()) if "buildError" not in case.spec]
    saved = 0
    for number, case in enumerate(cases[:: 1 if full else _EACH]):
        try:
            stage = Stage.build(case["agent"])
        except (FalaiError, ValueError):
            continue
        async with playground(stage.agent, context=lambda _: {}, clock=stage.clock) as page:
            await page.post("model", {"id": "lexical"})
            for turn in case["turns"]:
                if "advance" in turn:
                    stage.clock.advance(turn["advance"])
                await _play(page, turn["input"])
            saved += await _passes(page, tmp_path / f"{number}.json", case["name"])
    assert saved or not cases


async def _play(page: Page, given: Mapping[str, Any]) -> None:
    """Some of the inputs are ones that are refused, and others come too late: the playground goes on either way."""
    match given:
        case {"message": text}:
            address, body = "message", {"text": text, "id": given.get("id")}
        case {"event": name}:
            address, body = "event", {"name": name, "payload": given.get("payload")}
        case {"start": {"flow": flow, **rest}}:
            address, body = "start", {"flow": flow, "input": rest.get("input")}
        case _:
            address, body = "clock", {"next": True}
    answer = await page.send(address, {"branch": "b1", **body})
    assert answer.status_code in (200, 422), answer.text


async def _passes(page: Page, file: Path, name: str) -> bool:
    """Whether there was anything to save."""
    answer = await page.client.get("/playground/api/scenario")
    if answer.status_code == 422:
        assert [one["message"] for one in answer.json()["errors"]] == ["Nothing was said yet."], name
        return False
    file.write_bytes(answer.content)
    assert [str(one) for case in load_files([file]) for one in await run_case(case)] == [], name
    return True
