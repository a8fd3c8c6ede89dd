"""Reading the tables of a configuration: each value as what it should be, and what is wrong is noted.

A reader that finds something wrong notes it and gives the default, so that the rest is looked at too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from falai.flow.nearest import meant
from falai.host.config.layers import Leaf, Tree
from falai.host.config.problems import ConfigProblem
from falai.host.config.secret import Secret
from falai.session.jsontext import is_list, show

__all__ = ["Section"]

T = TypeVar("T")

_WHOSE = re.compile(r"^\w*(?:Settings|Keep): ")
"""What the place says already."""


class Section:
    """One table; `where` is how its place is called. `folder` is what file names of secrets are relative to."""

    def __init__(
        self,
        tree: Tree,
        where: str,
        problems: list[ConfigProblem],
        environment: Callable[[str], str | None],
        folder: Path,
    ) -> None:
        self._tree = tree
        self._where = where
        self._problems = problems
        self._environment = environment
        self._folder = folder
        self._asked: set[str] = set()

    def __contains__(self, name: str) -> bool:
        return name in self._tree

    @property
    def names(self) -> Sequence[str]:
        """What is written here, in order."""
        return tuple(self._tree)

    def where(self, name: str) -> str:
        """The place of a setting, written or not."""
        found = self._tree.get(name)
        return found.where if isinstance(found, Leaf) else f"{self._where}{name}"

    def problem(self, name: str, what: str) -> None:
        """Notes what is wrong with a setting; with the table, when the name is empty."""
        self._problems.append(ConfigProblem(self.where(name) if name else self._where.rstrip("."), what))

    # --- what it should be --------------------------------------------------------------------

    def text(self, name: str) -> str | None:
        """A text that is not empty."""
        return self._read(
            name, lambda leaf: leaf.value if isinstance(leaf.value, str) and leaf.value else None, "a text"
        )

    def required(self, name: str) -> str | None:
        """A text that has to be there."""
        if name not in self:
            self.problem(name, "it is missing: write a text")
        return self.text(name)

    def number(self, name: str) -> int | None:
        """A whole number."""
        return self._read(name, _number, "a whole number")

    def choice(self, name: str, options: Sequence[str]) -> str | None:
        """One of these texts."""
        said = f"one of {', '.join(options)}"
        return self._read(name, lambda leaf: leaf.value if leaf.value in options else None, said)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """A list of texts; in a variable with commas between them."""
        return self._read(name, _texts, 'a list of texts, as ["one", "two"]')

    def dates(self, name: str) -> tuple[date, ...] | None:
        """A list of dates."""
        return self._read(name, _dates, "a list of dates, as [2026-12-24, 2026-12-31]")

    def secret(self, name: str) -> Secret | None:
        """A secret: from the environment or a file, never from the text of the configuration."""
        found = self._tree.get(name)
        if isinstance(found, dict):
            return self._elsewhere(name, self.section(name))
        self._asked.add(name)
        if found is None:
            return None
        if not found.is_private:
            self.problem(name, 'a secret does not stand here: write { env = "A_VARIABLE" } or { file = "a/file" }')
            return None
        if not found.value.strip():
            self.problem(name, "it is empty: set it to the secret")
            return None
        return Secret(found.value.strip())

    def raw(self, name: str) -> Any:
        """A value as it is written, a table without the places of what is in it; `None` when nothing is.

        A variable with commas is a list.
        """
        self._asked.add(name)
        return _plain(self._tree[name]) if name in self else None

    def section(self, name: str) -> Section:
        """The table of this name; an empty one when there is none."""
        self._asked.add(name)
        found = self._tree.get(name, {})
        if isinstance(found, Leaf):
            self.problem(name, f"it should be a table: write [{self._path(name)}]")
            found = {}
        return Section(found, f"{self._where}{name}.", self._problems, self._environment, self._folder)

    def checked(self, name: str, value: T | None, check: Callable[[T], object]) -> T | None:
        """The value, when `check` does not raise ValueError or ImportError; what that says is noted."""
        if value is None:
            return None
        try:
            check(value)
        except (ValueError, ImportError) as error:
            self.problem(name, _WHOSE.sub("", str(error)))
            return None
        return value

    def done(self) -> None:
        """Notes what is written here and nobody asked for."""
        for name in self._tree:
            if name not in self._asked:
                known = ", ".join(sorted(self._asked))
                self.problem(name, f"there is no such setting. {meant(name, self._asked)}Here are: {known}")

    # --- inside -------------------------------------------------------------------------------

    def _read(self, name: str, read: Callable[[Leaf], T | None], expected: str) -> T | None:
        self._asked.add(name)
        found = self._tree.get(name)
        if found is None:
            return None
        value = read(found) if isinstance(found, Leaf) else None
        if value is None:
            self.problem(
                name, f"it is {show(found.value if isinstance(found, Leaf) else found)}, and should be {expected}"
            )
        return value

    def _elsewhere(self, name: str, place: Section) -> Secret | None:
        variable, file = place.text("env"), place.text("file")
        place.done()
        if (variable is None) == (file is None):
            self.problem(name, 'write one of { env = "A_VARIABLE" } and { file = "a/file" }')
            return None
        text = (self._environment(variable) or "").strip() if variable is not None else self._file(name, file or "")
        if variable is not None and not text:
            self.problem(name, f"the environment variable {variable} is not set")
        return Secret(text) if text else None

    def _file(self, name: str, file: str) -> str | None:
        try:
            text = (self._folder / file).read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:  # ValueError: no UTF-8, or no name of a file
            why = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
            self.problem(name, f"the file {file} cannot be read: {getattr(error, 'strerror', None) or why}")
            return None
        if not text:
            self.problem(name, f"the file {file} is empty")
        return text

    def _path(self, name: str) -> str:
        return f"{self._where}{name}".rpartition(": ")[2]


def _plain(found: Tree | Leaf) -> Any:
    if isinstance(found, dict):
        return {name: _plain(value) for name, value in found.items()}
    return list(_texts(found) or ()) if found.from_text and "," in found.value else found.value


def _number(leaf: Leaf) -> int | None:
    if leaf.from_text:
        return int(leaf.value) if leaf.value.isascii() and leaf.value.isdigit() and len(leaf.value) < 19 else None
    return leaf.value if type(leaf.value) is int else None


def _texts(leaf: Leaf) -> tuple[str, ...] | None:
    value = [part.strip() for part in leaf.value.split(",") if part.strip()] if leaf.from_text else leaf.value
    return tuple(value) if is_list(value) and all(isinstance(item, str) for item in value) else None


def _dates(leaf: Leaf) -> tuple[date, ...] | None:
    if leaf.from_text:
        try:
            return tuple(date.fromisoformat(day.strip()) for day in leaf.value.split(",") if day.strip())
        except ValueError:
            return None
    return tuple(leaf.value) if is_list(leaf.value) and all(type(day) is date for day in leaf.value) else None
