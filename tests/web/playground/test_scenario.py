"""A conversation as a scenario file: saved, it is played again by `falai test`, and all is as it was."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.program import falai
from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Do,
    Field,
    Flow,
    If,
    OnAnyMessage,
    Prompt,
    ProviderError,
    Reset,
    Say,
    ToolContext,
    ToolResult,
    View,
    action,
    failed,
    ok,
    tool,
)
from falai.model import ModelReply, ToolCall
from falai.testing import ScriptedModel
from falai.testing.scenario import load_files, run_case
from web.playground.stage import BOOKING, Page, playground
from web.playground.things import FEW, THINGS


async def _saved(page: Page, folder: Path, branch: str = "b1") -> Path:
    answer = await page.client.get("/playground/api/scenario", params={"branch": branch})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-disposition"] == f'attachment; filename="{branch}.json"'
    file = folder / f"{branch}.json"
    file.write_bytes(answer.content)
    return file


async def _passes(file: Path) -> None:
    differences = [str(one) for case in load_files([file]) for one in await run_case(case)]
    assert differences == []


@pytest.mark.parametrize(
    "things",
    [
        [
            *BOOKING,
            ("event", {"name": "visit_done", "payload": {"by": "Dr. Reis"}}),
            ("clock", {"next": True}),
            "2",
            "ow",
        ],
        ["hello", ("clock", {"next": True}), ("clock", {"ms": 200_000_123}), "hm"],
        ["hello", ("person", {"text": "Rita here", "by": "Rita"}), "thanks", ("gate", {"closed": False}), "prices?"],
        ["a cleaning", "2099-03-02 at 10am", "11am", "Ana", "12", "912 345 678", "no", "no", "2099-03-01 at 9am"],
        [("start", {"flow": "nudge", "input": {"why": [1, None]}}), ("clock", {"ms": 90_000_000})],
    ],
    ids=["booking", "silence", "person", "refusals", "start"],
)
async def test_a_saved_conversation_passes(things: list[Any], tmp_path: Path) -> None:
    """Timers, events, people and the gate included; and the file is one that the command takes."""
    async with playground() as page:
        for thing in things:
            address, body = ("message", {"text": thing}) if isinstance(thing, str) else thing
            await page.post(address, {"branch": "b1", **body})
        file = await _saved(page, tmp_path)
    await _passes(file)


@pytest.mark.property
@given(st.lists(THINGS, min_size=1, max_size=8))
@FEW
async def test_whatever_happened_passes(things: list[tuple[str, Any]]) -> None:
    """Any conversation with the example agent that has a turn can be saved, and passes as it was saved."""
    async with playground() as page:
        for address, body in things:
            await page.post(address, {"branch": "b1", **body})
        kinds: set[str] = {turn["input"]["kind"] for turn in (await page.get("state"))["turns"]}
        if kinds - {"person", "gate", "clock"}:
            with TemporaryDirectory() as folder:
                await _passes(await _saved(page, Path(folder)))


async def test_the_command_plays_it(tmp_path: Path) -> None:
    """`falai test` says that all was as written; and a file in which a text was changed, that it was not."""
    async with playground() as page:
        await page.say(*BOOKING)
        file = await _saved(page, tmp_path)
    assert falai("test", file).code == 0
    file.write_text(file.read_text().replace('"text": "What is your name?"', '"text": "Who are you?"'))
    assert falai("test", file).code == 1


async def test_a_branch_is_saved_whole(tmp_path: Path) -> None:
    """From the beginning, through the turn that was taken back to, to its own end."""
    async with playground() as page:
        await page.say(*BOOKING)
        await page.post("take-back", {"branch": "b1", "turn": 2})
        await page.say("Rui Costa", branch="b2")
        file = await _saved(page, tmp_path, "b2")
    assert len(json.loads(file.read_text())["cases"][0]["turns"]) == 3
    await _passes(file)


async def test_a_deploy_begins_another_case(tmp_path: Path) -> None:
    """Each agent plays its own turns; the second case begins with the session as it was."""
    async with playground() as page:
        await page.say("I'd like to book a cleaning")
        text = (await page.get("spec"))["text"].replace("Which day suits you", "When can you come")
        await page.post("spec/apply", {"text": text})
        await page.say("hm")
        file = await _saved(page, tmp_path)
    cases = json.loads(file.read_text())["cases"]
    assert [len(case["turns"]) for case in cases] == [1, 1]
    assert cases[1]["turns"][0]["session"]["runs"][0]["flowId"] == "book"
    await _passes(file)


@action(moves=["again", Reset()])
def weigh(ctx: ActionContext[Any], much: int) -> ActionResult:
    """Weighs."""
    ctx.set({"weight": much})
    if much > 2:
        raise RuntimeError("too heavy")
    return ok("light", say="It is light.") if much == 1 else failed("not light")


@tool(read_only=True)
async def look(ctx: ToolContext[Any], what: str) -> ToolResult:
    """Looks."""
    return ToolResult({"seen": what}, data={"weight": 7})


def is_even(view: View[Any]) -> bool:
    return view.now.minute % 2 == 0


async def test_tools_failures_and_functions_are_in_the_file(tmp_path: Path) -> None:
    """What a tool found, what an action raised, how a call failed, and what a function decided: all of it is data."""
    replies = [
        ModelReply(tool_calls=(ToolCall("look", {"what": "the sky"}),)),
        {"message": "It is blue."},
        ProviderError("busy", provider="mock", kind="rate", retry_after_ms=1500),
        {"message": "Again.", "weight": None},
    ]
    desk = Agent[Any](
        name="Ana",
        model=ScriptedModel({"speak": replies}),
        fields={"weight": Field(int, ask="Ask.")},
        actions=[weigh],
        tools=[look],
        flows=[
            Flow(
                "f",
                on=[OnAnyMessage(repeat="always", if_=is_even)],
                tools=["look"],
                steps=[
                    Do("one", weigh, {"much": 1}),
                    Do("two", weigh, {"much": 2}),
                    Do("three", weigh, {"much": 3}),
                    Say("again", "{{data.weight}}"),
                    Prompt("talk", "Talk."),
                ],
            )
        ],
    )
    async with playground(desk, context=None) as page:
        await page.post("model", {"id": "real"})
        state = await page.say("one", "two")
        assert [line["detail"] for line in state["turns"][0]["outcomes"] if line["kind"] == "do"][2] == "too heavy"
        assert any((line["code"] or "").startswith("provider-") for line in state["turns"][1]["outcomes"])
        file = await _saved(page, tmp_path)
    await _passes(file)


def is_first_try(view: View[Any]) -> bool:
    return view.run.visits["try"] < 2


def is_one_of(view: View[Any], names: Any) -> bool:
    return "a" in names


async def test_a_condition_that_changes_its_mind_within_a_turn(tmp_path: Path) -> None:
    """What it said is in the file in order, since no context of a turn could say both."""
    steps = [
        Do("try", weigh, {"much": 2}),
        If("more", is_first_try, then="try", else_="one"),
        If("one", {"one.of": ["a", "b"]}),
        Say("bye", "Bye.", then="end"),
        Say("again", "Never."),
    ]
    desk = Agent[Any](
        name="Ana",
        model="lexical",
        fields={"weight": Field(int, ask="Ask.")},
        actions=[weigh],
        conditions={"one.of": is_one_of, "un.asked": is_one_of},
        flows=[Flow("f", steps=steps)],
    )
    async with playground(desk, context=None) as page:
        state = await page.post("start", {"branch": "b1", "flow": "f"})
        assert [line["step"] for line in state["turns"][0]["outcomes"]] == ["try", "more", "try", "more", "one", "bye"]
        file = await _saved(page, tmp_path)
    conditions = json.loads(file.read_text())["cases"][0]["agent"]["conditions"]
    assert conditions["is_first_try"] == {"results": [True, False]}
    assert conditions["one.of"] == {"results": [True]}
    await _passes(file)


async def test_long_conversations_are_summed_up_again(tmp_path: Path) -> None:
    """What was said before is in the file where it decides whether the model is asked for a summary."""
    desk = Agent[Any](
        name="Ana",
        model="lexical",
        compaction={"maxTokens": 60, "preserveRecentCount": 2},
        flows=[Flow("f", on=[OnAnyMessage(repeat="always")], steps=[Prompt("talk", "Talk.")])],
    )
    async with playground(desk, context=None) as page:
        state = await page.say(*(f"this is the sentence number {number} of a long talk" for number in range(6)))
        assert "summary" in {call["name"] for turn in state["turns"] for call in turn["calls"]}
        await page.post("person", {"branch": "b1", "text": "This is Rita, and I say a few words as well."})
        await page.post("gate", {"branch": "b1", "closed": False})
        await page.say("and now?")
        file = await _saved(page, tmp_path)
    await _passes(file)


async def test_a_context_that_is_plain_data_is_in_the_file(tmp_path: Path) -> None:
    """A flow may write what is in it; one that is no data, and is written, is a reason."""
    desk = Agent[Any](name="Ana", model="lexical", flows=[Flow("f", steps=[Say("s", "We are {{context.shop}}.")])])
    async with playground(desk, context=lambda _: {"shop": "Sorriso"}) as page:
        await page.post("start", {"branch": "b1", "flow": "f"})
        assert await page.said() == ["We are Sorriso."]
        file = await _saved(page, tmp_path)
    await _passes(file)
    async with playground(desk, context=lambda folder: folder) as page:
        await page.post("start", {"branch": "b1", "flow": "f"})
        answer = await page.client.get("/playground/api/scenario")
        assert "no plain data" in answer.json()["errors"][0]["message"]


async def test_what_the_format_cannot_say_is_refused_with_all_reasons() -> None:
    """Nothing was said yet; the hours are a function: no half a file is given."""
    desk = Agent[Any](
        name="Ana", model="lexical", business_hours=lambda at, _: at, flows=[Flow("f", steps=[Say("s", "Hello.")])]
    )
    async with playground(desk, context=None) as page:
        answer = await page.client.get("/playground/api/scenario", params={"branch": "b1"})
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["message"] == "Nothing was said yet."
        await page.post("start", {"branch": "b1", "flow": "f"})
        answer = await page.client.get("/playground/api/scenario", params={"branch": "b1"})
        assert answer.json()["errors"][0]["message"].startswith("The agent's business hours are a function")
