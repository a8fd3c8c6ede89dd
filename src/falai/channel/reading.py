"""Reading what came in, whatever it is: what is not there, or of another kind, counts as nothing."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from falai.channel.port import BadPayloadError
from falai.session.dates import from_ms
from falai.session.jsontext import is_list, is_object, parse_json

__all__ = ["at_of", "header", "list_at", "number_at", "object_at", "object_of", "same", "signature", "text_at"]

_TOO_LARGE: Final = 2**63  # no vendor's; and of a number of thousands of digits Python makes no text


def object_of(channel: str, body: bytes) -> Mapping[str, Any]:
    """The JSON object that a body is. Raises `BadPayloadError` when it is none."""
    try:
        value = parse_json(body)
    except (ValueError, RecursionError):
        raise BadPayloadError(channel, "the body is no JSON") from None
    if not is_object(value):
        raise BadPayloadError(channel, "the body is no JSON object")
    return value


def object_at(value: Any, *path: str) -> Mapping[str, Any]:
    """The object at the end of the path; an empty one when there is none."""
    for key in path:
        value = value.get(key) if is_object(value) else None
    return value if is_object(value) else {}


def list_at(value: Any, *path: str) -> Sequence[Any]:
    """The list at the end of the path; an empty one when there is none."""
    *way, last = path
    found = object_at(value, *way).get(last)
    return found if is_list(found) else ()


def text_at(value: Any, *path: str) -> str | None:
    """The text at the end of the path; `None` when there is none, or an empty one."""
    *way, last = path
    found = object_at(value, *way).get(last)
    return found if isinstance(found, str) and found else None


def number_at(value: Any, *path: str) -> int | None:
    """The whole number of 64 bits at the end of the path; `None` when there is none."""
    *way, last = path
    found = object_at(value, *way).get(last)
    is_number = isinstance(found, int) and not isinstance(found, bool) and -_TOO_LARGE <= found < _TOO_LARGE
    return found if is_number else None


def at_of(seconds: object, clock: Callable[[], datetime]) -> datetime:
    """The instant of so many seconds since 1970, as number or text; the clock's when that is none."""
    try:
        return from_ms(int(str(seconds)) * 1000)
    except (ValueError, OverflowError):
        return clock()


def header(headers: Mapping[str, str], name: str) -> str:
    """The value of a header, its name in any case; empty when there is none."""
    found = headers.get(name)
    if found is not None:
        return found
    return next((value for key, value in headers.items() if key.lower() == name), "")


def same(given: str, expected: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(given.encode(errors="replace"), expected.encode(errors="replace"))


def signature(secret: bytes, signed: bytes) -> bytes:
    """HMAC with SHA-256."""
    return hmac.new(secret, signed, hashlib.sha256).digest()
