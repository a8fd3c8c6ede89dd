"""`falai chat`: puts file, agent, screen and keyboard together, and lets them run."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import sqlite3
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from falai.agent import Agent
from falai.cli.chat.clock import ShiftedClock
from falai.cli.chat.commands import Commands
from falai.cli.chat.conversation import Conversation, with_model_and_clock
from falai.cli.chat.file import ChatFile
from falai.cli.chat.screen import TerminalScreen
from falai.cli.chat.typing_in import is_terminal, piped_lines, printing_while_typing, prompted_lines
from falai.cli.chat.words import Words
from falai.cli.loading import load_agent
from falai.cli.models import close_model, named_model, without_key

__all__ = ["ChatError", "ChatOptions", "run_chat"]

_SHOWN_TURNS = 5


class ChatError(Exception):
    """There can be no chat; the text says why, for the person at the keyboard."""


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
    """Talks until the person leaves.

    Raises `LoadError` when there is no such agent or model, `ChatError` when the file cannot be used.
    """
    logging.getLogger("falai").addHandler(logging.NullHandler())  # warnings are shown as notes, not on stderr
    loaded = load_agent(options.agent)
    model = named_model(options.model, options.base_url)
    path = (options.store or _home() / f"{_slug(loaded.agent.plan.name)}.sqlite").resolve()
    with _naming(path), closing(_opened(path)) as file, suppress(KeyboardInterrupt):
        clock = ShiftedClock()
        agent = with_model_and_clock(loaded.agent, model, clock)
        asyncio.run(_Chat(agent, clock, file, loaded.context(path.parent)).run(options))


def _opened(path: Path) -> ChatFile:
    try:
        return ChatFile(path)
    except OSError as error:
        raise ChatError(_unusable(path, error)) from error


@contextmanager
def _naming(path: Path) -> Generator[None]:
    """Says that it is the file's fault, when it is."""
    try:
        yield
    except sqlite3.Error as error:
        raise ChatError(_unusable(path, error)) from error
    except ExceptionGroup as errors:  # of several tasks
        of_file = errors.subgroup(sqlite3.Error)
        if of_file is None:
            raise
        raise ChatError(_unusable(path, of_file.exceptions[0])) from errors


def _unusable(path: Path, error: Exception) -> str:
    return f"the chat's file {path} cannot be used: {error}"


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
        try:
            with printing_while_typing(), _logging_to(self._screen):
                await self._conversation.open(session_id)
                if self._clock.ahead_ms:
                    self._screen.time(self._clock.now_ms)
                await self._until_left()
        finally:
            await close_model(self._agent.model)

    async def _until_left(self) -> None:
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(work) for work in (self._conversation.run_timers(), self._read())]
            while (line := await self._lines.get()) is not None:
                await self._take(line)
            for task in beside:
                task.cancel()

    async def _read(self) -> None:
        async for line in self._typed():
            self._lines.put_nowait(line)
        if is_terminal() and (self._conversation.busy or not self._lines.empty()):
            self._screen.note("An answer is still awaited. Ctrl-C leaves at once; what you typed is kept.")
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
        if why := without_key(self._agent.model):
            self._screen.trouble(f"Nobody can answer yet: {why}.")
        for warning in self._agent.warnings:
            self._screen.note(f"Warning: {warning}")
        past = self._file.records(session_id, _SHOWN_TURNS)
        unanswered = [one.input["message"] for one in self._file.incoming(session_id) if "message" in one.input]
        if past or unanswered:
            self._screen.note("It goes on from here:")
            self._screen.past(past)
        for text in unanswered:
            self._screen.customer(text)

    def _status(self) -> str:
        due = self._file.next_due(self._conversation.session_id)
        timer = f" · next timer {self._words.time(due.at_ms)}" if due else ""
        writing = f" · {self._agent.plan.name} is writing" if self._conversation.busy else ""
        held = " · the assistant is silenced" if self._conversation.silenced is not None else ""
        return f" {self._words.time(self._clock.now_ms)}{timer}{held}{writing} · /help"


@contextmanager
def _logging_to(screen: TerminalScreen) -> Generator[None]:
    """Shows what the library logs between the lines of the conversation."""
    handler = _Notes(screen)
    logger = logging.getLogger("falai")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)


class _Notes(logging.Handler):
    def __init__(self, screen: TerminalScreen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        self._screen.note(f"({record.getMessage()})")


def _home() -> Path:
    """Where programs of this person keep their data."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "falai"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "falai"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "falai"


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "agent"
