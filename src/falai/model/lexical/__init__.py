"""A model without a model: no network, no weights, nothing that is not in the request's `task`.

It routes by shared words, reads values by their form, and says questions and stock sentences. It
makes demos and tests run anywhere, and can stand in when every provider is down. It is no
replacement for a language model, and says so to customers.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, Final

from falai.errors import ProviderError
from falai.model.lexical.judging import judge
from falai.model.lexical.sentences import SENTENCES, Language, language_of
from falai.model.lexical.speaking import reply
from falai.model.port import ModelChunk, ModelReply, ModelRequest
from falai.model.tasks import DraftTask, SpeakTask, SummaryTask, UnderstandTask
from falai.session.jsontext import json_text

__all__ = ["LexicalModel"]

_NO_AUTHOR: Final = "the lexical model cannot write flows: that takes a language model, such as openai:gpt-5-mini"


class LexicalModel:
    """Answers from the task's plain data, in `en`, `pt` or `es`: in the agent's `language` if it is one of them.

    It calls no tools, and never says an `ask` or a `prompt`. Raises `ValueError` for another language.
    """

    def __init__(self, language: Language = "en") -> None:
        if language not in SENTENCES:
            raise ValueError(f"[LexicalModel] language {language!r} is not known: pass one of {', '.join(SENTENCES)}")
        self.language: Language = language

    @property
    def name(self) -> str:
        return "lexical"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply; it needs no waiting. Raises `ProviderError` when a flow is to be written, and only then."""
        task = request.task
        if isinstance(task, DraftTask):
            raise ProviderError(_NO_AUTHOR, provider=self.name, kind="invalid")
        if isinstance(task, SummaryTask):
            return ModelReply(message=_digest(task), model=self.name)
        envelope = self._envelope(task, request)
        return ModelReply(message=json_text(envelope), structured=envelope, model=self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The reply as one piece."""
        whole = await self.complete(request)
        yield ModelChunk(whole.message, whole.message, whole)

    def _envelope(self, task: UnderstandTask | SpeakTask, request: ModelRequest) -> dict[str, Any]:
        if isinstance(task, UnderstandTask):
            return judge(task)
        return reply(task, request.history, SENTENCES[language_of(task.language) or self.language])


def _digest(task: SummaryTask) -> str:
    """The beginnings of the last items: a summary needs a model, this only forgets less."""
    spoken = ((item.get("role"), item.get("content")) for item in task.items[-12:])
    lines = [f"{role}: {' '.join(text.split())[:160]}" for role, text in spoken if isinstance(text, str) and text]
    return "\n".join(lines) or "Nothing was said."
