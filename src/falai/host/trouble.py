"""What a host says when it cannot work: its disk is full, its database is away. It goes on trying."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from falai.log import line

__all__ = ["Patience", "others_cancelled", "tell_trouble"]

_LOG: Final = logging.getLogger("falai.host")
_SHORTEST_S: Final = 1.0
_LONGEST_S: Final = 30.0


def tell_trouble(what: str, error: Exception, session: str | None = None) -> None:
    """Logs that the host could not do this, and tries again."""
    why = type(error).__name__
    extra = line("host.failed", session=session, error=why)
    _LOG.error("the host could not %s, and tries again: %s", what, why, exc_info=error, extra=extra)


@contextmanager
def others_cancelled() -> Generator[None, None, None]:
    """Around code of others: a `CancelledError` of something that it awaited is an error, and does not end this task.

    Raises `RuntimeError` then. That this task itself is cancelled goes through.
    """
    try:
        yield
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        raise RuntimeError("something that was waited for was cancelled") from error


class Patience:
    """How long to wait after a failure: as long as nothing has gone well, from a second to half a minute.

    A turn that cannot be saved has asked a model: a disk that is full for an hour must not cost an hour of calls.
    """

    def __init__(self) -> None:
        self._since: float | None = None

    def well(self) -> None:
        """Something went well."""
        self._since = None

    def pause_s(self, now_s: float) -> float:
        """Something failed."""
        self._since = now_s if self._since is None else self._since
        return min(max(now_s - self._since, _SHORTEST_S), _LONGEST_S)
