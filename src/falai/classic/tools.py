"""Tools of the 3.x form: `{id, handler, …}`, a `Tool`, or a function (D-43)."""

from __future__ import annotations

from typing import Any

from falai.flow.functions import as_tool
from falai.flow.places import is_object
from falai.session.keys import is_blank_id

__all__ = ["tool_id"]


def tool_id(tool: Any) -> str | None:
    """The id of a tool, however it is given; `None` for what is no tool or has no id."""
    made = None if is_object(tool) else as_tool(tool)
    id: Any = tool.get("id") if is_object(tool) else made and made.id
    return None if is_blank_id(id) else id
