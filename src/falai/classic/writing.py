"""Writes of data and context, and the hooks that hear of them (D-56, D-80)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, cast

from falai.classic.errors import DataValidationError
from falai.classic.hooks import settled
from falai.classic.schema import misfits
from falai.classic.state import TurnState
from falai.flow.places import Wire, is_object
from falai.session.jsontext import json_equal, show

__all__ = ["check_data", "notice_data", "write", "write_context", "write_data"]


def check_data(state: TurnState, data: Wire, emitters: Iterable[str] = ()) -> None:
    """Raises DataValidationError for keys that are no fields and values that do not fit; without a schema all fits."""
    if "schema" in state.compiled.options:
        wrong = list(misfits(data, state.compiled.checked.fields))
        if wrong:
            raise DataValidationError(wrong, list(emitters))


async def write(state: TurnState, members: Wire, emitters: Iterable[str] = ()) -> None:
    """Writes a directive's `dataUpdate` and `contextUpdate`: all, or nothing when the data does not fit (D-56)."""
    await write_data(state, members.get("dataUpdate", {}), emitters)
    await write_context(state, members.get("contextUpdate", {}))


async def write_data(state: TurnState, data: Wire, emitters: Iterable[str] = ()) -> None:
    """Writes fields, all of them or none, and tells the hooks. Raises as `check_data`."""
    check_data(state, data, emitters)
    for field, value in data.items():
        state.turn.write(field, value, "action")
    await notice_data(state)


async def notice_data(state: TurnState) -> None:
    """Tells `onDataUpdate`, the flow's first, of what was written since the last time; what a hook returns is the data.

    Raises as `check_data` for values of a hook that do not fit.
    """
    session = state.turn.session
    if json_equal(session.data, state.seen_data):
        return
    before = state.seen_data
    for hook in _hooks(state, "onDataUpdate"):
        returned = await settled(hook(dict(session.data), dict(before)))
        if returned is not None:
            _replace(state, returned)
    state.seen_data = dict(session.data)


async def write_context(state: TurnState, patch: Wire) -> None:
    """Lays the patch over the context, top level, and tells `onContextUpdate`, the flow's first.

    An object that is no mapping gets attributes. Raises `TypeError` when there is no context to write.
    """
    context = state.context
    if not patch:
        return
    if context is None:
        raise TypeError(f"contextUpdate has {show(list(patch))}, and this agent has no context: give it one")
    before = dict(context) if is_object(context) else context
    if isinstance(context, dict):
        cast("dict[str, Any]", context).update(patch)
    else:
        for name, value in patch.items():
            setattr(context, name, value)
    for hook in _hooks(state, "onContextUpdate"):
        await settled(hook(context, before))


def _replace(state: TurnState, data: Any) -> None:
    if not is_object(data):
        raise TypeError(f"onDataUpdate returned {show(data)}, and the data is expected, or nothing")
    turn = state.turn
    known = turn.session.data
    changed = {field: value for field, value in data.items() if known.get(field) is not value}
    check_data(state, changed, ["hook:onDataUpdate"])
    turn.forget([field for field in known if field not in data])
    for field, value in data.items():
        turn.write(field, value, "action")


def _hooks(state: TurnState, name: str) -> list[Any]:
    """The hooks of this name: the current flow's, then the agent's."""
    run = state.current()
    flow = None if run is None else state.compiled.flows.get(run.flow_id)
    owners: list[Mapping[str, Any]] = [flow.hooks if flow else {}, state.compiled.options.get("hooks", {})]
    return [hook for owner in owners if (hook := owner.get(name)) is not None]
