"""`falai chat`: puts file, agent, screen and keyboard together, and lets them run."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from falai.agent import Agent
from falai.cli.chatfile import ChatFile
from falai.cli.clock import ShiftedClock
from falai.cli.commands import Commands
from falai.cli.conversation import Conversation, with_model_and_clock
from falai.cli.loading import load_agent
from falai.cli.screen import TerminalScreen
from falai.cli.typing_in import is_terminal, piped_lines, printing_while_typing, prompted_lines
from falai.cli.words import Words
from falai.model.names import resolve_model

__all__ = ["ChatOptions", "ModelError", "run_chat"]

_SHOWN_TURNS = 5


class ModelError(Exception):
    """The model that was asked for cannot be had; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOptions:
    """What the command line says; `model` is `None` for the agent's own."""

    agent: str
    model: str | None = None
    base_url: str | None = None
    store: Path | None = None
    session: str | None = None
    new: bool = False


def run_chat(options: ChatOptions) -> None:
    """Talks until the person leaves. Raises `LoadError` and `ModelError` before anything is opened."""
    loaded = load_agent(options.agent)
    model = _model(options)
    path = options.store or _home() / f"{_slug(loaded.agent.plan.name)}.sqlite"
    file = ChatFile(path.resolve())
    clock = ShiftedClock()
    context = loaded.context(file.path.parent) if loaded.context else None
    agent = with_model_and_clock(loaded.agent, model, clock)
    with suppress(KeyboardInterrupt):
        asyncio.run(_Chat(agent, clock, file, context).run(options))
    file.close()


class _Chat:
    """One run of the program."""

    def __init__(self, agent: Agent[Any], clock: ShiftedClock, file: ChatFile, context: Any) -> None:
        self._agent = agent
        self._clock = clock
        self._file = file
        self._words = Words(agent.plan.timezone)
        self._screen = TerminalScreen(agent.plan.name, self._words, paced=is_terminal())
        self._conversation = Conversation(agent, context, clock=clock, file=file, screen=self._screen)
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._commands = Commands(
            conversation=self._conversation,
            file=file,
            screen=self._screen,
            words=self._words,
            leave=self._leave,
            events=tuple(agent.plan.events),
        )

    async def run(self, options: ChatOptions) -> None:
        await self._file.initialize()
        session_id = self._session_id(options)
        self._greet(session_id)
        with printing_while_typing():
            await self._conversation.open(session_id)
            await self._until_left()

    async def _until_left(self) -> None:
        beside = [asyncio.create_task(work) for work in (self._conversation.run_timers(), self._read())]
        try:
            while (line := await self._lines.get()) is not None:
                await self._take(line)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _read(self) -> None:
        async for line in self._typed():
            self._lines.put_nowait(line)
        self._leave()

    def _typed(self) -> AsyncIterator[str]:
        return prompted_lines(self._commands.names, self._status) if is_terminal() else piped_lines()

    async def _take(self, line: str) -> None:
        if not is_terminal():
            self._screen.customer(line)
        if line.startswith("/") and not line.startswith("//"):
            await self._commands.run(line)
        elif line.strip():
            await self._conversation.say(line.removeprefix("/"))
        else:
            await self._conversation.play_incoming()

    def _leave(self) -> None:
        self._lines.put_nowait(None)

    def _session_id(self, options: ChatOptions) -> str:
        last = self._file.setting("session")
        session_id = options.session or (None if options.new else last) or self._file.fresh_session_id()
        self._file.set("session", session_id)
        return session_id

    def _greet(self, session_id: str) -> None:
        about = " It matches words and needs no key or network." if self._agent.model.name == "lexical" else ""
        self._screen.note(f"{self._agent.plan.name} speaks through the model {self._agent.model.name}.{about}")
        self._screen.note(f"The conversation is {session_id} in {self._file.path}. /help lists the commands.")
        past = self._file.records(session_id, _SHOWN_TURNS)
        if past:
            self._screen.note("It goes on from here:")
            self._screen.past(past)

    def _status(self) -> str:
        due = self._file.next_due(self._conversation.session_id)
        timer = f" · next timer {self._words.time(due.at_ms)}" if due else ""
        held = " · the assistant is silenced" if self._conversation.silenced is not None else ""
        return f" {self._words.time(self._clock.now_ms)}{timer}{held} · /help"


def _model(options: ChatOptions) -> Any:
    if options.base_url is not None and options.model is None:
        raise ModelError("--base-url says where, and --model what: name a model, such as --model openai:my-model")
    if options.model is None:
        return None
    try:
        return resolve_model(options.model, base_url=options.base_url)
    except (ValueError, TypeError, ImportError) as error:
        raise ModelError(str(error)) from error


def _home() -> Path:
    """Where programs of this person keep their data."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "falai"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "falai"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "falai"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "agent"
