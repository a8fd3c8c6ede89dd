"""Random directives: right ones and odd ones, unset forms and both spellings among them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from falai import Tool
from falai.classic import Directive
from falai.classic.directive import MEMBERS
from falai.classic.named import snake_name

NAMES = st.sampled_from(["a", "b", "c"])
ODD: st.SearchStrategy[Any] = st.sampled_from(
    [5, 0, 1.5, True, "", " ", "a", (), [], ["x", 5], {}, {"a": None}, set[int]()]
)
STEPS = st.fixed_dictionaries({"step": NAMES}, optional={"flow": NAMES, "reason": NAMES, "data": st.none()})
TOOLS: st.SearchStrategy[list[Any]] = st.lists(
    st.fixed_dictionaries({"id": st.sampled_from(["t", "u", "v", 1, None]), "description": NAMES})
    | st.sampled_from([Tool("t", print), Tool("u", print)]),
    max_size=4,
)
UPDATES = st.dictionaries(NAMES, st.none() | st.integers(0, 3), max_size=3)

RIGHT: dict[str, st.SearchStrategy[Any]] = {
    "goTo": NAMES | st.fixed_dictionaries({"flow": NAMES}, optional={"carry": st.sampled_from(["reset", None])}),
    "goToStep": NAMES | STEPS,
    "complete": st.sampled_from([True, False, {}, {"reason": "r"}, {"next": {"goTo": "a"}}, {"next": Directive()}]),
    "abort": NAMES | st.sampled_from([{"reason": "r"}, {"reason": "r", "clear_session": True}]),
    "reset": st.sampled_from([True, False, {}, {"step": "s", "clearData": None}, {"clear_data": True}]),
    "reply": st.sampled_from(["", " ", "x", "y", "z"]),
    "dataUpdate": UPDATES,
    "contextUpdate": UPDATES,
    "appendPrompt": st.lists(NAMES, max_size=3) | st.lists(NAMES, max_size=2).map(tuple),
    "injectTools": TOOLS,
    "halt": st.booleans(),
    "reason": NAMES,
}
assert tuple(RIGHT) == MEMBERS


def _mapping(values: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=values)


def _snake(given: dict[str, Any]) -> dict[str, Any]:
    return {snake_name(name): value for name, value in given.items()}


def _given(values: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Any]:
    """The same members as a mapping in either spelling, or as an object."""
    wire = _mapping(values)
    return wire | wire.map(_snake) | wire.map(lambda given: Directive(**_snake(given)))


def _one_position(given: Any) -> bool:
    wire = given.to_wire() if isinstance(given, Directive) else Directive(**_snake(given)).to_wire()
    positions = [name for name in ("goTo", "goToStep", "complete", "abort", "reset") if name in wire]
    return len(positions) < 2 and not ("abort" in wire and "reply" in wire)


WELL_FORMED = _given(RIGHT | {"injectTools": st.lists(st.fixed_dictionaries({"id": NAMES}), max_size=3)}).filter(
    _one_position
)
"""Directives that `validate` lets through."""
ANY = _given({name: st.none() | ODD | values for name, values in RIGHT.items()})
"""Whatever may stand in a member: `merge` looks at none of it."""
