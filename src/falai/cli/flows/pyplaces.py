"""Where a flow or a step stands in a Python file: the line on which its id is written as a literal.

Nothing is run for it. An id that is put together while the program runs has no such place.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from falai.flow.spots import Located, Span
from falai.session.jsontext import parse_json

__all__ = ["PythonPlaces", "modules_beside"]

_TEXT = r'"(?:[^"\\]|\\.)*"'
_WHERE = re.compile(rf"flow (?P<flow>{_TEXT})(?:, step (?P<step>{_TEXT}))?")


class PythonPlaces:
    """The places in these files. One that is not Python has none."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = [(file, *_parsed(file)) for file in files]

    def find(self, where: str) -> Located | None:
        """The place that `flow "lead", step "ask"` names; `None` when no literal says so."""
        named = _WHERE.match(where)
        if named is None:
            return None
        flow_id, step_id = parse_json(named["flow"]), named["step"] and parse_json(named["step"])
        for file, text, tree in self._files:
            if flow := _id_of(tree, _FLOWS, flow_id):
                step = _id_of(flow[0], _STEPS, step_id) if step_id else None
                return Located(file, text, _span(text, (step or flow)[1]))
        return None


def modules_beside(file: str) -> list[str]:
    """The file, and those of its folder and below that were loaded with it: an agent is often put together of several."""
    folder = Path(file).resolve().parent
    loaded = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    beside = [Path(name) for name in loaded if name and name.endswith(".py")]
    inside = [
        str(one)
        for one in beside
        if one.is_relative_to(folder) and "site-packages" not in one.relative_to(folder).parts
    ]
    return list(dict.fromkeys([file, *(_as_typed(one) for one in inside if Path(one) != Path(file).resolve())]))


def _as_typed(file: str) -> str:
    """A path as a person would type it."""
    here = Path.cwd()
    return str(Path(file).relative_to(here)) if Path(file).is_relative_to(here) else file


def _parsed(file: str) -> tuple[str, ast.AST]:
    try:
        text = Path(file).read_text(encoding="utf-8-sig")
        return text, ast.parse(text)
    except (OSError, SyntaxError, ValueError):
        return "", ast.Module([], [])


def _span(text: str, literal: ast.Constant) -> Span:
    last, end = literal.end_lineno or literal.lineno, literal.end_col_offset or literal.col_offset
    lines = text.split("\n")
    return Span(literal.lineno, _column(lines, literal.lineno, literal.col_offset), last, _column(lines, last, end))


def _column(lines: list[str], line: int, offset: int) -> int:
    """The syntax tree counts bytes of UTF-8."""
    return len(lines[line - 1].encode()[:offset].decode(errors="replace")) + 1


_FLOWS = ("Flow",)
_STEPS = ("Collect", "Prompt", "Say", "Do", "Wait", "WaitEvent", "If")


def _id_of(tree: ast.AST, classes: tuple[str, ...], wanted: str) -> tuple[ast.expr, ast.Constant] | None:
    """The first flow, or step, whose id is this literal."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call | ast.Dict):
            for value in _ids(node, classes):
                if isinstance(value, ast.Constant) and value.value == wanted:
                    return node, value
    return None


def _ids(node: ast.Call | ast.Dict, classes: tuple[str, ...]) -> list[ast.expr]:
    """What stands as the id in a call of one of these classes, or in a spec that is written as a dict."""
    if isinstance(node, ast.Dict):
        members = {
            key.value: value for key, value in zip(node.keys, node.values, strict=True) if isinstance(key, ast.Constant)
        }
        fitting = "id" in members and ("steps" in members) == (classes == _FLOWS)
        return [members["id"]] if fitting else []
    if _called(node) not in classes:
        return []
    return [*node.args[:1], *(word.value for word in node.keywords if word.arg == "id")]


def _called(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""
