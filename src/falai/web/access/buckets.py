"""How often somebody may come: a bucket of tokens for each, and only so many buckets.

A bucket is one number, the moment when it is full again (GCRA). So `count` may come at once, and over time no
more than `count` in a period. When there are too many buckets, the one goes that was not asked for the longest.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from typing import Final

from falai.flow.durations import is_duration, parse_duration

__all__ = ["RATE_FIX", "Buckets", "is_rate"]

RATE_FIX: Final = 'Write how many in which time, as "3000 in 1m"'
_RATE: Final = re.compile(r"\s*([1-9][0-9]{0,8})\s+in\s+(\S+)\s*")
_MOST: Final = 10_000


def is_rate(text: object) -> bool:
    """Whether this says how often somebody may come."""
    found = _RATE.fullmatch(text) if isinstance(text, str) else None
    return found is not None and is_duration(found[2]) and parse_duration(found[2]) > 0


class Buckets:
    """The buckets of a rate, one for each key, and no more than `most` of them. Times are seconds of any clock."""

    def __init__(self, rate: str, *, most: int = _MOST) -> None:
        found = _RATE.fullmatch(rate)
        assert found is not None  # `is_rate`
        self._period = parse_duration(found[2]) / 1000
        self._interval = self._period / int(found[1])
        self._most = most
        self._full_at: OrderedDict[str, float] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    def take(self, key: str, now: float) -> float | None:
        """Takes a token: `None` when there is one, else the seconds until there is."""
        full_at = max(self._full_at.get(key, now), now) + self._interval
        wait = full_at - now - self._period
        if wait > 1e-9:  # sums of floats
            self._full_at.move_to_end(key)
            return wait
        self._full_at[key] = full_at
        self._full_at.move_to_end(key)
        if len(self._full_at) > self._most:
            self._full_at.popitem(last=False)
        return None
