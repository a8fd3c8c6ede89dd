"""`falai run` as a process that a test talks to, ends and kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread
from typing import Any, BinaryIO

from cli.program import PATIENCE

__all__ = ["Running", "environment", "lines_of", "run_once", "running"]

_COMMAND = (sys.executable, "-m", "falai.cli", "run")


class Running:
    """A host that runs. `out` has the lines of its standard output so far, `err` the text of its log."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._more = Condition()
        self.out: list[dict[str, Any]] = []
        self.err = ""
        assert process.stdout is not None
        assert process.stderr is not None
        self._readers = [
            Thread(target=self._read, args=(process.stdout, self._printed), daemon=True),
            Thread(target=self._read, args=(process.stderr, self._logged), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def tell(self, **line: Any) -> None:
        """Writes a line on its standard input."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        self._process.stdin.flush()

    def end_input(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()

    def wait_for(self, **keys: Any) -> dict[str, Any]:
        """Waits for a line on standard output with these keys."""
        return self._wait(lambda: next((line for line in self.out if line.items() >= keys.items()), None), str(keys))

    def wait_for_count(self, count: int) -> None:
        """Waits until so many lines are on standard output."""
        self._wait(lambda: len(self.out) >= count, f"line {count}")

    def wait_for_log(self, text: str) -> None:
        """Waits for a text on standard error."""
        self._wait(lambda: text in self.err or None, text)

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def ended(self) -> int:
        """Waits for its end; gives its exit code. All that it printed can be read then."""
        code = self._process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def kill(self) -> None:
        """As `kill -9` does: nothing can be put in order any more."""
        self._process.kill()
        self.ended()

    @property
    def texts(self) -> list[str]:
        """What was said to customers."""
        return [line["text"] for line in self.out if line["type"] == "message"]

    def _wait(self, found: Callable[[], Any], what: str) -> Any:
        with self._more:
            assert self._more.wait_for(found, PATIENCE), f"{what} did not come; there is {self.out} and {self.err}"
            return found()

    def _read(self, stream: BinaryIO, take: Callable[[bytes], None]) -> None:
        while line := stream.readline():
            with self._more:
                take(line)
                self._more.notify_all()

    def _printed(self, line: bytes) -> None:
        self.out.append(json.loads(line))

    def _logged(self, line: bytes) -> None:
        self.err += line.decode()


@contextmanager
def running(
    *arguments: str | Path, folder: Path, env: Mapping[str, str] | None = None, stdin: int = subprocess.PIPE
) -> Iterator[Running]:
    """A host that is started in `folder`, and killed when the test ends before it does."""
    process = subprocess.Popen(
        [*_COMMAND, *map(str, arguments)],
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=folder, env=environment(folder, env),
    )  # fmt: skip
    host = Running(process)
    try:
        yield host
    finally:
        process.kill()
        host.ended()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None and not stream.closed:
                stream.close()


def run_once(
    *arguments: str | Path, folder: Path, typed: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs until nothing is left to do."""
    return subprocess.run(
        [*_COMMAND, *map(str, arguments)],
        input=typed, capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=False, cwd=folder,
        env=environment(folder, env),
    )  # fmt: skip


def lines_of(done: subprocess.CompletedProcess[str], kind: str) -> list[dict[str, Any]]:
    """Its lines on standard output of one type."""
    return [line for line in map(json.loads, done.stdout.splitlines()) if line["type"] == kind]


def environment(folder: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of the machine without those of falai, and what agents here need."""
    mine = {key: value for key, value in os.environ.items() if not key.startswith("FALAI_")}
    return {**mine, "PYTHONUNBUFFERED": "1", "FALAI_MODEL": "lexical", "WORK_FOLDER": str(folder), **(more or {})}
