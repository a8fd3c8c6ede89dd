"""The program as a person runs it: a process with its own standard input, output and file."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread

from click.testing import CliRunner

from falai.cli.command import cli

__all__ = ["AGENTS", "PATIENCE", "Chat", "Finished", "chat", "chatting", "command", "falai"]

AGENTS = Path(__file__).parent / "agents"
PATIENCE = 60
_COMMAND = (sys.executable, "-m", "falai.cli")


class Finished:
    """A program that has ended: its exit code and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code = code
        self.out = out
        self.err = err

    def said(self, name: str) -> list[str]:
        """What this speaker said."""
        return re.findall(rf"^{name} > (.*)$", self.out, re.MULTILINE)


def falai(*arguments: str | Path, typed: str = "", env: dict[str, str] | None = None) -> Finished:
    """Runs the program to its end."""
    done = subprocess.run(
        [*_COMMAND, *map(str, arguments)],
        input=typed, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=False, env=_env(env),
    )  # fmt: skip
    return Finished(done.returncode, done.stdout, done.stderr)


def command(*arguments: str | Path, typed: str = "", env: Mapping[str, str | None] | None = None) -> Finished:
    """The same without a process of its own, which is quicker; what is `None` in `env` is not set."""
    done = CliRunner(env=env).invoke(cli, [*map(str, arguments)], input=typed)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Finished(done.exit_code, done.stdout, done.stderr)


def chat(store: Path, lines: Sequence[str], *arguments: str | Path) -> Finished:
    """A conversation that is typed to its end."""
    return falai("chat", *arguments, "--store", store, typed="".join(f"{line}\n" for line in lines))


class Chat:
    """A conversation that goes on while the test looks at it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._printed = ""
        self._more = Condition()
        self._seen = 0
        Thread(target=self._read, daemon=True).start()

    def type(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def wait_for(self, text: str) -> str:
        """Waits until this is printed, behind what was waited for before; gives what came until then."""
        with self._more:
            found = self._more.wait_for(lambda: text in self._printed[self._seen :], PATIENCE)
            assert found, f"{text!r} was not printed; there is {self._printed!r}"
            begin, self._seen = self._seen, self._printed.index(text, self._seen) + len(text)
            return self._printed[begin : self._seen]

    def ended(self) -> int:
        """Waits for its end; gives its exit code."""
        return self._process.wait(PATIENCE)

    def kill(self) -> None:
        """As `kill -9` does: nothing can be put in order any more."""
        self._process.kill()
        self._process.wait(PATIENCE)

    def _read(self) -> None:
        assert self._process.stdout is not None
        while piece := self._process.stdout.readline():
            with self._more:
                self._printed += piece
                self._more.notify_all()


@contextmanager
def chatting(store: Path, *arguments: str | Path, env: dict[str, str] | None = None) -> Iterator[Chat]:
    """A conversation whose standard input stays open."""
    process = subprocess.Popen(
        [*_COMMAND, "chat", *map(str, arguments), "--store", str(store)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8",
        env=_env(env),
    )  # fmt: skip
    try:
        yield Chat(process)
    finally:
        process.kill()
        process.communicate()


def _env(more: dict[str, str] | None) -> dict[str, str]:
    return {**os.environ, "PYTHONUNBUFFERED": "1", "FALAI_MODEL": "lexical", **(more or {})}
