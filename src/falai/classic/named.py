"""Members by their wire names, whichever of the two spellings an author used: `goTo` or `go_to`, `if` or `if_`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from keyword import iskeyword
from typing import Any

from falai.flow.places import Wire

__all__ = ["named", "named_twice", "snake_name"]

_CAPITAL = re.compile("[A-Z]")


@lru_cache(maxsize=512)
def snake_name(wire: str) -> str:
    """`goToStep` → `go_to_step`, `if` → `if_`."""
    name = _CAPITAL.sub(lambda found: f"_{found[0].lower()}", wire)
    return f"{name}_" if iskeyword(name) else name


def named(given: Wire, names: Iterable[str]) -> dict[str, Any]:
    """The same members, those of `names` by their wire name.

    Where both spellings are set the wire name counts, and the other one stays beside it to be told of.
    """
    found = dict(given)
    for name in names:
        alias = snake_name(name)
        if alias != name and alias in given and given.get(name) is None:
            found[name] = found.pop(alias)
    return found


def named_twice(given: Wire, names: Iterable[str]) -> list[str]:
    """The names of which both spellings are set: one of the two would be lost without a word."""
    pairs = ((name, snake_name(name)) for name in names)
    return [n for n, alias in pairs if n != alias and given.get(n) is not None and given.get(alias) is not None]
