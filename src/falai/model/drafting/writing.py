"""Asks for a flow, judges what comes, and asks again with what was found: at most as often as was said (S-61)."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Final

from msgspec.structs import replace as with_rejected

from falai.errors import DraftError, ProviderError
from falai.flow.places import Finding, Notice
from falai.flow.spec import from_spec, to_spec
from falai.flow.specschema import flow_spec_schema
from falai.model.drafting.guide import GUIDE
from falai.model.drafting.judging import Attempt, judged
from falai.model.drafting.naming import Names, Naming, naming
from falai.model.drafting.prompt import draft_prompt
from falai.model.failures import classify
from falai.model.names import resolve_model
from falai.model.port import Model, ModelReply, ModelRequest, Usage
from falai.model.tasks import DraftTask, Rejected

__all__ = ["Draft", "draft_flow"]

_OFTEN_MEANT: Final = frozenset({"host-start-only"})
"""Warnings that ask for no other flow: a model that mends them adds what nobody wanted."""
_TAKEN_OUT: Final = "unlisted-property"
"""The warning of what the conversion drops: a model is told, for it may have meant another; the draft is without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A flow that holds: `spec` is ready to be stored (S-62), `notices` are for people to read."""

    spec: dict[str, Any]
    notices: tuple[Notice, ...]
    attempts: tuple[Attempt, ...]

    @property
    def warnings(self) -> list[str]:
        """The notices as sentences, like those of `validate_flow`."""
        return [notice.text for notice in self.notices]

    @property
    def usage(self) -> Usage | None:
        """The tokens of all attempts; `None` when the provider counted none (M-16.3)."""
        counted = [attempt.reply.usage for attempt in self.attempts if attempt.reply.usage is not None]
        return reduce(add, counted) if counted else None


async def draft_flow(
    model: Model | str,
    request: str,
    names: Names,
    *,
    language: str | None = None,
    taken: Collection[str] = (),
    tries: int = 3,
    watch: Callable[[Attempt], None] | None = None,
) -> Draft:
    """Lets a model write the flow that a person asked for, in their words, and proves it (S-59 to S-63).

    `names` is `agent.plan`, or the registries of `validate_flow`: the flow names nothing else.
    `language` is that of the texts; without it the agent's, else that of the request. `taken` are
    ids that the flow must not have, beside those of the agent's flows. The model is asked at most
    `tries` times: again with all problems while the flow is not valid, and once with the warnings
    of a valid one, which is kept if that makes it no better. `watch` sees each attempt when it is judged.

    Raises `DraftError`, with the last spec and its problems, when no attempt was valid;
    `ProviderError` when a call failed before there was a valid one; `FlowConfigurationError` when the
    definitions of `names` are wrong; `ValueError` for a blank request and for `tries` below 1.
    """
    if not request.strip() or tries < 1:
        raise ValueError("a blank request asks for no flow" if tries >= 1 else f"tries is {tries}: pass at least 1")
    known = naming(names)
    work = _Writing(resolve_model(model), known, known.task(request, language, taken), watch)
    best = await work.best(tries)
    if best is None:
        last = work.attempts[-1]
        raise DraftError(last.problems, spec=last.spec, attempts=tuple(work.attempts))
    notices = tuple(notice for notice in best.notices if notice.code != _TAKEN_OUT)
    return Draft(spec=to_spec(from_spec(best.spec or {})), notices=notices, attempts=tuple(work.attempts))


class _Writing:
    """One drafting: the attempts so far."""

    def __init__(self, model: Model, names: Naming, task: DraftTask, watch: Callable[[Attempt], None] | None) -> None:
        self._model = model
        self._names = names
        self._task = task
        self._watch = watch
        self._schema = flow_spec_schema(names.registries)
        self.attempts: list[Attempt] = []

    async def best(self, tries: int) -> Attempt | None:
        """The first valid attempt, or the one after it when that has fewer warnings; `None` when none was valid."""
        task = self._task
        while len(self.attempts) < tries:
            attempt = await self._attempt(task)
            rejected = _rejected(attempt)
            if rejected.valid:
                can_be_better = bool(rejected.problems) and len(self.attempts) < tries
                return await self._better(attempt, rejected) if can_be_better else attempt
            task = with_rejected(task, rejected=rejected)
        return None

    async def _better(self, valid: Attempt, rejected: Rejected) -> Attempt:
        try:
            other = await self._attempt(with_rejected(self._task, rejected=rejected))
        except ProviderError:  # what is there holds without it
            return valid
        return other if not other.problems and len(other.notices) < len(valid.notices) else valid

    async def _attempt(self, task: DraftTask) -> Attempt:
        reply = await self._reply(self._request(task))
        attempt = judged(reply, self._names, task.taken)
        self.attempts.append(attempt)
        if self._watch is not None:
            self._watch(attempt)
        return attempt

    async def _reply(self, request: ModelRequest) -> ModelReply:
        """The reply, read as a stream: a flow is long, and a provider that goes on writing is not silent (M-20.2)."""
        written, reply = "", None
        try:
            async for chunk in self._model.stream(request):
                written, reply = chunk.accumulated, chunk.reply
        except Exception as error:
            failure = classify(error, self._model.name)
            if isinstance(failure.answer, ModelReply) and failure.kind == "overload" and written:
                return replace(failure.answer, message=written)  # it answered, if badly: that can be mended
            raise failure from error
        if reply is None:
            raise ProviderError("the stream ended before its reply was whole", kind="overload")
        return reply

    def _request(self, task: DraftTask) -> ModelRequest:
        return ModelRequest(
            schema_name="flow",
            prompt=draft_prompt(task),
            system=GUIDE,
            history=(),
            context=None,
            schema=self._schema,
            task=task,
        )


def _rejected(attempt: Attempt) -> Rejected:
    found = attempt.problems or [notice for notice in attempt.notices if notice.code not in _OFTEN_MEANT]
    return Rejected(attempt.answer, tuple(map(_in_words, found)), valid=not attempt.problems)


def _in_words(finding: Finding) -> str:
    way = f" The way there: {'; '.join(finding.trail)}." if isinstance(finding, Notice) and finding.trail else ""
    return f"{finding.path or finding.where}: {finding.what}. {finding.fix}.{way}"
