"""Standard input for a thread that nobody waits for."""

from __future__ import annotations

import io
import os
import sys
from typing import BinaryIO

__all__ = ["own_stdin"]


def own_stdin() -> BinaryIO:
    """A stream of one's own on standard input, empty where that is closed.

    Python aborts when it ends while a thread is reading from `sys.stdin` itself.
    """
    try:
        return os.fdopen(os.dup(sys.stdin.fileno()), "rb")
    except (OSError, ValueError):  # what stands in for it has no file descriptor
        return sys.stdin.buffer
    except AttributeError:  # there is none
        return io.BytesIO()
