"""The world outside: what reached it, in the order in which it did, in a file that is only ever appended to.

It outlives every process of a test. A line is a JSON object whose `what` says what happened.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["World"]


class World:
    """With `durable` each line is on the disk before `write` returns."""

    def __init__(self, path: Path, *, durable: bool) -> None:
        self._durable = durable
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._path = path

    def write(self, what: str, **more: Any) -> None:
        os.write(self._file, json.dumps({"what": what, **more}, ensure_ascii=False).encode() + b"\n")
        if self._durable:
            os.fsync(self._file)

    def lines(self, *whats: str) -> Iterator[dict[str, Any]]:
        """What happened so far, of these kinds."""
        for text in self._path.read_text(encoding="utf-8").splitlines():
            line = json.loads(text)
            if line["what"] in whats:
                yield line

    def close(self) -> None:
        os.close(self._file)
