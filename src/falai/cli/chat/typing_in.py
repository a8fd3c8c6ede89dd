"""Where the lines of a chat come from: a prompt in a terminal, or the standard input of a script."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from threading import Thread

from falai.cli.stdin import own_stdin

__all__ = ["is_terminal", "piped_lines", "printing_while_typing", "prompted_lines"]


def is_terminal() -> bool:
    """Whether a person types here, and reads here."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def printing_while_typing() -> AbstractContextManager[None]:
    """While it is open, what is printed appears above the line that is being typed."""
    if not is_terminal():
        return nullcontext()
    from prompt_toolkit.patch_stdout import patch_stdout  # only a terminal needs it

    return patch_stdout(raw=True)


async def prompted_lines(words: Sequence[str], status: Callable[[], str]) -> AsyncIterator[str]:
    """Lines typed at a prompt, until end of file or an interrupt; `status` stands below it."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.formatted_text import HTML

    session: PromptSession[str] = PromptSession(
        HTML("<b><ansigreen>you &gt; </ansigreen></b>"),
        completer=WordCompleter(list(words), sentence=True),
        complete_while_typing=False,
        bottom_toolbar=status,
        refresh_interval=1,
    )
    while True:
        try:
            yield await session.prompt_async()
        except (EOFError, KeyboardInterrupt):
            return


async def piped_lines() -> AsyncIterator[str]:
    """The lines of standard input. It is read on a thread, so timers go off while it is idle."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str | None] = asyncio.Queue()

    def read() -> None:
        with suppress(RuntimeError):  # the loop is closed: the chat was left while this was on its way
            for line in own_stdin():
                loop.call_soon_threadsafe(lines.put_nowait, line.decode("utf-8", "replace").rstrip("\r\n"))
            loop.call_soon_threadsafe(lines.put_nowait, None)

    # A daemon: nobody waits for the next line of a terminal when the program is to end.
    Thread(target=read, name="falai-stdin", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line
