"""`flow.merge`: one position wins, writes are united, and the order of folding does not matter (D-61, D-62)."""

from __future__ import annotations

import copy
from functools import reduce
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classic.directives import ANY, WELL_FORMED
from falai import Tool
from falai.classic import Directive, flow
from falai.classic.directive import MEMBERS

RANK = {"abort": 3, "complete": 2, "goTo": 1, "goToStep": 1, "reset": 0}
POSITIONS: dict[str, Any] = {
    "abort": {"abort": "over", "reason": "r"},
    "complete": {"complete": {"next": {"goTo": "b"}}},
    "goTo": {"goTo": {"flow": "b", "carry": None}},
    "goToStep": {"goToStep": "s"},
    "reset": {"reset": True},
}


@pytest.mark.parametrize(("first", "second"), [*product(POSITIONS, POSITIONS)])
def test_of_two_positions_one_wins(first: str, second: str) -> None:
    """DT-1: the higher rank wins, whichever came first; of equals the later one; the value is taken whole."""
    later_wins = RANK[second] >= RANK[first]
    winner = second if later_wins else first
    merged = flow.merge(POSITIONS[first], POSITIONS[second]).to_wire()
    assert merged == {winner: POSITIONS[winner][winner]}


@pytest.mark.parametrize("unset", [{"goTo": None}, {"complete": False}, {"reset": False}, {"abort": None}, {}])
@pytest.mark.parametrize("position", POSITIONS)
def test_an_unset_position_wins_over_nothing(unset: dict[str, Any], position: str) -> None:
    """D-49: what is unset is as if it were not there, in either place."""
    expected = {position: POSITIONS[position][position]}
    assert flow.merge(POSITIONS[position], unset).to_wire() == expected
    assert flow.merge(unset, POSITIONS[position]).to_wire() == expected


def test_three_emitters() -> None:
    """DT-2: an abort wins over a redirection, silences both replies, and loses no data."""
    emitted: list[dict[str, Any]] = [
        {"goTo": "A", "reply": "x", "dataUpdate": {"n": 1, "m": 1}},
        {"abort": "over"},
        {"reply": "y", "dataUpdate": {"n": 2}},
    ]
    assert reduce(flow.merge, emitted, Directive()).to_wire() == {"abort": "over", "dataUpdate": {"n": 2, "m": 1}}


@pytest.mark.property
@given(st.lists(ANY, min_size=3, max_size=5))
def test_merging_is_associative(directives: list[Any]) -> None:
    """DT-3: folded from the left and from the right, directives of any kind give the same."""
    left = reduce(flow.merge, directives, Directive())
    right = reduce(lambda late, early: flow.merge(early, late), reversed(directives), Directive())
    assert left == right
    assert _as_wire(left) == _as_wire(right)


@pytest.mark.property
@given(ANY, ANY)
def test_the_arguments_stay_as_they_are(a: Any, b: Any) -> None:
    """D-61: a new directive is made, and what was merged is not changed."""
    before = copy.deepcopy([_shown(a), _shown(b)])
    flow.merge(a, b)
    assert [_shown(a), _shown(b)] == before


@pytest.mark.property
@given(WELL_FORMED, WELL_FORMED)
def test_right_directives_make_a_right_one(a: Any, b: Any) -> None:
    """D-61: merging never makes what `validate` forbids, and nothing unset or empty is in the result."""
    merged = flow.merge(a, b)
    flow.validate(merged)
    wire = merged.to_wire()
    empty = ("dataUpdate", "contextUpdate", "appendPrompt", "injectTools", "halt", "reply")
    assert [name for name in empty if name in wire and not wire[name]] == []
    assert set(wire) <= set(MEMBERS) - {"reason"}


@pytest.mark.property
@given(WELL_FORMED)
def test_a_directive_merged_with_itself_says_it_once(directive: Any) -> None:
    """Merging again what was merged changes nothing but sentences, which are kept as often as they come."""
    once = flow.merge(directive, {}).to_wire()
    twice = flow.merge(once, once).to_wire()
    assert twice.pop("appendPrompt", []) == once.pop("appendPrompt", []) * 2
    assert twice == once


def test_both_spellings_and_objects_merge_alike() -> None:
    """A directive is an object or a mapping, with wire names or snake_case, and they mix."""
    expected = {"goToStep": {"step": "s"}, "dataUpdate": {"a": 1, "b": 2}, "appendPrompt": ["x", "y"]}
    a = {"data_update": {"a": 1}, "append_prompt": ["x"]}
    b = Directive(go_to_step={"step": "s"}, data_update={"b": 2}, append_prompt=("y",))
    assert flow.merge(a, b).to_wire() == expected


def test_tools_are_one_per_id() -> None:
    """A tool's id counts, whether it is a mapping, a `Tool` or a function; the last definition takes the first place."""

    def look_up() -> None:
        """Looks something up."""

    other, later = {"id": "other"}, Tool("look_up", _nothing)
    merged = flow.merge({"injectTools": [look_up, other]}, {"injectTools": [later]})
    assert merged.inject_tools == [later, other]


def test_a_wrong_value_is_not_lost() -> None:
    """D-62: merging looks at no types, so a wrong value stays for the check that tells of it."""
    right: dict[str, Any] = {"dataUpdate": {"a": 1}}
    for wrong in ({"dataUpdate": "a=1"}, {"dataUpdate": ["a"]}):
        assert flow.merge(wrong, right).to_wire() == wrong
        assert flow.merge(right, wrong).to_wire() == wrong


@pytest.mark.parametrize("odd", [None, "goTo", 5, [], [{"goTo": "a"}]])
def test_only_directives_are_merged(odd: Any) -> None:
    """What is no directive is a mistake of the call."""
    for a, b in ((odd, Directive()), (Directive(), odd)):
        with pytest.raises(TypeError, match="a directive is a Directive or a mapping"):
            flow.merge(a, b)


def _as_wire(directive: Directive) -> Any:
    return _shown(directive.to_wire())


def _shown(directive: Any) -> Any:
    """The directive without its tools' functions, which no copy equals."""
    given = vars(directive) if isinstance(directive, Directive) else directive
    return {name: value for name, value in given.items() if name not in ("injectTools", "inject_tools")}


def _nothing(_: object) -> None: ...
