"""Values that the model read: is one known, and what does a raw one become (F-2.3, F-3).

A raw value is first coerced to the field's type, then looked up in its `enum`, then given to the
richer type's own check (F-19.3). Nothing here raises: what does not fit has a code.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from falai.errors import words_of
from falai.flow.plan import FieldPlan
from falai.session.jsontext import json_text, whole

__all__ = ["Coerced", "coerce_field", "in_enum", "is_known", "is_number", "to_boolean", "to_number"]

_NUMBER = re.compile(r"[+-]?([0-9]+(?P<fraction>\.[0-9]*)?|(?P<point>\.[0-9]+))(?P<exponent>[eE][+-]?[0-9]+)?")
_TRUE = frozenset({"true", "sim", "yes", "1"})
_FALSE = frozenset({"false", "não", "nao", "no", "0"})


@dataclass(frozen=True, slots=True)
class Coerced:
    """What a raw value became: a value, or a code (F-3.3).

    No value and no code means that nothing came (F-3.2). `reason` is the richer type's own word
    on why it refuses, for the speaking call (M-24.3).
    """

    value: Any = None
    code: Literal["bad-value", "not-in-enum"] | None = None
    reason: str | None = None


_BAD = Coerced(code="bad-value")


def is_known(value: object) -> bool:
    """Whether a stored value counts as known: not absent, not null, not the empty text (F-2.3)."""
    return value is not None and value != ""


def coerce_field(field: FieldPlan, raw: object) -> Coerced:
    """What a raw value from the model becomes for this field (F-3.2 to F-3.6, F-19.3)."""
    if raw is None:
        return Coerced()
    value = raw if field.schema is not None else _COERCIONS[field.type](raw)
    if value is None:
        return _BAD
    if field.enum is not None and not in_enum(value, field.enum):
        return Coerced(code="not-in-enum")
    return Coerced(value) if field.validate is None else _validated(field.validate, value)


def in_enum(value: object, enum: Sequence[object]) -> bool:
    """Whether the value is listed, by equal value and equal kind (F-3.6, S-35)."""
    return any(_kind(value) is _kind(entry) and value == entry for entry in enum)


def is_number(value: object) -> bool:
    """Whether this is a finite number; a boolean is none (F-1.6, S-32)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, int) or math.isfinite(value)


def to_number(text: str) -> int | float | None:
    """The number that a customer's way of writing means, or `None` (F-3.5)."""
    plain = _plain(text).replace(",", ".", 1)
    found = _NUMBER.fullmatch(plain)
    if found is None:
        return None
    if found["fraction"] is found["point"] is found["exponent"] is None:
        return _whole(plain)
    number = float(plain)
    return number + 0.0 if math.isfinite(number) else None  # -0.0 + 0.0 is 0.0


def _whole(digits: str) -> int | None:
    try:
        return whole(digits)
    except ValueError:  # longer than any number that means something
        return None


def to_boolean(raw: object) -> bool | None:
    """The boolean that an answer means, or `None` (F-3.4, F-3.8)."""
    if isinstance(raw, bool):
        return raw
    word = raw.strip().lower() if isinstance(raw, str) else ""
    return True if word in _TRUE else False if word in _FALSE else None


def _string(raw: object) -> str | None:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, bool):
        return "true" if raw else "false"
    return json_text(raw) if is_number(raw) else None


def _number(raw: object) -> int | float | None:
    if isinstance(raw, str):
        return to_number(raw)
    return raw if isinstance(raw, int | float) and is_number(raw) else None


def _integer(raw: object) -> int | None:
    number = _number(raw)
    return None if number is None else int(number)


_COERCIONS: dict[str, Callable[[object], Any]] = {
    "string": _string,
    "number": _number,
    "integer": _integer,
    "boolean": to_boolean,
}


def _validated(validate: Callable[[Any], Any], value: Any) -> Coerced:
    """The value as its type stores it. A text that the type refuses gets a second try in plain characters."""
    reason = ""
    for spelling in dict.fromkeys((value, _plain(value))) if isinstance(value, str) else (value,):
        try:
            return Coerced(validate(spelling))
        except Exception as error:  # noqa: BLE001  # a validation that raises refuses the value (F-19.3)
            reason = words_of(error)
    return Coerced(code="bad-value", reason=reason)


def _kind(value: object) -> object:
    if isinstance(value, bool):
        return bool
    return float if isinstance(value, int | float) else type(value)


def _plain(text: str) -> str:
    """Without what an input method adds: full-width forms, digits of other scripts, special spaces, outer space."""
    return _ascii_digits(unicodedata.normalize("NFKC", text)).strip()


def _ascii_digits(text: str) -> str:
    if text.isascii():
        return text
    digits = (str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
    return "".join(digits).replace("\N{MINUS SIGN}", "-")
