"""What a host says when it cannot work: its disk is full, its database is away. It goes on trying."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from falai.log import line

__all__ = ["others_cancelled", "tell_trouble"]

_LOG: Final = logging.getLogger("falai.host")


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
