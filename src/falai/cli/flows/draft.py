"""`falai draft`: a model writes a flow from what somebody asked for.

The spec alone goes to standard output, or into the file of `--out`; all that is for people goes to
standard error. So `falai draft "…" > flow.json` gives a file that can be used.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from falai.cli.clean import clean
from falai.cli.flows.sources import Source, load_owner
from falai.cli.flows.specfile import spec_text, why_not_written
from falai.cli.loading import LoadError
from falai.cli.models import close_model, named_model, without_key
from falai.errors import DraftError, ProviderError
from falai.flow.drawing.draw import draw
from falai.flow.drawing.flows import picture_of_flow
from falai.flow.places import Finding, Notice
from falai.model.drafting import Attempt, Draft, draft_flow
from falai.model.port import Model
from falai.turn.words import why_provider_failed

__all__ = ["DraftOptions", "run_draft"]

WRITTEN, NONE_HOLDS, NOT_DONE, STOPPED = 0, 1, 2, 130

_NO_MODEL = "name the model that writes, such as --model openai:gpt-5-mini; FALAI_MODEL says it for all commands"
_LEXICAL = "the lexical model cannot write flows: name a language model, such as --model openai:gpt-5-mini"
_NO_AGENT = (
    "No agent is named, so the flow can only talk and wait. "
    "With --agent, an agent or a file {fields, actions, …, flows}, it uses what the agent has."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftOptions:
    """What the command line said."""

    request: str
    agent: str | None = None
    model: str | None = None
    base_url: str | None = None
    language: str | None = None
    out: Path | None = None
    tries: int = 3


def run_draft(options: DraftOptions) -> int:
    """Drafts a flow and shows it; the result is the program's exit code.

    Raises `LoadError` for an agent, a model or a file that cannot be used, before anything is asked.
    """
    owner = None if options.agent is None else load_owner(options.agent)
    model = _model(options, owner)
    if options.out is not None and (why := why_not_written(options.out)):
        raise LoadError(why)
    request = _typed() if options.request == "-" else options.request
    if not request.strip():
        raise LoadError('the request is blank: say what the flow is for, as in falai draft "books a visit"')
    return _Drafting(options, owner, model).run(request)


def _typed() -> str:
    """What comes on standard input, which is UTF-8 whatever the terminal's own encoding is."""
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]  # it is, where it was closed
        return ""
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise LoadError("the request on standard input is not in UTF-8") from error


def _model(options: DraftOptions, owner: Source | None) -> Model:
    agent = None if owner is None else owner.agent
    model = named_model(options.model, options.base_url) or (agent.model if agent else None)
    if model is None:
        raise LoadError(_NO_MODEL)
    if model.name == "lexical":
        raise LoadError(_LEXICAL)
    if why := without_key(model):
        raise LoadError(why)
    return model


class _Drafting:
    """One run of the command, and what a person sees of it."""

    def __init__(self, options: DraftOptions, owner: Source | None, model: Model) -> None:
        self._options = options
        self._model = model
        self._plan = None if owner is None else owner.plan
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._status = self._console.status("") if self._console.is_terminal else None
        self._attempts: list[Attempt] = []

    def run(self, request: str) -> int:
        if self._plan is None:
            self._say(_NO_AGENT, "dim")
        try:
            with self._working():
                draft = asyncio.run(self._draft(request))
        except ProviderError as error:
            self._say(why_provider_failed(error), "bold red")
            self._keep_last()
            return NOT_DONE
        except DraftError as error:
            self._failed(error)
            return NONE_HOLDS
        except KeyboardInterrupt:
            self._say("Stopped.", "bold red")
            self._keep_last()
            return STOPPED
        code = WRITTEN if self._hand_over(draft.spec) else NOT_DONE
        self._show(draft)
        return code

    async def _draft(self, request: str) -> Draft:
        try:
            return await draft_flow(
                self._model,
                request,
                self._plan or {},
                language=self._options.language,
                tries=self._options.tries,
                watch=self._judged,
            )
        finally:
            await close_model(self._model)

    # --- while the model writes -----------------------------------------------------------------

    def _working(self) -> AbstractContextManager[Any]:
        self._tell_next()
        return self._status or nullcontext()

    def _judged(self, attempt: Attempt) -> None:
        self._attempts.append(attempt)
        found = [_count(attempt.problems, "problem"), _count(attempt.notices, "warning")]
        self._say(f"Attempt {len(self._attempts)}: {' and '.join(filter(None, found)) or 'nothing was found'}.", "dim")
        self._tell_next()

    def _tell_next(self) -> None:
        if self._status is not None:
            doing = "mends what was found" if self._attempts else "writes the flow"
            self._status.update(Text(f"{clean(self._model.name)} {doing} (attempt {len(self._attempts) + 1})"))

    # --- what came of it ------------------------------------------------------------------------

    def _hand_over(self, spec: Mapping[str, Any]) -> bool:
        """Whether the spec went where it is to go; if not it stands elsewhere, for it has cost a call."""
        out = self._options.out
        if out is not None:
            try:
                out.write_text(spec_text(spec, out), encoding="utf-8")
            except OSError as error:
                self._say(f"{out} cannot be written: {error.strerror or error}. It comes here:", "bold red")
            else:
                self._say(f"It is in {out}.", "bold")
                return True
        try:
            sys.stdout.write(spec_text(spec))
            sys.stdout.flush()
        except BrokenPipeError:  # whoever read it has gone
            raise
        except OSError as error:
            self._say(f"Standard output cannot be written: {error.strerror or error}. It comes here:", "bold red")
            self._say(spec_text(spec))
            return False
        return out is None

    def _show(self, draft: Draft) -> None:
        self._say(f"\n{draw(picture_of_flow(draft.spec))}")
        self._list(draft.notices)
        calls = f"{len(draft.attempts)} calls" if len(draft.attempts) > 1 else "one call"
        usage = draft.usage
        tokens = f", {usage.prompt_tokens} tokens read, {usage.completion_tokens} written" if usage else ""
        self._say(f"{_count(draft.spec['steps'], 'step')} in {calls} to the model{tokens}.", "bold green")

    def _failed(self, error: DraftError) -> None:
        self._say(f"No flow that holds came of it in {_count(error.attempts, 'attempt')}.", "bold red")
        self._keep_last()

    def _keep_last(self) -> None:
        """What is wrong in the last attempt, and the attempt itself: somebody may mend it by hand."""
        if not self._attempts:
            return
        last = self._attempts[-1]
        self._say("In the last one:")
        self._list(last.problems)
        if last.spec is not None and self._options.out is not None:
            self._hand_over(last.spec)
        else:
            self._say(f"\n{last.answer if last.spec is None else spec_text(last.spec)}")

    def _list(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            kind, style = ("warning", "bold yellow") if isinstance(finding, Notice) else ("error", "bold red")
            words = clean(f" {finding.where}: {finding.what}. {finding.fix}")
            self._console.print(Text.assemble((f"{kind}[{finding.code}]", style), words))

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(Text(clean(text), style=style))


def _count(things: Any, word: str) -> str:
    """`3 problems`; nothing for none."""
    number = len(things)
    return f"{number} {word}{'' if number == 1 else 's'}" if number else ""
