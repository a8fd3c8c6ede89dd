"""Ids that an author left out, the same on every start (D-2), and flows by id or title (D-3)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Any, Literal

from falai.flow.places import Wire

__all__ = ["Kind", "derived_id", "flow_called", "instruction_id"]

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


def flow_called(name: str, flows: Iterable[Wire]) -> Wire | None:
    """The flow with this id, else the first one with this title; `None` when there is none (D-3)."""
    listed = list(flows)
    by_title = (flow for flow in listed if flow.get("title") == name)
    return next((flow for flow in listed if flow.get("id") == name), next(by_title, None))


def _slug(text: str) -> str:
    runs = groupby(text.lower(), key=lambda c: c.isalpha() or c.isdigit())
    return "".join("".join(run) if kept else "_" for kept, run in runs).strip("_")
