"""What a misspelt name may have been meant to be: the words that come first in a fix."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from falai.flow.places import Wire
from falai.session.jsontext import quoted

__all__ = ["instead", "meant", "nearest"]

_NEAR = 0.65
"""How alike two names are of which one may be meant for the other: `aks` and `ask`, not `position` and `description`."""
_MANY = 500
"""Of more names than this only one that differs in case or underscores is looked for: every problem would look at all."""


def nearest(name: str, names: Collection[str]) -> str | None:
    """The one of these names that is written most like it, whatever the case and the underscores."""
    plain = {_plain(known): known for known in reversed([*names])}
    found = [_plain(name)] if _plain(name) in plain else []
    if not found and len(plain) <= _MANY:
        found = get_close_matches(_plain(name), plain, 1, _NEAR)
    return plain[found[0]] if found else None


def meant(name: str, names: Collection[str]) -> str:
    """`Did you mean "name"? `, to stand before a fix; nothing when no name is near."""
    near = nearest(name, names)
    return "" if near is None else f"Did you mean {quoted(near)}? "


def instead(value: Wire, names: Collection[str], listed: Collection[str], fix: str) -> str:
    """The fix for an object that lacks one of `names`; a property that is not listed and written like it comes first."""
    found = [(key, nearest(key, names)) for key in value if key not in listed]
    asked = [f"Did you mean {near} instead of {quoted(key)}? " for key, near in found if near]
    return "".join(asked[:1]) + fix


def _plain(name: str) -> str:
    return name.replace("_", "").lower()
