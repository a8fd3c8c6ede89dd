"""Ids that an author left out, the same on every start (D-2)."""

from __future__ import annotations

from itertools import groupby
from typing import Any, Literal

__all__ = ["Kind", "derived_id", "instruction_id"]

Kind = Literal["flow", "step", "signal"]

_RESERVED = "end"


def derived_id(kind: Kind, text: Any, place: int) -> str:
    """The id of what has none: its title or description in lower case, letters and digits of any script.

    Where nothing is left of it, and for `end`, the kind and the place in its list: `step_2`.
    """
    slug = _slug(text) if isinstance(text, str) else ""
    return slug if slug and slug != _RESERVED else f"{kind}_{place}"


def instruction_id(place: int) -> str:
    """The id of an instruction that has none: its place in its scope."""
    return f"instruction_{place}"


def _slug(text: str) -> str:
    runs = groupby(text.lower(), key=lambda c: c.isalpha() or c.isdigit())
    return "".join("".join(run) if kept else "_" for kept, run in runs).strip("_")
