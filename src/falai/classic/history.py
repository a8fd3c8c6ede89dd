"""The conversation in `session.history`: what came before a message, and what is kept behind it (D-20 to D-23)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from falai.flow.places import is_list, is_object
from falai.log import line
from falai.model.compaction import compact
from falai.model.port import Model
from falai.session.jsontext import MISSING, show

__all__ = ["Item", "bounded", "compacted", "continued", "taken"]

_LOG: Final = logging.getLogger(__name__)

Item = Mapping[str, Any]

_ROLES = ("user", "assistant", "system", "tool")


def taken(message: object, history: object) -> tuple[str, list[Item] | None]:
    """The message to answer, and the conversation before it; `None`: that of the session (D-20).

    Raises `ValueError` when there is no message to answer, or an item is none.
    """
    given = None if history is None else _items(history)
    if message is not None:
        if not isinstance(message, str):
            raise ValueError(f"message: {show(message)} was given, a text is expected")
        return message, given
    if not given:
        raise ValueError("there is nothing to answer: give a message, or a history that ends with the user's")
    last = given[-1]
    if last["role"] != "user" or not isinstance(last.get("content"), str):
        raise ValueError(
            f"without a message, the last item of history is what is answered, and its role is {show(last['role'])} "
            f"and its content {show(last.get('content', MISSING))}: the user's text is expected there"
        )
    return last["content"], given[:-1]


def continued(before: Sequence[Item], message: str, reply: str) -> list[Item]:
    """The history behind a turn (D-21): an empty reply leaves nothing."""
    said = [{"role": "assistant", "content": reply}] if reply else []
    return [*before, {"role": "user", "content": message}, *said]


async def compacted(model: Model, history: list[Item], options: Mapping[str, Any] | None) -> list[Item]:
    """The history within the compaction's limits (D-23). A summary that fails leaves the newest items that fit."""
    work = compact(history, options)
    try:
        effect = next(work)
        while True:
            try:
                reply = await model.complete(effect.request)
            except Exception as error:  # noqa: BLE001  the compaction decides what a failure means
                effect = work.throw(error)
            else:
                effect = work.send(reply)
    except StopIteration as done:
        return list(done.value.history)


def bounded(history: list[Item], most: int) -> list[Item]:
    """The newest items, at most about this many; 0 keeps all (D-22).

    A tool's result is never parted from its call: the cut moves to the left of both.
    """
    cut = len(history) - most
    if most == 0 or cut <= 0:
        return history
    while cut > 0 and history[cut].get("role") == "tool":
        cut -= 1
    if cut:
        words = "%s items of the history are dropped (maxHistoryMessages is %s); compaction keeps a summary of them"
        _LOG.warning(words, cut, most, extra=line("history.cut"))
    return history[cut:]


def _items(history: object) -> list[Item]:
    if not is_list(history):
        raise ValueError(f"history: {show(history)} was given, a list of items is expected")
    for index, item in enumerate(history):
        if not is_object(item) or item.get("role") not in _ROLES:
            found = item.get("role", MISSING) if is_object(item) else item
            raise ValueError(f"history[{index}]: its role is {show(found)}, one of {', '.join(_ROLES)} is expected")
    return list(history)
