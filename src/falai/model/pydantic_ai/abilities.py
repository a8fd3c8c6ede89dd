"""How a model takes what is asked of it: found once for each model, from its class and its profile.

An answer's shape is asked for in the best way that the model has: a schema that the provider
enforces, else a tool that it must call, else instructions. Anthropic's models and those of DeepSeek
and Z.ai get instructions (M-22): a schema that changes with each call would stand before the stable
prefix there, and nothing behind it could be cached (M-22.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal

from pydantic_ai.models import Model as Upstream

from falai.model.dialects import GEMINI, OPENAI, Dialect
from falai.model.port import ModelRequest
from falai.model.pydantic_ai.model import Options

__all__ = ["Abilities", "Way", "abilities", "settings", "thinking_room"]

Way = Literal["text", "native", "tool", "instructed", "told"]
"""`text`: no schema is asked for. `instructed`: by instructions in the provider's JSON mode, where it
has one. `told`: by instructions alone."""

_ROOM: Final = {"low": 2_048, "medium": 10_000, "high": 16_384, "max": 32_768}
_BY_INSTRUCTIONS: Final = frozenset({"anthropic", "deepseek", "zai"})


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a model can do.

    `always_enforces`: a schema of its own kind cannot be sent unenforced. `dialect`: which schemas it enforces;
    servers that take after OpenAI's are held to its rules. `lists_of_types`: it knows
    `"type": ["string", "null"]`. `system_anywhere`: a system message may stand inside the conversation.
    `wants_tools`: a history with tool calls needs their definitions. `reasoning_field`: where reasoning is
    sent back as text, if anywhere. `call_id_length`: how long the id of a tool call has to be, if that matters.
    """

    system: str
    native: bool
    native_beside_tools: bool
    tool: bool
    always_enforces: bool
    dialect: Dialect
    lists_of_types: bool
    system_anywhere: bool
    wants_tools: bool
    reasoning_field: str | None
    call_id_length: int | None

    def way(self, request: ModelRequest, options: Options) -> Way:
        """How this request's schema is asked for."""
        if not request.schema:
            return "text"
        if request.tools and options.json_with_tools == "prompt":
            return "told"
        if self.native and (self.native_beside_tools or not request.tools):
            return "native"
        return "tool" if self.tool else "instructed"


def abilities(upstream: Upstream) -> Abilities:
    """What the library knows of a model."""
    profile: Any = upstream.profile
    kinds = {cls.__name__ for cls in type(upstream).__mro__}
    google, anthropic = "GoogleModel" in kinds, _is_anthropic(upstream)
    instructed = anthropic or upstream.system in _BY_INSTRUCTIONS
    tools = profile.get("supports_tools", True) and profile.get("supports_forced_tool_choice", True)
    return Abilities(
        system=upstream.system,
        native=bool(profile.get("supports_json_schema_output")) and not instructed,
        native_beside_tools=bool(profile.get("google_supports_tool_combination")) or not google,
        tool=bool(tools) and not google and not instructed,
        always_enforces=google,
        dialect=GEMINI if google else OPENAI,
        lists_of_types="OpenAI" in getattr(profile.get("json_schema_transformer"), "__name__", ""),
        system_anywhere=bool(profile.get("supports_inline_system_prompts")),
        wants_tools="AnthropicModel" in kinds,
        reasoning_field=_reasoning_field(profile) if "OpenAIChatModel" in kinds and not anthropic else None,
        call_id_length=profile.get("tool_call_id_length"),
    )


def settings(upstream: Upstream, options: Options, *, own: bool) -> dict[str, Any]:
    """The settings of every request; the host's win. `own`: the model was made here, its retries are off."""
    effort = options.effort or ("none" if upstream.system in ("anthropic", "zai") else None)
    found: dict[str, Any] = {"timeout": options.timeout} if own else {"timeout": options.timeout, "max_retries": 0}
    if effort is not None:
        found["thinking"] = False if effort == "none" else effort
    if _is_anthropic(upstream):
        found["cache"] = {"messages": False}  # a marker behind the stable prefix (M-22.6)
    if "OpenAIResponsesModel" in {cls.__name__ for cls in type(upstream).__mro__}:
        found["openai_store"] = False  # what customers wrote is not kept there
    ignored = upstream.unsupported_settings
    return {key: value for key, value in found.items() if key not in ignored} | dict(options.settings)


def thinking_room(upstream: Upstream, options: Options) -> int:
    """The tokens that thinking may take beyond those of the reply: all providers count them together."""
    profile: Any = upstream.profile
    thinks = profile.get("supports_thinking") or profile.get("thinking_always_enabled")
    return _ROOM.get(options.effort or "", 0) if thinks else 0


def _is_anthropic(upstream: Upstream) -> bool:
    return upstream.system == "anthropic" or (
        upstream.system == "openrouter" and upstream.model_name.removeprefix("~").startswith("anthropic/")
    )


def _reasoning_field(profile: Any) -> str:
    return profile.get("openai_chat_thinking_field") or "reasoning"
