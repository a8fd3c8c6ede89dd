"""Instructions and terms as the core takes them (D-40 to D-42).

The prompt has no word for the scope of an instruction, so each one begins with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal

from falai.classic.templates import Template, TemplateContext, live, text_of
from falai.flow.definition import Instruction
from falai.flow.places import Wire

__all__ = ["Scope", "core_instruction", "knowledge", "with_terms"]

Scope = Literal["global", "flow", "step"]

_BEFORE: Final[Mapping[Scope, str]] = {
    "global": "(always) ",
    "flow": "(in this flow) ",
    "step": "(at this point) ",
}
_HEADING: Final = "Glossary"
_BESIDE: Final = "Glossary (terms)"


def core_instruction(instruction: Wire, scope: Scope) -> Instruction:
    """The instruction for the core, but for its `if`, which the layer judges."""
    return Instruction(
        live(instruction["prompt"], _BEFORE[scope]),
        kind=instruction.get("kind", "should"),
        when=instruction.get("when"),
        id=instruction["id"],
    )


def knowledge(base: Wire | None, terms: Iterable[Wire]) -> dict[str, Any] | None:
    """The knowledge base with the terms whose texts never change; the others are not in it (D-42)."""
    glossary = {term["name"]: _entry(term, term["description"]) for term in terms if not _changes(term)}
    if not glossary:
        return None if base is None else dict(base)
    return {**(base or {}), _BESIDE if _HEADING in (base or {}) else _HEADING: glossary}


def with_terms(persona: Template | None, terms: Sequence[Wire]) -> str | None:
    """The persona for the core, and behind it the terms whose texts may change: it is in every prompt (D-17, D-42)."""
    changing = [term for term in terms if _changes(term)]
    if not changing:
        return None if persona is None else live(persona)

    async def said(context: TemplateContext) -> str:
        entries = [
            f"- {term['name']}: {_entry(term, _one_line(await text_of(term['description'], context)))}"
            for term in changing
        ]
        return "\n".join([await text_of(persona or "", context), f"{_HEADING}:", *entries]).strip()

    return live(said)


def _one_line(text: str) -> str:
    """What is filled in may be a customer's, and begins no entry of its own."""
    return " ".join(text.split())


def _changes(term: Wire) -> bool:
    return callable(term["description"]) or "{{" in term["description"]


def _entry(term: Wire, description: str) -> str:
    given: Any = term.get("synonyms")
    synonyms = [given] if isinstance(given, str) else given or ()
    return f"{description} (also: {', '.join(synonyms)})" if synonyms else description
