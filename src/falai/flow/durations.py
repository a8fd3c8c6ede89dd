"""Durations: `30s`, `5m`, `1.5h`, `3d` as whole milliseconds, without floats (F-11.1 to F-11.3)."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from falai.errors import FlowConfigurationError, Problem
from falai.session.jsontext import show

__all__ = ["EXAMPLES", "is_duration", "parse_duration"]

EXAMPLES = "30s, 5m, 24h or 3d"
_DURATION = re.compile(r"([0-9]+)(?:\.([0-9]+))?([smhd])")
_UNITS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def parse_duration(text: object) -> int:
    """The milliseconds of a duration, rounded half up (F-11.2).

    Raises FlowConfigurationError, naming the text, for anything that is not a duration.
    """
    found = _parse(text) if isinstance(text, str) else None
    if found is None:
        raise FlowConfigurationError(
            Problem("bad-duration", "duration", f"{show(text)} is not a duration", f"Write {EXAMPLES}")
        )
    return found


def is_duration(text: object) -> bool:
    """Whether `parse_duration` takes this."""
    return isinstance(text, str) and _parse(text) is not None


@lru_cache(maxsize=1024)
def _parse(text: str) -> int | None:
    found = _DURATION.fullmatch(text)
    if found is None:
        return None
    whole, fraction, unit = found[1], found[2] or "", found[3]
    digits = int(Decimal(whole + fraction))  # through Decimal: an int reads no more than 4,300 digits of text
    scale: int = 10 ** len(fraction)
    return (2 * digits * _UNITS[unit] + scale) // (2 * scale)
