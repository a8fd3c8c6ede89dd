"""`flow.validate`: which directives can be applied, and what is said of the others (D-50 to D-53, D-60)."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given

from classic.directives import ANY, WELL_FORMED
from falai import FlowConfigurationError
from falai.classic import Directive, flow
from falai.errors import Problem

SHORT: dict[str, Any] = {"abort": "x", "complete": True, "goTo": "a", "goToStep": "s", "reset": True}


def problems(directive: Any) -> tuple[Problem, ...]:
    with pytest.raises(FlowConfigurationError) as raised:
        flow.validate(directive)
    assert str(raised.value).startswith("[FlowConfigurationError] Invalid directive: ")
    return raised.value.problems


@pytest.mark.parametrize("pair", [*combinations(SHORT, 2)])
def test_two_positions_are_refused(pair: tuple[str, str]) -> None:
    """D-50: the members are named in one order, however they were written."""
    for order in (pair, pair[::-1]):
        (problem,) = problems({name: SHORT[name] for name in order})
        assert problem.code == "multiple-positions"
        assert f"multiple position fields set ({pair[0]}, {pair[1]})" in problem.message


@pytest.mark.property
@given(WELL_FORMED)
def test_right_directives_pass(directive: Any) -> None:
    """Every form that D-49 and D-51 list is accepted, as an object and in both spellings."""
    flow.validate(directive)


@pytest.mark.property
@given(ANY)
def test_whatever_comes_is_judged(directive: Any) -> None:
    """D-60: validation answers with nothing or with problems in the order of its checks, and never fails itself."""
    order = ["multiple-positions", "empty-goto", "reply-with-abort", "bad-member"]
    try:
        flow.validate(directive)
    except FlowConfigurationError as error:
        outer = [order.index(p.code) for p in error.problems if not p.path.startswith("complete.next")]
        assert outer == sorted(outer)  # either answer is right


def test_everything_is_told_at_once() -> None:
    """All problems come together, each with its path, the first one deciding the code."""
    wrong = {"goTo": {"carry": "all"}, "reply": 5, "abort": "", "appendPrompt": ["a", None], "halt": 1}
    found = [(problem.code, problem.path) for problem in problems(wrong)]
    assert found == [
        ("multiple-positions", ""),
        ("empty-goto", "goTo"),
        ("reply-with-abort", ""),
        ("bad-member", "goTo.carry"),
        ("bad-member", "abort"),
        ("bad-member", "reply"),
        ("bad-member", "appendPrompt[1]"),
        ("bad-member", "halt"),
    ]


@pytest.mark.parametrize(
    ("directive", "path"),
    [
        ({"goTo": {"flow": "a", "step": ""}}, "goTo.step"),
        ({"goTo": {"flow": "a", "data": "x"}}, "goTo.data"),
        ({"goTo": {"flow": "a", "reason": 5}}, "goTo.reason"),
        ({"goToStep": {"step": 5}}, "goToStep.step"),
        ({"goToStep": {"step": "a", "flow": " "}}, "goToStep.flow"),
        ({"abort": {"reason": "\t"}}, "abort.reason"),
        ({"abort": {"reason": "x", "clear_session": 1}}, "abort.clearSession"),
        ({"reset": {"step": []}}, "reset.step"),
        ({"reset": {"clear_data": "no"}}, "reset.clearData"),
        ({"reset": 1}, "reset"),
        ({"complete": 0}, "complete"),
        ({"complete": {"next": []}}, "complete.next"),
        ({"complete": {"reason": {}}}, "complete.reason"),
        ({"inject_tools": ["agenda"]}, "injectTools[0]"),
        ({"inject_tools": [{"id": " "}]}, "injectTools[0]"),
        ({"reason": 5}, "reason"),
        ({"go_to": "a", "goTo": "b"}, "goTo"),
        ({"reset": {"clearData": True, "clear_data": False}}, "reset.clearData"),
        ({"complete": {"next": {"complete": {"next": {"halt": "now"}}}}}, "complete.next.complete.next.halt"),
    ],
)
def test_a_wrong_member_is_named_with_its_path(directive: dict[str, Any], path: str) -> None:
    """D-51, D-60: a member, or what is in its object, of the wrong type."""
    (problem,) = problems(directive)
    assert (problem.code, problem.path) == ("bad-member", path)
    assert path in problem.message


def test_of_two_spellings_the_set_one_counts() -> None:
    """`None` is unset in either spelling."""
    flow.validate({"goTo": None, "go_to": "a"})
    assert flow.merge({}, {"goTo": None, "go_to": "a"}).to_wire() == {"goTo": "a"}


def test_the_object_is_checked_like_the_mapping() -> None:
    """A `Directive` is plain data: nothing is checked before it is validated."""
    wrong: Any = 5
    (problem,) = problems(Directive(complete={"next": Directive(reply=wrong)}))
    assert problem.path == "complete.next.reply"


def test_a_directive_that_holds_itself_is_told() -> None:
    """A ring of directives ends the check instead of running for ever."""
    ring: dict[str, Any] = {"complete": {"reason": "r"}}
    ring["complete"]["next"] = ring
    (problem,) = problems(ring)
    assert "holds itself" in problem.message


def test_a_long_chain_is_walked_to_its_end() -> None:
    """However deep the mistake stands, it is found."""
    chain: dict[str, Any] = {"halt": 1}
    for _ in range(3000):
        chain = {"complete": {"next": chain}}
    (problem,) = problems(chain)
    assert problem.path.endswith("complete.next.halt")
