"""`falai serve` and `falai demo` as processes that a test talks to and ends."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread

from cli.program import PATIENCE
from cli.running import environment

__all__ = ["Serving", "ended", "serving"]

_COMMAND = (sys.executable, "-m", "falai.cli")


class Serving:
    """A server that runs. `out` and `err` are what it has printed so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.out = ""
        self.err = ""
        self._more = Condition()
        self._readers = [Thread(target=self._read, args=(name,), daemon=True) for name in ("out", "err")]
        for reader in self._readers:
            reader.start()

    def wait_for(self, pattern: str) -> str:
        """Waits until this is printed; gives what stands for the pattern's group."""
        with self._more:
            found = self._more.wait_for(lambda: re.search(pattern, self.out + self.err), PATIENCE)
            assert found, f"{pattern} was not printed; there is {self.out} and {self.err}"
            return found[found.lastindex or 0]

    @property
    def url(self) -> str:
        return self.wait_for(r"(http://[\d.]+:\d+)\S*")

    def ended(self, number: signal.Signals | None = signal.SIGTERM) -> int:
        """Ends it with a signal; gives its exit code. All that it printed can be read then."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        for reader in self._readers:
            reader.join(PATIENCE)
        return code

    def _read(self, name: str) -> None:
        stream = self.process.stdout if name == "out" else self.process.stderr
        assert stream is not None
        while line := stream.readline():
            with self._more:
                setattr(self, name, getattr(self, name) + line)
                self._more.notify_all()


@contextmanager
def serving(
    command: str, *arguments: str | Path, folder: Path, env: Mapping[str, str] | None = None
) -> Iterator[Serving]:
    """One that is started in `folder`, and killed when the test ends before it does."""
    process = subprocess.Popen(
        [*_COMMAND, command, *map(str, arguments)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
        cwd=folder, env=environment(folder, env),
    )  # fmt: skip
    found = Serving(process)
    try:
        yield found
    finally:
        process.kill()
        found.ended(None)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stderr.close()


def ended(command: str, *arguments: str | Path, folder: Path, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """The exit code and the errors of one that does not get to run."""
    done = subprocess.run(
        [*_COMMAND, command, *map(str, arguments)],
        capture_output=True, text=True, encoding="utf-8", timeout=PATIENCE, check=False, cwd=folder,
        env=environment(folder, env),
    )  # fmt: skip
    return done.returncode, done.stderr
