"""What the model reads out of a message for the 3.x face, as the core has it: opaque fields, signals (D-5, D-88)."""

from __future__ import annotations

from typing import Any, Final, Literal

from falai.classic.schema import SchemaField, misfits
from falai.flow.definition import Do, Flow, OnMention
from falai.flow.phrases import split_phrases
from falai.flow.places import Wire, is_list, is_object
from falai.flow.plan import FieldPlan, WireType

__all__ = ["opaque_field", "signal_flow", "texts"]

_ANY_MESSAGE: Final = "the customer writes anything at all"
_SCALARS: Final = ("string", "number", "integer", "boolean")


def texts(value: Any) -> list[str]:
    """What may be a text or a list of texts, as a list."""
    return [value] if isinstance(value, str) else list(value or ())


def opaque_field(field: SchemaField) -> FieldPlan:
    """A field whose schema goes to the model as written; a value is accepted when its outer type fits."""

    def validate(value: Any) -> Any:
        for wrong in misfits({field.slug: value}, {field.slug: field}):
            raise ValueError(wrong.message)
        return value

    description = field.schema.get("description")
    mode: Literal["anywhere", "asked"] = "asked" if field.extract == "asked" else "anywhere"
    stands_for: WireType = "string"
    return FieldPlan(
        field.slug, stands_for, description=description, ask=field.ask, mode=mode, validate=validate,
        schema=field.schema,
    )  # fmt: skip


def signal_flow(signal: Wire, action: str) -> Flow:
    """A flow that is looked for in each message. Where no phrase says when, one does that any message meets."""
    phrases = texts(signal.get("when"))
    if (phrases or "extract" in signal) and not split_phrases(phrases).matches:
        phrases = [_ANY_MESSAGE, *phrases]
    return Flow(
        signal["id"],
        name=signal.get("title") or signal["id"],
        description=signal.get("description"),
        on=[OnMention(*phrases, extract=_extract(signal), repeat="always")],
        steps=[Do("signal", action)],
    )


def _extract(signal: Wire) -> dict[str, Any] | None:
    properties: Wire = signal.get("extract", {}).get("properties", {})
    return {name: _parameter(definition) for name, definition in properties.items()} or None


def _parameter(definition: Any) -> dict[str, Any]:
    """A scalar, or a list of scalars, as the core has it; anything else by its schema."""
    given: dict[str, Any] = dict(definition) if is_object(definition) else {}
    items = given.get("items")
    listed = given.get("type") == "array" and is_object(items) and items.get("type") in _SCALARS
    plain = not is_list(given.get("type")) and (given.get("type") in _SCALARS or listed)
    return given if plain else {"type": "string", "description": given.get("description"), "schema": given}
