"""Where settings come from: a TOML file, over it the environment, over that the command line.

All become one tree of tables, whose leaves know the place they were written at. A variable's name is
the setting's path, in capitals, with two underscores where the file has a point: `FALAI_HOST__BURST`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from falai.host.config.problems import ConfigProblem
from falai.session.jsontext import is_object

__all__ = ["Leaf", "Tree", "command_line_tree", "environment_tree", "file_tree", "laid_over"]

_PREFIX = "FALAI_"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value and where it was written. `from_text`: it is text, whatever is meant by it.

    A secret may stand in an environment, and nowhere else: `is_private`.
    """

    value: Any
    where: str
    from_text: bool = False
    is_private: bool = False


Tree = dict[str, "Tree | Leaf"]


def file_tree(path: Path, problems: list[ConfigProblem]) -> Tree:
    """What a TOML file says; nothing when it cannot be read, which is then a problem."""
    try:
        return _tree(tomllib.loads(path.read_text(encoding="utf-8-sig")), f"{path}: ")
    except OSError as error:
        problems.append(ConfigProblem(str(path), f"it cannot be read: {error.strerror or error}"))
    except UnicodeDecodeError as error:
        problems.append(ConfigProblem(str(path), f"byte {error.start} is not UTF-8: a TOML file is"))
    except (ValueError, RecursionError) as error:  # also a number, or a depth, that Python does not take
        problems.append(ConfigProblem(str(path), f"it is no TOML: {error}"))
    return {}


def environment_tree(
    environment: Mapping[str, str], plain: Iterable[str], tables: Iterable[str], problems: list[ConfigProblem]
) -> Tree:
    """What variables say: those of the settings in `plain`, and all that have two underscores.

    One that leads into none of the `tables` is a problem. Other `FALAI_` variables are somebody else's.
    """
    tree: Tree = {}
    known, rooms = {name.upper() for name in plain}, {name.upper() for name in tables}
    for variable in sorted(environment):
        name = variable.removeprefix(_PREFIX)
        if name == variable or not ("__" in name or name in known):
            continue
        first, *rest = name.split("__")
        if rest and first not in rooms:
            options = ", ".join(f"{_PREFIX}{room}__…" for room in sorted(rooms))
            problems.append(ConfigProblem(variable, f"there are no such settings: write one of {options}"))
            continue
        leaf = Leaf(environment[variable], variable, from_text=True, is_private=True)
        _put(tree, [part.lower() for part in (first, *rest)], leaf)
    return tree


def command_line_tree(given: Mapping[str, str | None]) -> Tree:
    """What was given on a command line, by its path (`web.port`), of which an option has the last part; `None` was not."""
    tree: Tree = {}
    for path, value in given.items():
        parts = path.split(".")
        if value is not None:
            _put(tree, parts, Leaf(value, f"--{parts[-1].replace('_', '-')}", from_text=True))
    return tree


def laid_over(below: Tree, above: Tree) -> Tree:
    """Both; where they say two things, what `above` says. A value takes the place of a whole table."""
    merged = dict(below)
    for name, value in above.items():
        match (merged.get(name), value):
            case (dict() as low, dict() as high):
                merged[name] = laid_over(low, high)
            case _:
                merged[name] = value
    return merged


def _tree(table: Mapping[str, Any], place: str) -> Tree:
    return {
        name: _tree(value, f"{place}{name}.") if is_object(value) else Leaf(value, f"{place}{name}")
        for name, value in table.items()
    }


def _put(tree: Tree, path: list[str], leaf: Leaf) -> None:
    *tables, name = path
    for table in tables:
        below = tree.setdefault(table, {})
        if isinstance(below, Leaf):  # a shorter variable took the place
            return
        tree = below
    tree[name] = leaf
