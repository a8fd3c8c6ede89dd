"""One host for a file: a lock that the system takes away when the process ends, however it ends."""

from __future__ import annotations

import os
import sys

from falai.host.errors import HostBusyError

__all__ = ["FileLock"]


class FileLock:
    """The lock of a database, on the file `<database>.lock` beside it, which stays there and is empty.

    A symbolic link is the file that it leads to.
    """

    def __init__(self, database: str) -> None:
        self._database = database
        self._file: int | None = None

    def take(self) -> None:
        """Raises `HostBusyError` when another has it, in this process or elsewhere. A database in memory has none."""
        if self._database == ":memory:":
            return
        file = os.open(
            f"{os.path.realpath(self._database)}.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644
        )
        try:
            _lock(file)
        except OSError as error:
            os.close(file)
            raise HostBusyError(self._database) from error
        self._file = file

    def give_back(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


def _lock(file: int) -> None:
    if sys.platform == "win32":
        import msvcrt  # there only

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl  # there only

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
