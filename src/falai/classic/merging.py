"""Several directives as one: `merge`, associative over whatever comes (D-61, D-62).

The rules are a table, member → rule over the values that are set, older first. A value of the wrong
type is no matter of merging: it stays over the right ones, so that a check behind it can tell of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from falai.classic.directive import Directive, members_of
from falai.classic.named import snake_name
from falai.classic.tools import tool_id
from falai.flow.places import Wire, is_list, is_object

__all__ = ["merge"]

Values = Sequence[Any]

_RANK: Mapping[str, int] = {"goTo": 1, "goToStep": 1, "complete": 2, "abort": 3, "reset": 0}


def merge(a: Directive | Wire, b: Directive | Wire) -> Directive:
    """The directive that both together are; `b` is the later one (D-61).

    One position wins: `abort`, then `complete`, then `goTo` and `goToStep`, then `reset`, and of
    equals the later one. Of two replies the later one counts, and none beside an `abort`. State
    writes are united key by key, sentences and tools follow each other, one tool per id. `reason`
    and unknown members are dropped. Neither argument is changed, and nothing is validated; more
    than two are folded in order. Raises `TypeError` for what is no directive.
    """
    sides = (members_of(a), members_of(b))
    merged = _position(sides)
    for name, rule in _RULES.items():
        values = [side[name] for side in sides if name in side]
        value = rule(values) if values and not (name == "reply" and "abort" in merged) else None
        merged |= {} if value is None else {name: value}
    return Directive(**{snake_name(name): value for name, value in merged.items()})


def _position(sides: Sequence[Wire]) -> dict[str, Any]:
    found = [(name, side[name]) for side in sides for name in _RANK if name in side]
    winner = max(reversed(found), key=lambda position: _RANK[position[0]], default=None)
    return {} if winner is None else dict([winner])


def _unless_wrong(fits: Callable[[Any], bool], rule: Callable[[Values], Any]) -> Callable[[Values], Any]:
    """The rule, which gives `None` for nothing; but the latest value that does not fit, where there is one."""

    def combined(values: Values) -> Any:
        wrong = [value for value in values if not fits(value)]
        return wrong[-1] if wrong else rule(values) or None

    return combined


def _united(values: Values) -> dict[str, Any]:
    return {key: value for update in values for key, value in update.items()}


def _joined(values: Values) -> list[Any]:
    return [entry for listed in values for entry in listed]


def _one_per_id(values: Values) -> list[Any]:
    """The place of the first and the definition of the last; what has no id stays where it is."""
    kept: dict[Any, Any] = {}
    for place, tool in enumerate(_joined(values)):
        id = tool_id(tool)
        kept[place if id is None else id] = tool
    return list(kept.values())


_RULES: Mapping[str, Callable[[Values], Any]] = {
    "reply": lambda values: values[-1],
    "dataUpdate": _unless_wrong(is_object, _united),
    "contextUpdate": _unless_wrong(is_object, _united),
    "appendPrompt": _unless_wrong(is_list, _joined),
    "injectTools": _unless_wrong(is_list, _one_per_id),
    "halt": _unless_wrong(lambda value: isinstance(value, bool), any),
}
