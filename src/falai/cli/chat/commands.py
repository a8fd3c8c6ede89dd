"""What one can type beside messages: lines that begin with a slash."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from falai.cli.chat.conversation import Conversation
from falai.cli.chat.file import ChatFile
from falai.cli.chat.screen import TerminalScreen
from falai.cli.chat.words import Words
from falai.errors import FalaiError
from falai.flow.durations import EXAMPLES, is_duration, parse_duration
from falai.flow.values import is_known
from falai.session.jsontext import json_text
from falai.session.keys import parse_silence_key

__all__ = ["Commands"]


class _UsageError(Exception):
    """The command was typed in a way that it cannot be read; the text says what is expected."""


@dataclass(frozen=True, slots=True)
class _Command:
    usage: str
    about: str
    run: Callable[[str], Awaitable[None]]


class Commands:
    """The commands of one chat. `leave` ends it."""

    def __init__(
        self,
        *,
        conversation: Conversation,
        file: ChatFile,
        screen: TerminalScreen,
        words: Words,
        leave: Callable[[], None],
        events: tuple[str, ...],
    ) -> None:
        self._conversation = conversation
        self._file = file
        self._screen = screen
        self._words = words
        self._leave = leave
        self._events = events
        self._known = {
            "skip": _Command("/skip 2d", "move the clock ahead; timers on the way go off", self._skip),
            "why": _Command("/why", "what happened in the last turn, and why", self._why),
            "runs": _Command("/runs", "which flows are under way, and which timers are set", self._runs),
            "data": _Command("/data", "the fields that are known", self._data),
            "event": _Command("/event NAME {json}", "report that something happened", self._event),
            "hold": _Command("/hold reason", "do not let the assistant speak (a person has taken over)", self._hold),
            "release": _Command("/release", "let it speak again", self._release),
            "drop": _Command("/drop", "forget what you typed that could not be answered", self._drop),
            "new": _Command("/new", "begin a new conversation; this one stays in the file", self._new),
            "help": _Command("/help", "this list", self._help),
            "quit": _Command("/quit", "leave; the conversation goes on when you come back", self._quit),
        }

    @property
    def names(self) -> tuple[str, ...]:
        """Every command as it is typed."""
        return tuple(f"/{name}" for name in self._known)

    async def run(self, line: str) -> None:
        """Does what a line that begins with a slash says."""
        name, _, rest = line[1:].strip().partition(" ")
        command = self._known.get(name.lower())
        if command is None:
            self._screen.note(self._unknown(name))
            return
        try:
            await command.run(rest.strip())
        except _UsageError as error:
            self._screen.note(f"{error} Like this: {command.usage}")
        except FalaiError as error:
            self._screen.trouble(str(error))

    def _unknown(self, name: str) -> str:
        near = get_close_matches(name, self._known, 1)
        hint = f"Did you mean /{near[0]}?" if near else "/help lists what there is."
        return f"There is no command /{name}. {hint} A message that begins with a slash is typed with two."

    # --- looking ------------------------------------------------------------------------------

    async def _why(self, _rest: str) -> None:
        for record in self._file.records(self._conversation.session_id, 1):
            self._screen.note(self._words.occasion(record))
            self._screen.lines(self._words.why(record), "Nothing came of it.")
            return
        self._screen.note("Nothing has happened yet.")

    async def _runs(self, _rest: str) -> None:
        session = await self._conversation.session()
        runs = session.runs if session else []
        rows = [(" / ".join(filter(None, (run.flow_id, run.step_id))), self._words.run(run)) for run in runs]
        self._screen.lines([*rows, *self._silences()], "No flow is under way, and no timer is set.")

    def _silences(self) -> Iterator[tuple[str, str]]:
        """The flows that begin when nobody writes; other timers are those of runs."""
        session_id = self._conversation.session_id
        for due in self._file.timers(session_id):
            if due.key.startswith("silence:"):
                flow, _ = parse_silence_key(due.key, session_id)
                yield flow, f"begins {self._words.time(due.at_ms)} if nobody writes until then"

    async def _data(self, _rest: str) -> None:
        session = await self._conversation.session()
        data = session.data if session else {}
        known = {slug: value for slug, value in data.items() if is_known(value)}
        rows = [(slug, value if isinstance(value, str) else json_text(value)) for slug, value in known.items()]
        self._screen.lines(rows, "No field is known.")

    async def _help(self, _rest: str) -> None:
        self._screen.lines([(command.usage, command.about) for command in self._known.values()], "")
        if self._events:
            self._screen.note(f"Events of this agent: {', '.join(self._events)}.")

    # --- doing --------------------------------------------------------------------------------

    async def _skip(self, rest: str) -> None:
        if not is_duration(rest):
            raise _UsageError(f"How far? A duration is written {EXAMPLES}.")
        await self._conversation.skip(parse_duration(rest))

    async def _event(self, rest: str) -> None:
        name, _, payload = rest.partition(" ")
        if not name:
            raise _UsageError("Which event?")
        if self._events and name not in self._events:
            self._screen.note(f"The agent does not know the event {name}; it knows {', '.join(self._events)}.")
        await self._conversation.report(name, _payload(payload))

    async def _hold(self, rest: str) -> None:
        self._file.set("silenced", rest or "a person has taken over", self._conversation.session_id)
        self._screen.note("The assistant keeps silent until /release.")

    async def _release(self, _rest: str) -> None:
        self._file.set("silenced", None, self._conversation.session_id)
        self._screen.note("The assistant may speak again.")

    async def _drop(self, _rest: str) -> None:
        count = self._file.forget_incoming(self._conversation.session_id)
        self._screen.note(f"{count} dropped." if count else "There is nothing that waits for an answer.")

    async def _new(self, _rest: str) -> None:
        session_id = self._file.fresh_session_id()
        if session_id == self._conversation.session_id:
            self._screen.note("This conversation is new.")
            return
        self._file.set("session", session_id)
        self._screen.note(f"This is {session_id}. Back to the other one: --session {self._conversation.session_id}")
        await self._conversation.open(session_id)

    async def _quit(self, _rest: str) -> None:
        self._leave()


def _payload(text: str) -> Any:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        raise _UsageError(f"The payload is not JSON: {error}.") from error
