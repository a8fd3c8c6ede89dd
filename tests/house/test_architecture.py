"""The house stands as it was drawn: imports run one way, files and functions stay small."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

SRC = Path(__file__).parents[2] / "src" / "falai"

# room → the rooms that it may import. A room may always import itself.
CORE = ["errors", "log", "session", "flow", "model", "turn", "observability", "driving", "agent"]
MAY_IMPORT = {room: set(CORE[:place]) for place, room in enumerate(CORE)} | {
    "store": {"errors", "session"},
    "channel": {"errors", "session"},
    "host": {*CORE, "store", "channel"},
    "web": {*CORE, "store", "host", "channel"},
    "testing": {*CORE, "store", "host", "channel", "web"},
    "classic": {*CORE, "store", "host"},
    "examples": {"", *CORE},  # written as a user writes: by the public names
    "cli": {*CORE, "store", "host", "channel", "web", "testing", "classic", "examples"},
    "__init__": {*CORE, "store"},
}
FILES = sorted(SRC.rglob("*.py"))


def _room(file: Path) -> str:
    return file.relative_to(SRC).parts[0].removesuffix(".py")


def _imported_rooms(file: Path) -> Iterator[tuple[str, int]]:
    """The rooms that a file imports anywhere, inside functions too; a public name is of the room ""."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=module, level=level, names=names):
                assert level == 0, f"{file}:{node.lineno}: imports are absolute"
                full = [module or ""] if module != "falai" else [f"falai.{alias.name}" for alias in names]
            case ast.Import(names=names):
                full = [alias.name for alias in names]
            case _:
                continue
        for name in full:
            if name == "falai" or name.startswith("falai."):
                room = name.partition(".")[2].partition(".")[0]
                yield (room if room in MAY_IMPORT else "", node.lineno)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SRC)))
def test_imports_run_one_way(file: Path) -> None:
    """A file imports only rooms that stand before its own."""
    room = _room(file)
    wrong = [
        f"line {line}: {imported}"
        for imported, line in _imported_rooms(file)
        if imported != room and imported not in MAY_IMPORT[room]
    ]
    assert not wrong, f"{room} may not import these"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SRC)))
def test_a_file_has_one_subject(file: Path) -> None:
    """A file opens by saying its rule, and has at most 400 lines."""
    text = file.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text)), "a module says in a docstring what it is for"
    assert text.count("\n") <= 400


def _functions() -> Iterator[tuple[int, str]]:
    """The length of each function without its docstring, and where it is."""
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                size = (node.end_lineno or node.lineno) - node.lineno + 1
                if ast.get_docstring(node):
                    said = node.body[0]
                    size -= (said.end_lineno or said.lineno) - said.lineno + 1
                yield size, f"{file.relative_to(SRC)}:{node.name}"


def test_functions_stay_small() -> None:
    """No function is longer than 50 lines, and half of them are shorter than 10."""
    functions = sorted(_functions(), reverse=True)
    too_long = [f"{where}: {size}" for size, where in functions if size > 50]
    assert not too_long
    assert median(size for size, _ in functions) < 10
