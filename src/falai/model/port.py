"""The one thing that falai asks of a model: a request in, a reply out, as plain data (M-17).

A `Model` has two methods. Everything that a provider needs is in the request; `task` is the plain
data from which the prompt was rendered, for a model that reads no prompts. A failure is a
`ProviderError`; anything else that a model raises is classified by `falai.model.failures`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from falai.model.tasks import DraftTask, SpeakTask, SummaryTask, UnderstandTask

__all__ = ["Model", "ModelChunk", "ModelReply", "ModelRequest", "SchemaName", "ToolCall", "ToolSpec", "Usage"]

SchemaName = Literal["understand", "speak", "summary", "flow"]
"""Which call it is (M-1.5); `flow` is none of a turn: it writes a flow (S-60)."""
HistoryItem = Mapping[str, Any]
"""An item of M-14.1, as a mapping with wire names."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that a provider counted (M-16.1): cached ones are part of the prompt's."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_input_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_input_tokens + other.cached_input_tokens,
        )


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it (M-9.3)."""

    id: str
    name: str
    description: str | None
    parameters: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool that the model wants called; `arguments` is raw, an object or JSON text (M-9.5)."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call (M-17.3). `system` is the stable prefix; `prompt` is sent as the last user turn.

    `schema` is the closed JSON schema of the answer, `{}` for free text.
    """

    schema_name: SchemaName
    prompt: str
    system: str | None
    history: Sequence[HistoryItem]
    context: Any
    schema: Mapping[str, Any]
    task: UnderstandTask | SpeakTask | SummaryTask | DraftTask
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """What came back (M-17.4): the text, and the object when the provider parsed one."""

    message: str = ""
    structured: Mapping[str, Any] | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    model: str | None = None
    finish_reason: str | None = None
    cost: float | None = None
    reasoning: str | None = None
    reasoning_details: Sequence[Any] | None = None


@dataclass(frozen=True, slots=True)
class ModelChunk:
    """A piece of a streamed reply (M-17.5); the last one, and only it, carries `reply`."""

    delta: str
    accumulated: str
    reply: ModelReply | None = None


class Model(Protocol):
    """What falai needs of a model. One object serves all sessions at once."""

    @property
    def name(self) -> str: ...

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The whole reply. Raises `ProviderError`."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply in pieces; joined they are the reply's `message`. Raises `ProviderError`."""
        ...
