"""History items: made, checked, and converted to events and back (M-14).

An item is a mapping with wire names, as `{"role": "user", "content": "hello"}`. What is not given
is left out of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from falai.session.dates import iso, system_now, to_ms
from falai.session.jsontext import is_list, is_object, quoted, show

__all__ = ["assistant_item", "events_to_history", "history_to_events", "system_item", "tool_item", "user_item"]

Item = dict[str, Any]
Event = dict[str, Any]

_ROLES: Final = ("user", "assistant", "tool", "system")
_SOURCES: Final = ("user", "assistant", "system")
_NAMELESS: Final = "User"


def user_item(content: str, *, name: str | None = None) -> Item:
    """What a customer wrote."""
    return _item("user", content=content, name=name)


def assistant_item(
    content: str | None,
    *,
    tool_calls: Sequence[Mapping[str, Any]] | None = None,
    reasoning: str | None = None,
    reasoning_details: Sequence[Any] | None = None,
) -> Item:
    """What the assistant said; `content` is `None` when it only called tools, `[{id, name, arguments}]`."""
    more = _item("assistant", tool_calls=tool_calls, reasoning=reasoning, reasoningDetails=reasoning_details)
    return {"role": "assistant", "content": content, **more}


def tool_item(tool_call_id: str, name: str, content: Any) -> Item:
    """What a tool gave back."""
    return {"role": "tool", "tool_call_id": tool_call_id, "name": name, "content": content}


def system_item(content: str) -> Item:
    """A note to the model."""
    return _item("system", content=content)


def history_to_events(history: Any, *, timestamp: Callable[[], str] | None = None) -> list[Event]:
    """The items as events `{kind, source, timestamp, data}` (M-14.4).

    `timestamp` gives the time of conversion as ISO 8601 text, the system's without it (M-14.5). Raises
    `ValueError` that names the first item (from 0) that is none of M-14.1, and why.
    """
    now = timestamp or _system_time
    return _each(history, "history", lambda item: _to_event(item, now()))


def events_to_history(events: Any) -> list[Item]:
    """The events as items. A tool item's name and reasoning do not survive the round trip (M-14.4).

    Raises `ValueError` that names the first event (from 0) that is none, and why.
    """
    return _each(events, "events", _to_item)


def _system_time() -> str:
    return iso(to_ms(system_now()))


def _item(role: str, **properties: Any) -> Item:
    return {"role": role, **{key: value for key, value in properties.items() if value is not None}}


def _each(given: Any, what: str, convert: Callable[[Any], Any]) -> list[Any]:
    if not is_list(given):
        raise ValueError(f"{what} must be a list, and is {show(given)}")
    return list(_converted(given, what, convert))


def _converted(given: Sequence[Any], what: str, convert: Callable[[Any], Any]) -> Iterator[Any]:
    for index, entry in enumerate(given):
        try:
            yield convert(entry)
        except ValueError as error:
            raise ValueError(f"{what}[{index}]: {error}") from None


# --- checks -----------------------------------------------------------------------------------


def _check_item(item: Any) -> None:
    if not is_object(item):
        raise ValueError(f"an item must be an object, and this is {show(item)}")
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        raise ValueError(f"role must be one of {', '.join(_ROLES)}, and is {show(role)}")
    _check_content(role, item)
    if role == "tool":
        for key in ("tool_call_id", "name"):
            _check_text(item, key)
    calls = item.get("tool_calls") or ()
    if not is_list(calls):
        raise ValueError(f"tool_calls must be a list, and is {show(calls)}")
    for call in calls:
        _check_call(call)


def _check_content(role: str, item: Mapping[str, Any]) -> None:
    content = item.get("content")
    if role == "tool" or isinstance(content, str) or (role == "assistant" and content is None):
        return
    allowed = "text or null" if role == "assistant" else "text"
    raise ValueError(f"content of a {role} item must be {allowed}, and is {show(content)}")


def _check_call(call: Any) -> None:
    if not is_object(call):
        raise ValueError(f"a tool call must be an object, and this is {show(call)}")
    for key in ("id", "name"):
        _check_text(call, key)
    if not is_object(call.get("arguments")):
        raise ValueError(f"arguments of a tool call must be an object, and are {show(call.get('arguments'))}")


def _check_text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{key} must be text, and is {show(value)}")
    return value


# --- conversion -------------------------------------------------------------------------------


def _to_event(item: Any, timestamp: str) -> Event:
    _check_item(item)
    role: str = item["role"]
    if role == "tool":
        call = {"tool_id": item["tool_call_id"], "arguments": {}, "result": {"data": item.get("content")}}
        return {"kind": "tool", "source": "agent", "timestamp": timestamp, "data": {"tool_calls": [call]}}
    shown = item.get("name") or _NAMELESS if role == "user" else role.capitalize()
    data: dict[str, Any] = {"participant": {"display_name": shown}, "message": item.get("content") or ""}
    if item.get("tool_calls"):
        data["toolCalls"] = item["tool_calls"]
    return {"kind": "message", "source": role, "timestamp": timestamp, "data": data}


def _to_item(event: Any) -> Item:
    if not is_object(event):
        raise ValueError(f"an event must be an object, and this is {show(event)}")
    kind = _check_text(event, "kind")
    source = _check_text(event, "source")
    data = event.get("data")
    if not is_object(data):
        raise ValueError(f"data must be an object, and is {show(data)}")
    match kind:
        case "message":
            return _message(source, data)
        case "tool":
            return _tool(data)
        case "status":
            return system_item(_check_text(data, "status"))
        case _:
            raise ValueError(f"kind must be message, tool or status, and is {quoted(kind)}")


def _message(source: str, data: Mapping[str, Any]) -> Item:
    message = data.get("message")
    if not isinstance(message, str):
        raise ValueError(f"message must be text, and is {show(message)}")  # noqa: TRY004  # M-14.6
    if source not in _SOURCES:
        raise ValueError(f"the source of a message must be one of {', '.join(_SOURCES)}, and is {quoted(source)}")
    if source == "assistant":
        return assistant_item(message or None, tool_calls=data.get("toolCalls"))
    participant = data.get("participant")
    shown = participant.get("display_name") if is_object(participant) else None
    return user_item(message, name=None if shown == _NAMELESS else shown) if source == "user" else system_item(message)


def _tool(data: Mapping[str, Any]) -> Item:
    calls = data.get("tool_calls")
    if not is_list(calls) or not calls:
        raise ValueError("a tool event needs at least one entry in tool_calls")
    first = calls[0]
    if not is_object(first) or not isinstance(first.get("tool_id"), str) or not first["tool_id"]:
        raise ValueError("the first of tool_calls has no tool_id")
    result = first.get("result")
    return tool_item(first["tool_id"], first["tool_id"], result.get("data") if is_object(result) else None)
