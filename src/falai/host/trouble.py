"""What a host says when it cannot work: its disk is full, its database is away. It goes on trying."""

from __future__ import annotations

import logging
from typing import Final

from falai.log import line

__all__ = ["tell_trouble"]

_LOG: Final = logging.getLogger("falai.host")


def tell_trouble(what: str, error: Exception, session: str | None = None) -> None:
    """Logs that the host could not do this, and tries again."""
    why = type(error).__name__
    extra = line("host.failed", session=session, error=why)
    _LOG.error("the host could not %s, and tries again: %s", what, why, exc_info=error, extra=extra)
