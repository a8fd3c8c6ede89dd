"""Standard error: what the host does, a line each, as text or as JSON, without any secret."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from falai.session.dates import iso

__all__ = ["logging_to_stderr"]

_PLAIN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record of `logging` has; the rest is ours."""
_ECHOES: Final = frozenset({"psycopg", "psycopg.transaction"})
"""Each warning of theirs comes with an error that the host tells: what else went wrong as a lost connection was left."""
_CONTROL: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


@contextmanager
def logging_to_stderr(level: str, form: str, secrets: Sequence[str]) -> Generator[None]:
    """While it is open, the lines of falai from this level on, and warnings of everybody else, go to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Form(as_json=form == "json", secrets=secrets))
    handler.addFilter(lambda record: record.name not in _ECHOES or record.levelno >= logging.ERROR)
    root, ours = logging.getLogger(), logging.getLogger("falai")
    before = ours.level
    root.addHandler(handler)
    ours.setLevel(level.upper())
    try:
        yield
    finally:
        root.removeHandler(handler)
        ours.setLevel(before)


class _Form(logging.Formatter):
    """`2026-11-30T09:00:00.000Z INFO turn.done session=s1: words`, or the same as an object."""

    def __init__(self, *, as_json: bool, secrets: Sequence[str]) -> None:
        super().__init__()
        self._as_json = as_json
        self._secrets = sorted({form for secret in secrets for form in _forms(secret)}, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        more = {key: value for key, value in vars(record).items() if key not in _PLAIN and value is not None}
        text = self._json(record, more) if self._as_json else self._text(record, more)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text

    def _json(self, record: logging.LogRecord, more: dict[str, Any]) -> str:
        said = {"at": _at(record), "level": record.levelname.lower(), "logger": record.name, **more}
        said["message"] = record.getMessage()
        if record.exc_info:
            said["traceback"] = self.formatException(record.exc_info)
        return json.dumps(said, ensure_ascii=False, default=repr)

    def _text(self, record: logging.LogRecord, more: dict[str, Any]) -> str:
        action = more.pop("action", record.name)
        where = "".join(f" {key}={value}" for key, value in more.items())
        lines = [f"{_at(record)} {record.levelname} {action}{where}: {record.getMessage()}"]
        if record.exc_info:
            lines += self.formatException(record.exc_info).split("\n")
        return "\n".join(map(_one_line, lines))


def _at(record: logging.LogRecord) -> str:
    return iso(int(record.created * 1000))


def _one_line(text: str) -> str:
    """Without what would begin a line or move a cursor: an id that a stranger chose writes no line of its own."""
    return _CONTROL.sub(lambda found: repr(found[0])[1:-1], text)


def _forms(secret: str) -> tuple[str, ...]:
    """The secret as it is, and as it stands in a text of JSON, of Python or of a line."""
    return (secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], _one_line(secret)) if secret else ()
