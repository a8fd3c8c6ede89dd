"""In a real terminal (a pty): a prompt, a status line, and timers that print while one types."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.program import AGENTS, PATIENCE


class Terminal:
    """The program with a terminal of its own."""

    def __init__(self, *arguments: str | Path) -> None:
        self._mine, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "falai.cli", "chat", *map(str, arguments)],
            stdin=theirs, stdout=theirs, stderr=theirs, close_fds=True,
            env={**os.environ, "TERM": "xterm-256color"},
        )  # fmt: skip
        os.close(theirs)
        self._screen = ""

    def type(self, text: str) -> None:
        os.write(self._mine, text.encode())

    def wait_for(self, text: str) -> None:
        """Waits until this has appeared, behind what was waited for before."""
        for _ in range(PATIENCE * 10):
            if text in self._screen:
                self._screen = self._screen.partition(text)[2]
                return
            if select.select([self._mine], [], [], 0.1)[0]:
                self._screen += self._read()
        pytest.fail(f"{text!r} did not appear; there is {self._screen!r}")

    def _read(self) -> str:
        text = os.read(self._mine, 65536).decode("utf-8", "replace")
        if "\x1b[6n" in text:
            self.type("\x1b[1;1R")  # it asked where the cursor is
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)

    def interrupt(self) -> None:
        """What Ctrl-C does when nobody reads the keyboard."""
        self._process.send_signal(signal.SIGINT)

    def ended(self) -> int:
        """The exit code, once the program has left."""
        while self._process.poll() is None:
            if select.select([self._mine], [], [], 0.05)[0]:
                self._drain()
        return self._process.returncode

    def _drain(self) -> None:
        try:
            os.read(self._mine, 65536)
        except OSError:
            self._process.wait(PATIENCE)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._mine)


def _opened(tmp_path: Path, agent: str) -> Iterator[Terminal]:
    made = Terminal(AGENTS / agent, "--store", tmp_path / "chat.sqlite")
    yield made
    made.close()


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    yield from _opened(tmp_path, "timers.py")


@pytest.fixture
def busy(tmp_path: Path) -> Iterator[Terminal]:
    """One whose action takes as long as a file is there."""
    (tmp_path / "busy").touch()
    yield from _opened(tmp_path, "slow.py")


def test_a_timer_prints_while_one_types(terminal: Terminal) -> None:
    """Half a line is typed; the flow's text appears above it, and the line can be finished."""
    terminal.wait_for("you > ")
    terminal.type("I want a reminder\r")
    terminal.wait_for("I will come back.")
    terminal.type("I want a rem")
    terminal.wait_for("Tick > Here I am again.")
    terminal.type("inder\r")
    terminal.wait_for("I will come back.")
    terminal.type("/quit\r")
    assert terminal.ended() == 0


def test_end_of_file_leaves(terminal: Terminal) -> None:
    """Ctrl-D at the prompt is a goodbye."""
    terminal.wait_for("/help")
    terminal.wait_for("you > ")
    terminal.type("\x04")
    assert terminal.ended() == 0


def test_who_leaves_while_an_answer_is_awaited_is_told(busy: Terminal) -> None:
    """The first Ctrl-C says what is waited for, the second one leaves at once."""
    busy.wait_for("you > ")
    busy.type("go\r")
    busy.wait_for("WORKING")
    busy.wait_for("Slow is writing")  # the prompt is there again: what is typed now is read by it
    busy.type("\x03")
    busy.wait_for("An answer is still awaited. Ctrl-C leaves at once")
    busy.interrupt()
    assert busy.ended() == 0


def test_the_status_line_knows_the_next_timer(terminal: Terminal) -> None:
    """Below the prompt: the chat's time, and when something will happen by itself."""
    terminal.wait_for("you > ")
    terminal.type("I want a reminder\r")
    terminal.wait_for("next timer")
