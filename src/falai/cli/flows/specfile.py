"""A spec as text: JSON or YAML, readable for people and safe to print."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from importlib.util import find_spec
from io import StringIO
from pathlib import Path
from typing import Any, Final

from falai.session.jsontext import is_list, is_object

__all__ = ["SUFFIXES", "spec_text", "why_not_written"]

SUFFIXES: Final = (".json", ".yaml", ".yml")

# What steers a terminal or breaks a line, and halves of characters, which no file can hold.
_UNSEEN = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def spec_text(spec: Mapping[str, Any], file: Path | None = None) -> str:
    """The text of a spec, YAML when the file's name says so; read again, it is the same spec."""
    if file is not None and file.suffix != ".json":
        return _yaml(spec)
    text = json.dumps(spec, ensure_ascii=False, indent=2)
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def why_not_written(file: Path) -> str | None:
    """Why a new spec cannot go into this file, to be known before it costs a call; `None` when it can."""
    if file.suffix not in SUFFIXES:
        return f"{file} is neither JSON nor YAML: end its name with {' or '.join(SUFFIXES)}"
    if file.suffix != ".json" and find_spec("ruamel") is None:
        return 'writing YAML needs ruamel.yaml: pip install "falai[yaml]"'
    if file.exists():
        return f"there is a file {file} already: name another, or move it away"
    return None if file.parent.is_dir() else f"there is no folder {file.parent}"


def _yaml(spec: Mapping[str, Any]) -> str:
    from ruamel.yaml import YAML  # only authors of YAML pay for it

    writer: Any = YAML()
    writer.default_flow_style = False
    writer.width = 100
    written = StringIO()
    writer.dump(_spelt_out(spec), written)
    return written.getvalue()


def _spelt_out(value: Any) -> Any:
    """The same data, with texts that hold what is unseen in double quotes, where YAML writes it as escapes."""
    from ruamel.yaml.scalarstring import DoubleQuotedScalarString

    if isinstance(value, str):
        return DoubleQuotedScalarString(value) if _UNSEEN.search(value) else value
    if is_object(value):
        return {_spelt_out(key): _spelt_out(part) for key, part in value.items()}
    return [_spelt_out(part) for part in value] if is_list(value) else value
