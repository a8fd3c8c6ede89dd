"""How fast channels may send, as settings say it: `"whatsapp: 80 in 1s"`, and with `as NAME` whose number it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from falai.flow.durations import is_duration, parse_duration
from falai.host.ledger.limiting import Rate
from falai.session.jsontext import json_text, quoted

__all__ = ["RATE_FIX", "check_channels", "is_rate", "rates_of"]

RATE_FIX: Final = 'Write "channel: 80 in 1s", or "channel: 80 in 1s as number" where several agents send by one number'

_RATE: Final = re.compile(r"\s*(.+?)\s*:\s*([1-9][0-9]*)\s+in\s+(\S+)(?:\s+as\s+(\S.*?))?\s*")


def is_rate(text: object) -> bool:
    """Whether this says how fast a channel may send."""
    found = _RATE.fullmatch(text) if isinstance(text, str) else None
    return found is not None and is_duration(found[3]) and parse_duration(found[3]) > 0


def check_channels(texts: Iterable[str], channels: Iterable[str]) -> None:
    """Raises `ValueError` for the rate of a channel that there is not: it would hold for nothing."""
    known = set(channels)
    if unknown := [name for name in rates_of("", texts) if name not in known]:
        there = f"the host has {', '.join(sorted(known))}" if known else "the host has no channel"
        raise ValueError(
            f"Settings: rates has a channel that is none: {', '.join(map(quoted, unknown))}; {there}. Name one of its channels"
        )


def rates_of(agent: str, texts: Iterable[str]) -> Mapping[str, Rate]:
    """The rate of each channel that has one. Without a name the bucket is the agent's own."""
    found = (match for text in texts if (match := _RATE.fullmatch(text)))
    return {
        match[1]: Rate(match[4] or json_text([agent, match[1]]), int(match[2]), parse_duration(match[3]))
        for match in found
    }
