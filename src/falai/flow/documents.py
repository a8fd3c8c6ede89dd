"""Text that an author wrote, JSON or YAML, as plain data; whatever could be read two ways is refused.

YAML is read by the 1.2 core schema: `on` is a word, `18:00` and `2026-09-20` are texts, `017` is
seventeen. What JSON cannot say is refused in YAML too, so that a file means the same in both.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from typing import Any, NoReturn, Protocol

__all__ = ["read_json", "read_yaml"]

_TAG = "tag:yaml.org,2002:"
_CORE = {  # tag → the plain scalars that have it (YAML 1.2.2, 10.3.2), and how those can begin
    "null": (r"null|Null|NULL|~|", ["~", "n", "N", ""]),
    "bool": (r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    "int": (r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", list("-+0123456789")),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        list("-+.0123456789"),
    ),
}


class _Node(Protocol):
    """A composed node of ruamel.yaml, whose own types say less."""

    id: str
    tag: str
    value: Any
    start_mark: Any
    end_mark: Any


def read_json(text: str) -> Any:
    """The data of a JSON text.

    Raises `ValueError` saying where it breaks, or which key an object has twice; `NaN` and
    `Infinity` are no JSON.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_float=_finite, parse_constant=_no_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_yaml(text: str) -> Any:
    """The data of a YAML text with one document.

    Raises `ValueError` with line and column: for what is no YAML, for a key that stands twice, has no
    colon or is no text, for a tag outside the core schema. Raises `ImportError` naming the pip command when
    ruamel.yaml is not installed.
    """
    try:
        # Only authors of YAML pay for it.
        from ruamel.yaml import YAML
        from ruamel.yaml.error import YAMLError
    except ImportError as error:
        raise ImportError('reading YAML needs ruamel.yaml: pip install "falai[yaml]"') from error
    reader: Any = YAML(typ="safe", pure=True)
    reader.Resolver = _core_resolver()
    try:
        root = reader.compose(text)
        return None if root is None else _Reader(text).read(root)
    except YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from error
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {json.dumps(key, ensure_ascii=False)} stands twice in one object")
        found[key] = value
    return found


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number that JSON can hold")
    return number


@cache
def _core_resolver() -> type[Any]:
    from ruamel.yaml.resolver import VersionedResolver

    by_start: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, (pattern, starts) in _CORE.items():
        for start in starts:
            by_start.setdefault(start, []).append((_TAG + tag, re.compile(rf"(?:{pattern})\Z")))

    class CoreResolver(VersionedResolver):
        @property
        def versioned_resolver(self) -> Any:
            return by_start

        @property
        def processing_version(self) -> Any:
            return (1, 2)

    return CoreResolver


class _Reader:
    """Turns composed nodes into data. An aliased node is read once, so that a few lines of aliases
    cannot grow without bound."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._read: dict[int, Any] = {}
        self._open: set[int] = set()

    def read(self, node: _Node) -> Any:
        known = id(node)
        if known in self._open:
            raise _at(node, "an alias stands inside what it names")
        if known not in self._read:
            self._open.add(known)
            self._read[known] = self._data(node)
            self._open.discard(known)
        return self._read[known]

    def _data(self, node: _Node) -> Any:
        match node.id, node.tag.removeprefix(_TAG):
            case "mapping", "map":
                return self._mapping(node)
            case "sequence", "seq":
                return [self.read(entry) for entry in node.value]
            case "scalar", tag if tag == "str" or tag in _CORE:
                return _scalar(node, tag)
            case _:
                raise _at(node, f"the tag {node.tag} is not of the core schema")

    def _mapping(self, node: _Node) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value in node.value:
            key = self.read(key_node)
            if not isinstance(key, str):
                raise _at(key_node, "a key that is no text; put it in quotes")
            if key in found:
                raise _at(key_node, f"the key {json.dumps(key, ensure_ascii=False)} stands twice in one mapping")
            if self._is_bare(key_node, value):
                what = f"the key {json.dumps(key, ensure_ascii=False)} has no value"
                raise _at(key_node, f"{what}; if the comma before it is part of a text, put that in quotes")
            found[key] = self.read(value)
        return found

    def _is_bare(self, key: _Node, value: _Node) -> bool:
        """`{say: Hello, you}` has the key `you`, and half of a text would be lost without a word."""
        between = self._text[key.end_mark.index : value.start_mark.index]
        return value.start_mark.index == value.end_mark.index and ":" not in between


def _scalar(node: _Node, tag: str) -> Any:
    text: str = node.value
    if tag == "str":
        # Two escapes may be one character, as in JSON: "\ud83d\ude00".
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if re.fullmatch(_CORE[tag][0], text) is None or text.lower().endswith((".inf", ".nan")):
        raise _at(node, f"{text} is no {tag} that JSON can hold")
    match tag:
        case "null":
            return None
        case "bool":
            return text.lower() == "true"
        case "int":
            return int(text, {"0o": 8, "0x": 16}.get(text[:2], 10))
        case _:
            return _finite(text)


def _at(node: _Node, what: str) -> ValueError:
    mark = node.start_mark
    return ValueError(f"line {mark.line + 1}, column {mark.column + 1}: {what}")
