"""An answer in chunks: the words as they arrive, and a last chunk that has the rest (D-36 to D-39)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import fields

from falai.classic.errors import ResponseGenerationError
from falai.classic.response import AgentResponse, Answer, Chunk
from falai.classic.telling import stopped_by

__all__ = ["chunks_of"]


async def chunks_of(answer: Callable[[], AsyncGenerator[str | AgentResponse, None]]) -> AsyncGenerator[Chunk, None]:
    """The chunks of an answer: pieces of text, then the response. What goes wrong is the last chunk."""
    accumulated = ""
    try:
        async with aclosing(answer()) as pieces:
            async for piece in pieces:
                if isinstance(piece, str):
                    accumulated += piece
                    yield Chunk(delta=piece, accumulated=accumulated)
                else:
                    yield _last(piece, accumulated)
    except Exception as error:  # noqa: BLE001  a stream raises nothing
        failure = error
    else:
        return
    yield _failed(failure)


def _last(response: AgentResponse, accumulated: str) -> Chunk:
    """What is left of the text; nothing, when another text has taken its place."""
    text = response.message
    rest = text[len(accumulated) :] if text.startswith(accumulated) else ""
    shared = {field.name: getattr(response, field.name) for field in fields(Answer)}
    return Chunk(delta=rest, accumulated=text, done=True, session=response.session, turn=response.turn, **shared)


def _failed(error: Exception) -> Chunk:
    wrapped = error if isinstance(error, ResponseGenerationError) else ResponseGenerationError(error, "streaming")
    return Chunk(delta="", accumulated="", done=True, error=wrapped, stopped_reason=stopped_by(error))
