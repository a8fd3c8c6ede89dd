"""Texts that may be code: a template is text with `{{paths}}`, or a function that gives the text (D-17).

A text without a path stays a plain text, so that the stable part of a prompt stays stable. Any other
template becomes a `Live` text, which the core carries around as it carries every text, and which
fills itself when it is rendered. A function may be asynchronous, and the core is not: the layer calls
it when a text may soon be needed (`prepare`) and the live text gives back what came of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from falai.flow.places import is_object
from falai.flow.templates import Fillable, Roots, placeholders, render, roots
from falai.session.jsontext import json_text
from falai.session.model import Session

__all__ = ["Helpers", "Live", "Template", "TemplateContext", "filled", "live", "prepare", "text_of"]

Template = str | Callable[["TemplateContext"], Any]
Role = Literal["user", "assistant", "system", "tool"]

_OF_A_FUNCTION: Final = "{{text}}"  # a text with a path: whoever keeps stable texts apart sees that it varies


@dataclass(frozen=True, slots=True)
class Helpers:
    """What a template's function looks up in the conversation (D-17). The last item is the message that is answered."""

    history: Sequence[Mapping[str, Any]]

    def get_messages(self, role: Role | None = None) -> list[Mapping[str, Any]]:
        """The items of the history, or those of one role, oldest first."""
        return [item for item in self.history if role is None or item.get("role") == role]

    def get_last_message(self, role: Role | None = None) -> str | None:
        """The text of the last item, or of the last one of a role; `None` when there is none."""
        found = self.get_messages(role)
        return _content(found[-1]) if found else None

    def get_last_user_message(self) -> str | None:
        """What the user wrote last."""
        return self.get_last_message("user")

    def get_last_assistant_message(self) -> str | None:
        """What the assistant said last."""
        return self.get_last_message("assistant")

    def last_message_contains(self, words: str | Iterable[str], case_sensitive: bool = False) -> bool:
        """Whether the last item has one of these words, or parts of words, in it."""
        text = self.get_last_message() or ""
        wanted = [words] if isinstance(words, str) else list(words)
        if not case_sensitive:
            text, wanted = text.casefold(), [word.casefold() for word in wanted]
        return any(word in text for word in wanted)


@dataclass(frozen=True, slots=True)
class TemplateContext:
    """What a template's function gets (D-17)."""

    context: Any
    data: Mapping[str, Any]
    session: Session
    history: Sequence[Mapping[str, Any]]

    @property
    def helpers(self) -> Helpers:
        return Helpers(self.history)


class Live(Fillable):
    """A template as a text that fills itself; `before` stands in front of what comes out."""

    source: Any
    before: str

    def fill(self, scope: Roots) -> str:
        """The text for this moment; nothing, when the function gave nothing."""
        text = _texts().get(id(self.source), "") if callable(self.source) else filled(self.source, scope)
        return _behind(self.before, text)


def live(template: Template, before: str = "") -> str:
    """The template as a text of the core: a plain text when nothing in it can change."""
    if isinstance(template, str) and "{{" not in template:
        return _behind(before, template)
    made = Live(before + (template if isinstance(template, str) else _OF_A_FUNCTION))
    made.source, made.before = template, before
    return made


async def prepare(templates: Iterable[object], context: TemplateContext) -> None:
    """Calls the functions of these live texts, so that the texts can fill themselves; others are passed over.

    Raises what a function raises.
    """
    for template in templates:
        if isinstance(template, Live) and callable(template.source):
            _texts()[id(template.source)] = await _called(template.source, context)


async def text_of(template: Template, context: TemplateContext, input: Any = None) -> str:
    """What a template says at this moment. Raises what its function raises."""
    source = template.source if isinstance(template, Live) else template
    if callable(source):
        return await _called(source, context)
    return filled(source, roots(data=context.data, context=context.context, input=input))


def filled(text: str, scope: Roots) -> str:
    """The text with its paths filled in; a first name that is no root is looked up in the context (D-17)."""
    names = {parts[0] for parts in placeholders(text)} - scope.keys()
    return render(text, {**dict(_in_context(names, scope.get("context"))), **scope})


def _in_context(names: Iterable[str], context: Any) -> Iterator[tuple[str, Any]]:
    for name in names:
        if is_object(context):
            if name in context:
                yield name, context[name]
        elif not name.startswith("_") and hasattr(context, name):
            yield name, getattr(context, name)


def _texts() -> dict[int, str]:
    from falai.classic.state import CURRENT  # which needs the context of this file

    state = CURRENT.get()
    return {} if state is None else state.texts


def _behind(before: str, text: str) -> str:
    return f"{before}{text}" if text.strip() else ""


async def _called(function: Callable[[TemplateContext], Any], context: TemplateContext) -> str:
    given = function(context)
    text = await given if inspect.isawaitable(given) else given
    return "" if text is None else str(text)


def _content(item: Mapping[str, Any]) -> str:
    content = item.get("content")
    return content if isinstance(content, str) else "" if content is None else json_text(content)
