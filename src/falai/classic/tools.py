"""Tools of the 3.x form: `{id, handler, …}`, a `Tool`, or a function (D-43)."""

from __future__ import annotations

from typing import Any

from falai.flow.functions import TOOL, Tool, as_tool
from falai.flow.places import is_object
from falai.session.jsontext import MISSING
from falai.session.keys import is_blank_id

__all__ = ["handler_of", "is_tool", "tool_id"]


def tool_id(tool: Any) -> str | None:
    """The id of a tool, however it is given; `None` for what is no tool or has no id."""
    made = None if is_object(tool) else as_tool(tool)
    id: Any = tool.get("id") if is_object(tool) else made and made.id
    return None if is_blank_id(id) else id


def handler_of(tool: Any) -> Any:
    """What the tool gives as its handler."""
    if is_object(tool):
        return tool.get("handler", MISSING)
    return tool.handler if isinstance(tool, Tool) else tool


def is_tool(shorthand: Any) -> bool:
    """Whether a step's `prepare` or `finalize` is a tool or a tool's id, and no plain function (D-80)."""
    return isinstance(shorthand, str | Tool) or is_object(shorthand) or hasattr(shorthand, TOOL)
