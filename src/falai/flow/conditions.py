"""Conditions: does a predicate hold now (F-9, T-7.1 to T-7.3)?

A predicate is a function of one argument, or a mapping each of whose entries must hold. Judging
goes in order and stops at the first entry that fails; what an author's function raises goes out.
"""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from inspect import isawaitable
from typing import Any

from falai.errors import FlowConfigurationError, Problem
from falai.flow.definition import Condition, Predicate
from falai.flow.handlers import View
from falai.flow.values import is_known
from falai.session.jsontext import json_equal, quoted

__all__ = ["BUILT_IN", "holds"]

BUILT_IN = ("equals", "known", "silenced")


def holds(predicate: Predicate, view: View[Any], conditions: Mapping[str, Condition]) -> bool:
    """Whether the predicate holds for what the view shows.

    Raises TypeError when a function gives an awaitable (F-9.7), FlowConfigurationError for a name
    that no condition has (F-9.6), and whatever an author's function raises.
    """
    if callable(predicate):
        return _truth(predicate(view), "a predicate")
    return all(_entry_holds(name, argument, view, conditions) for name, argument in predicate.items())


def _entry_holds(name: str, argument: Any, view: View[Any], conditions: Mapping[str, Condition]) -> bool:
    if argument is None:
        return True
    if name == "equals":
        return all(_equals(view.data.get(slug), value) for slug, value in argument.items())
    if name == "known":
        return all(is_known(view.data.get(slug)) for slug in argument)
    if name == "silenced":
        return bool(argument) == (view.silenced is not None)
    return _truth(_condition(name, view, conditions).check(view, argument), f"the condition {quoted(name)}")


def _equals(actual: Any, wanted: Any) -> bool:
    """A null asks nothing (F-1.2); a field without a value equals nothing (F-9.8)."""
    return wanted is None or json_equal(actual, wanted)


def _condition(name: str, view: View[Any], conditions: Mapping[str, Condition]) -> Condition:
    found = conditions.get(name)
    if found is None:
        where = "agent" if view.speaking_run is None else f"flow {quoted(view.speaking_run.flow_id)}"
        what = f"no condition is called {quoted(name)}"
        raise FlowConfigurationError(Problem("unknown-condition", where, what, "Register it in the agent's conditions"))
    return found


def _truth(result: object, what: str) -> bool:
    if not isawaitable(result):
        return bool(result)
    if isinstance(result, Coroutine):
        result.close()
    raise TypeError(f"{what} gave an awaitable: conditions are synchronous; look things up before the turn")
