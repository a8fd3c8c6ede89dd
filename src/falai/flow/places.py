"""Where a problem stands, for people and for programs, and the words that several checks share.

A `Place` goes down with the check: `where` names the flow, trigger or step (F-1.10), `name` is the
path below it, as messages show it (`branches[0].then`), and both together make the wire path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from falai.errors import Problem
from falai.session.jsontext import is_list, is_object, quoted
from falai.session.keys import is_blank_id

__all__ = [
    "Finding", "Notice", "Place", "Wire", "flow_place", "is_list", "is_object", "listing", "step_place", "trigger_place",
]  # fmt: skip

Wire = Mapping[str, Any]
"""An object in wire form. What its members are is what the checks find out."""


@dataclass(frozen=True, slots=True)
class Notice:
    """A warning, which never stops anything. It is told as a `Problem` is; `code` is what silences it.

    `trail` is the shortest way that leads to the place, step by step, in words; empty where a look at
    the place alone shows what is meant.
    """

    code: str
    where: str
    what: str
    fix: str
    path: str = ""
    trail: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The sentence of S-37: `<where>: <what>. <fix>`."""
        return f"{self.where}: {self.what}. {self.fix}"


Finding = Problem | Notice


@dataclass(frozen=True, slots=True)
class Place:
    """A place in what an author wrote. `base` is the wire path of what `where` names."""

    where: str
    base: str = ""
    name: str = ""

    def key(self, name: str) -> Place:
        return replace(self, name=f"{self.name}.{name}" if self.name else name)

    def item(self, index: int) -> Place:
        return replace(self, name=f"{self.name}[{index}]")

    @property
    def path(self) -> str:
        return ".".join(part for part in (self.base, self.name) if part)

    def problem(self, code: str, what: str, fix: str) -> Problem:
        return Problem(code, self.where, what, fix, self.path)

    def notice(self, code: str, what: str, fix: str, trail: tuple[str, ...] = ()) -> Notice:
        return Notice(code, self.where, what, fix, self.path, trail)


def flow_place(flow: object, base: str) -> Place:
    """`flow "<id>"`, plain `flow` without an id."""
    return Place("flow" + _called(flow), base)


def step_place(flow: Place, step: Wire, index: int) -> Place:
    """`flow "<id>", step "<id>"`, `step #<n>` without an id."""
    return Place(f"{flow.where}, step{_called(step) or f' #{index + 1}'}", f"{_below(flow)}steps[{index}]")


def trigger_place(flow: Place, index: int) -> Place:
    """`flow "<id>", trigger #<n>`."""
    return Place(f"{flow.where}, trigger #{index + 1}", f"{_below(flow)}on[{index}]")


def listing(names: Sequence[str], last: str = "or") -> str:
    """`a, b or c`."""
    *head, tail = names
    return f"{', '.join(head)} {last} {tail}" if head else tail


def _called(value: object) -> str:
    found = value.get("id") if is_object(value) else None
    return f" {quoted(found)}" if isinstance(found, str) and not is_blank_id(found) else ""


def _below(flow: Place) -> str:
    return f"{flow.base}." if flow.base else ""
