"""Findings that an author knows and accepts, named by patterns.

    CODE              that finding, wherever it stands
    CODE:FLOW         in one flow, its triggers and steps included
    CODE:FLOW.STEP    at one step

An id that holds a point, a colon or a quotation mark is written as JSON text: `unreachable:"v1.2"."a:b"`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from falai.flow.places import Notice, flow_place, step_place

__all__ = ["pattern_of", "silenced"]

_ID = r'"(?:[^"\\]|\\.)*"|[^".:]+'
_PATTERN = re.compile(rf"\s*([^\s:]+?)\s*(?::({_ID})(?:\.({_ID}))?)?\s*")


def silenced(findings: Iterable[Notice], patterns: Sequence[str]) -> tuple[tuple[Notice, ...], tuple[str, ...]]:
    """The findings that no pattern names, in their order, and the patterns that name none of them.

    A text that is no pattern names nothing. Nothing is raised.
    """
    kept: list[Notice] = []
    used: set[str] = set()
    for finding in findings:
        fitting = {pattern for pattern in patterns if _names(pattern, finding)}
        used |= fitting
        kept += [] if fitting else [finding]
    return tuple(kept), tuple(pattern for pattern in dict.fromkeys(patterns) if pattern not in used)


def pattern_of(code: str, flow: str, step: str | None = None) -> str:
    """The pattern for a finding at that place."""
    return f"{code}:{_written(flow)}" + (f".{_written(step)}" if step is not None else "")


def _names(pattern: str, finding: Notice) -> bool:
    parts = _PATTERN.fullmatch(pattern)
    if parts is None or parts[1] != finding.code:
        return False
    if parts[2] is None:
        return True
    try:
        flow = flow_place({"id": _read(parts[2])}, "")
        step = None if parts[3] is None else step_place(flow, {"id": _read(parts[3])}, 0)
    except ValueError:  # no JSON text after all
        return False
    if step is not None:
        return finding.where == step.where
    return finding.where == flow.where or finding.where.startswith(f"{flow.where}, ")


def _read(text: str) -> str:
    return json.loads(text) if text.startswith('"') else text


def _written(name: str) -> str:
    return name if re.fullmatch(r"[^\".:\s]+", name) else json.dumps(name, ensure_ascii=False)
