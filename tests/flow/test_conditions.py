"""Conditions (F-9, T-7.1 to T-7.3)."""

from __future__ import annotations

import gc
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any

import pytest

from falai.errors import FlowConfigurationError
from falai.flow.conditions import holds
from falai.flow.definition import Condition
from falai.flow.handlers import View


def view(data: dict[str, Any] | None = None, silenced: str | None = None) -> View[Any]:
    return View(None, data or {}, None, None, silenced, datetime(2026, 9, 20, tzinfo=UTC))


def test_every_entry_must_hold_and_judging_stops_at_the_first_that_fails() -> None:
    """F-9.3: in the order written."""
    asked: list[Any] = []

    def check(_: View[Any], argument: Any) -> bool:
        asked.append(argument)
        return bool(argument)

    conditions = {"vip": Condition("vip", check), "old": Condition("old", check)}
    assert not holds({"vip": 0, "old": 1}, view(), conditions)
    assert asked == [0]
    assert holds({"vip": 1, "old": 2}, view(), conditions)
    assert holds({}, view(), {})


def test_an_entry_without_an_argument_asks_nothing() -> None:
    """F-1.2, F-9.3: null is no test, not even of an unknown name."""
    assert holds({"nobody": None, "equals": {"a": None}, "known": None}, view(), {})


@pytest.mark.parametrize(
    ("data", "value", "held"),
    [
        ({"a": True}, 1, False), ({"a": 1}, True, False), ({"a": 1.0}, 1, True), ({"a": "1"}, 1, False),
        ({}, "", False), ({"a": None}, 0, False), ({"a": [1, {"b": 2.0}]}, [1.0, {"b": 2}], True), ({"a": []}, {}, False),
    ],
)  # fmt: skip
def test_equality_is_by_kind_and_value(data: dict[str, Any], value: Any, held: bool) -> None:
    """F-9.8."""
    assert holds({"equals": {"a": value}}, view(data), {}) is held


def test_the_gate_is_closed_by_any_reason_even_an_empty_one() -> None:
    """F-9.2, T-1.4: absent is open, an empty reason is closed."""
    assert holds({"silenced": True}, view(silenced=""), {})
    assert holds({"silenced": False}, view(), {})
    assert not holds({"silenced": False}, view(silenced="night"), {})


def test_a_function_is_called_with_the_view_and_its_truth_counts() -> None:
    """F-9.7."""
    assert holds(lambda v: v.data["a"], view({"a": [0]}), {})  # type: ignore[arg-type,return-value]  # truth, not bool
    assert not holds(lambda v: v.data["a"], view({"a": ""}), {})  # type: ignore[arg-type,return-value]  # the same


def test_an_awaitable_is_refused() -> None:
    """F-9.7: conditions are synchronous; nothing is left un-awaited behind."""

    async def later(*_: Any) -> bool:
        return True

    class Promise(Awaitable[bool]):
        def __await__(self) -> Any:
            yield

    for found in (later, lambda *_: Promise()):
        with pytest.raises(TypeError, match="synchronous"):
            holds(found, view(), {})
        with pytest.raises(TypeError, match=r'"vip".*synchronous'):
            holds({"vip": 1}, view(), {"vip": Condition("vip", found)})
    gc.collect()


def test_what_a_function_raises_goes_out() -> None:
    """F-9.7: the turn raises and nothing is changed."""

    def broken(_: View[Any]) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        holds(broken, view(), {})


def test_an_unknown_name_is_named() -> None:
    """F-9.6; a dunder is just a name."""
    for name in ("vip", "__class__", "all"):
        with pytest.raises(FlowConfigurationError) as raised:
            holds({name: []}, view(), {})
        assert raised.value.code == "unknown-condition"
        assert f'"{name}"' in str(raised.value)
