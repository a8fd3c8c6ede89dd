"""The two calls to a language model: what is asked, how the answer is read, and the port to a provider.

The model understands and speaks; it decides nothing and writes nothing. Both calls hand back plain
values, and the turn checks and applies them (M-1). A prompt is a pure function of the turn's data;
text of customers gets into it through `quoting` alone.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from falai.model.decoder import StreamingMessageDecoder
    from falai.model.drafting import Draft, draft_flow
    from falai.model.fallback import FallbackModel
    from falai.model.history import (
        assistant_item,
        events_to_history,
        history_to_events,
        system_item,
        tool_item,
        user_item,
    )
    from falai.model.lenient import salvage_json
    from falai.model.lexical import LexicalModel
    from falai.model.mcp import mcp_tools
    from falai.model.names import resolve_model
    from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest, ToolCall, ToolSpec, Usage
    from falai.model.pydantic_ai import PydanticAIModel

__all__ = [
    "Draft", "FallbackModel", "LexicalModel", "Model", "ModelChunk", "ModelReply", "ModelRequest", "PydanticAIModel",
    "StreamingMessageDecoder", "ToolCall", "ToolSpec", "Usage", "assistant_item", "draft_flow", "events_to_history",
    "history_to_events", "mcp_tools", "resolve_model", "salvage_json", "system_item", "tool_item", "user_item",
]  # fmt: skip

_HOMES: Final = {
    "Draft": "drafting",
    "FallbackModel": "fallback",
    "LexicalModel": "lexical",
    "PydanticAIModel": "pydantic_ai",
    "StreamingMessageDecoder": "decoder",
    "assistant_item": "history",
    "draft_flow": "drafting",
    "events_to_history": "history",
    "history_to_events": "history",
    "mcp_tools": "mcp",
    "resolve_model": "names",
    "salvage_json": "lenient",
    "system_item": "history",
    "tool_item": "history",
    "user_item": "history",
}


def __getattr__(name: str) -> Any:
    """Loads what is asked for only then: `import falai` needs none of it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"falai.model.{_HOMES.get(name, 'port')}"), name)
