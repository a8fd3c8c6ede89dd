"""What a chat looks like in the terminal. Texts are data: nothing in them steers it or is read as markup."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from falai.cli.chat.records import TurnRecord
from falai.cli.chat.words import Words
from falai.cli.clean import clean

__all__ = ["TerminalScreen"]


class TerminalScreen:
    """Shows a conversation. With `paced`, messages come as far apart as the flow says."""

    def __init__(self, name: str, words: Words, *, paced: bool) -> None:
        self._name = clean(name)
        self._words = words
        self._paced = paced
        self._console = Console(highlight=False, soft_wrap=not paced)  # what is piped keeps its lines whole

    # --- the conversation ---------------------------------------------------------------------

    async def turn(self, record: TurnRecord) -> None:
        if record.heard is None and record.messages:
            self.note(self._words.occasion(record))
        for message in record.messages:
            if self._paced:
                await asyncio.sleep(message.after_ms / 1000)
            self.assistant(message.text)
        for line in record.outcomes:
            if line.status == "deferred" and line.code and line.code.startswith("provider-"):
                self.trouble(f"{line.message} Another try: {self._words.date_text(line.until)}. Nothing is lost.")
        if record.heard is not None and not record.messages:
            self.note("The assistant says nothing to this; /why tells why.")

    def past(self, records: Iterable[TurnRecord]) -> None:
        """What was said before the program was started."""
        for record in records:
            if record.heard is not None:
                self.customer(record.heard)
            for message in record.messages:
                self.assistant(message.text)

    def customer(self, text: str) -> None:
        self._speech("you", "bold green", text)

    def assistant(self, text: str) -> None:
        self._speech(self._name, "bold cyan", text)

    def _speech(self, who: str, style: str, text: str) -> None:
        line = Text.assemble((f"{who} > ", style), clean(text).replace("\n", "\n" + " " * (len(who) + 3)))
        self._console.print(line)

    # --- beside it ----------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Something that nobody said."""
        self._console.print(Text(clean(text), style="dim"))

    def trouble(self, text: str) -> None:
        self._console.print(Text(f"! {clean(text)}", style="bold red"))

    def time(self, at_ms: int) -> None:
        self.note(f"It is {self._words.time(at_ms)} now.")

    def lines(self, rows: Iterable[tuple[str, str]], empty: str) -> None:
        """A list of things with a name and what is to be said of them."""
        listed = [(clean(name), clean(text)) for name, text in rows]
        width = max((len(name) for name, _ in listed), default=0)
        for name, text in listed:
            self._console.print(Text.assemble("  ", (name.ljust(width), "cyan"), "  ", text))
        if not listed:
            self.note(empty)
