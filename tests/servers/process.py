"""A server for the length of the tests: on a free port of the loopback, in a folder of its own, and gone at the end.

Each server leads a process group, which is what is killed, and dies with this process however that
ends. It keeps its port and its folder from start to start, so a client can find it again.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

WAIT_SECONDS = 90.0  # far more than any needs, on a machine that has much else to do
_LOOKS = 3000
# What starts a process is a thread: Linux tells a child of the death of that thread, so it must be one that stays.
_STARTER = ThreadPoolExecutor(1, thread_name_prefix="servers")


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def program(name: str, package: str, folders: str = "") -> str:
    """The path of an executable; without it the test fails in CI, and is skipped elsewhere."""
    found = shutil.which(name, path=os.pathsep.join(filter(None, [folders, os.environ.get("PATH", ""), "/usr/sbin"])))
    if found is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"needs the program {name}: apt-get install --no-install-recommends {package}")
    return found


class Server(ABC):
    """One server. A subclass says how it is prepared, started and asked whether it is ready."""

    name: ClassVar[str]
    keeps: ClassVar[bool] = True  # whether what was written is there after a restart
    refuses_root: ClassVar[bool] = False
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self) -> None:
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix=f"falai-{self.name}-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._account = pwd.getpwnam("nobody") if self.refuses_root and os.geteuid() == 0 else None
        if self._account:
            os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
        atexit.register(self.remove)

    @property
    @abstractmethod
    def url(self) -> str:
        """Where clients find it."""

    @abstractmethod
    def command(self) -> list[str]:
        """What runs in the foreground until it is told to stop."""

    @abstractmethod
    def ready(self) -> bool:
        """Whether it answers."""

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Makes the folder ready for the first start."""

    def start(self) -> None:
        """Starts it and waits until it answers; does nothing when it runs."""
        if self._process is not None:
            return
        self._process = self._launch(self.command())
        for _ in range(_LOOKS):
            if self.ready():
                return
            if self._process.poll() is not None:
                break
            time.sleep(WAIT_SECONDS / _LOOKS)
        self.kill()
        raise RuntimeError(f"{self.name} did not start:\n{self.log()}")

    def stop(self) -> None:
        """Ends it in its orderly way, and waits."""
        self._end(self.stop_signal)

    def kill(self) -> None:
        """Ends it at once, as a crash would."""
        self._end(signal.SIGKILL)

    def restart(self) -> None:
        """Ends it in its orderly way and starts it again: every connection is lost, what was written is not."""
        self.stop()
        self.start()

    def remove(self) -> None:
        """Ends it and deletes its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        """The end of what it printed."""
        path = self.folder / "log"
        return path.read_text(errors="replace")[-4000:] if path.exists() else ""

    def run(self, *command: str) -> None:
        """Runs a program to its end, as the user that the server is."""
        if self._launch(list(command)).wait(WAIT_SECONDS):
            raise RuntimeError(f"{command[0]} failed:\n{self.log()}")

    def _launch(self, command: list[str]) -> subprocess.Popen[bytes]:
        return _STARTER.submit(self._popen, command).result()

    def _popen(self, command: list[str]) -> subprocess.Popen[bytes]:
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*self._guard(), *command],
                cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder), "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _guard(self) -> list[str]:
        """Ties the process to this one, and gives up root where the server refuses to run as root."""
        tool = shutil.which("setpriv")
        if self._account:
            who = [f"--reuid={self._account.pw_uid}", f"--regid={self._account.pw_gid}", "--clear-groups"]
            return [tool or program("setpriv", "util-linux"), "--pdeathsig=KILL", *who]
        return [tool, "--pdeathsig=KILL"] if tool else []

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _kill_group(process.pid)


def _kill_group(leader: int) -> None:
    """What the leader left behind."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
