"""The host's loop: one turn at a time, all of it kept or nothing, and replayed when another program was faster."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from falai import ActionContext, ActionResult, Agent, Do, Flow, OnAnyMessage, OnSilence, Prompt, ProviderError, Say, ok
from falai.cli.chat.clock import ShiftedClock
from falai.cli.chat.conversation import Conversation, with_model_and_clock
from falai.cli.chat.file import ChatFile
from falai.cli.chat.records import TurnRecord
from falai.testing import ScriptedModel

Meddle = Callable[[], Awaitable[None]]


class Shown:
    """A screen that remembers."""

    def __init__(self) -> None:
        self.turns: list[TurnRecord] = []
        self.troubles: list[str] = []

    async def turn(self, record: TurnRecord) -> None:
        self.turns.append(record)

    def trouble(self, text: str) -> None:
        self.troubles.append(text)

    def time(self, at_ms: int) -> None:
        self.now = at_ms

    @property
    def said(self) -> list[str]:
        return [message.text for turn in self.turns for message in turn.messages]


async def meddle(ctx: ActionContext[Meddle | None]) -> ActionResult:
    """Let something else happen in the middle of the turn."""
    if ctx.context is not None:
        await ctx.context()
    return ok()


def _agent(model: Any = "lexical") -> Agent[Any]:
    return Agent(
        name="A",
        model=model,
        idle="silent",
        actions=[meddle],
        flows=[
            Flow("any", on=[OnAnyMessage(repeat="always")], steps=[Do("work", meddle), Say("done", "Done.")]),
            Flow("nudge", on=[OnSilence("1h")], steps=[Prompt("again", "Ask again.")]),
        ],
    )


async def _open(path: Path, context: Any = None, model: Any = None) -> tuple[Conversation, ChatFile, Shown]:
    file, screen, clock = ChatFile(path), Shown(), ShiftedClock()
    await file.initialize()
    agent = with_model_and_clock(_agent(), model, clock)
    conversation = Conversation(agent, context, clock=clock, file=file, screen=screen)
    await conversation.open("s1")
    return conversation, file, screen


async def test_a_turn_that_lost_is_played_again(tmp_path: Path) -> None:
    """Another program takes a turn of the session meanwhile: nothing of the slow turn counts until it is replayed."""
    path = tmp_path / "chat.sqlite"
    fast, fast_file, _ = await _open(path)
    faster = [True]

    async def be_faster() -> None:
        if faster.pop() if faster else False:
            await fast.say("first")

    slow, slow_file, shown = await _open(path, be_faster)
    await slow.say("second")
    session = await slow.session()
    assert session is not None
    assert session.version == 2
    assert len(session.inputs) == 2
    assert sorted(record.heard or "" for record in slow_file.records("s1", 9)) == ["first", "second"]
    assert shown.troubles == []
    assert slow_file.incoming("s1") == []
    fast_file.close()
    slow_file.close()


async def test_a_timer_that_fails_comes_back(tmp_path: Path) -> None:
    """The provider refuses the key: the follow-up is not lost, and skipping stops where it failed."""
    model = ScriptedModel({"speak": [ProviderError("no", kind="auth"), {"message": "Are you there?"}]})
    conversation, file, shown = await _open(tmp_path / "chat.sqlite", model=model)
    await conversation.say("hello")
    await conversation.skip(5 * 3_600_000)
    assert len(shown.troubles) == 1
    assert shown.said == ["Done."]
    [due] = file.timers("s1")
    assert due.at_ms - shown.now <= 60_000
    await conversation.skip(60_000)
    assert shown.said == ["Done.", "Are you there?"]
    file.close()


async def test_tries_come_to_an_end(tmp_path: Path) -> None:
    """A reply that fails again and again is given up by the turn's own rule (T-15.14), and the chat lets it."""
    model = ScriptedModel({"speak": [ProviderError("no", kind="overload")] * 6})
    conversation, file, shown = await _open(tmp_path / "chat.sqlite", model=model)
    await conversation.say("hello")
    await conversation.skip(2 * 86_400_000)
    session = await conversation.session()
    assert session is not None
    assert session.runs == []
    assert file.timers("s1") == []
    assert shown.troubles == []
    assert model.remaining() == {}
    file.close()


async def test_a_timer_goes_off_once(tmp_path: Path) -> None:
    """A timer that has gone off is not set again when the session is opened again."""
    model = ScriptedModel({"speak": [{"message": "Are you there?"}]})
    conversation, file, shown = await _open(tmp_path / "chat.sqlite", model=model)
    await conversation.say("hello")
    await conversation.skip(3_600_000)
    await conversation.open("s1")
    assert file.timers("s1") == []
    assert shown.said == ["Done.", "Are you there?"]
    file.close()


async def test_a_later_word_takes_the_older_timer_back(tmp_path: Path) -> None:
    """Only the newest silence has a timer: what would be ignored is not waited for."""
    conversation, file, _ = await _open(tmp_path / "chat.sqlite")
    await conversation.say("one")
    await conversation.skip(1000)
    await conversation.say("two")
    assert len(file.timers("s1")) == 1
    file.close()


async def test_numbers_of_any_size_are_kept(tmp_path: Path) -> None:
    """What a session can hold, the record of its turns can hold."""
    conversation, file, _ = await _open(tmp_path / "chat.sqlite")
    await conversation.report("rain", {"drops": 10**40})
    assert file.records("s1", 1)[0].input["payload"] == {"drops": 10**40}
    file.close()


@pytest.mark.parametrize("text", ["", "  ", "\U0001f600", "{{data.x}}", '"; DROP TABLE chat_turns; --'])
async def test_any_text_comes_back_as_it_was(tmp_path: Path, text: str) -> None:
    """What was typed is data, wherever it goes."""
    conversation, file, _ = await _open(tmp_path / "chat.sqlite")
    await conversation.say(text)
    assert file.records("s1", 1)[0].heard == text
    file.close()
