"""What an agent's document defines, as JSON Schema: fields, parameters, actions, events, business hours."""

from __future__ import annotations

from falai.flow.fields import EXTRACT_MODES, SCALARS
from falai.flow.schemaparts import BOOLEAN, Schema, listed, mapped, object_of, one_of, ref, said, text

__all__ = ["RICHER", "action", "business_hours", "event", "field", "parameter"]

RICHER = ("date", "datetime", "time", "decimal", "email")
"""What a field of a document may be beside the four wire types (F-19.3)."""


def field() -> Schema:
    """The definition of a field."""
    texts = {key: text() for key in ("label", "description", "question")}
    return object_of(
        {
            "type": one_of([*SCALARS, *RICHER]),
            "enum": said(_listed_values(), "The values that are allowed."),
            **texts,
            "ask": said(text(), "How to ask for it, as a guideline for the model."),
            "extract": said(
                one_of(EXTRACT_MODES), "Whether any message is read for it, or only the answer to its ask."
            ),
            "correct": said(BOOLEAN, "Whether a later message may change it."),
        },
        required=("type",),
    )


def parameter() -> Schema:
    """The definition of a parameter of an action."""
    scalar = {"type": one_of(SCALARS), "enum": _listed_values(), "description": text()}
    return object_of(
        {
            **scalar,
            "type": one_of([*SCALARS, "array"]),
            "items": object_of(scalar, required=("type",)),
            "optional": {"const": True},
        },
        required=("type",),
    )


def action() -> Schema:
    """The definition of an action."""
    moves = listed({"type": ["string", "object"]})
    return object_of(
        {
            "parameters": mapped(ref("parameter")),
            "description": text(),
            "moves": said(moves, 'Where it may send the run: a step\'s id, "end", {"flow": id} or {"reset": true}.'),
        }
    )


def business_hours() -> Schema:
    """When somebody is there."""
    return object_of(
        {
            "open": said(text(), "09:00"),
            "close": said(text(), "18:00"),
            "weekdays": said(listed({"type": "integer", "minimum": 1, "maximum": 7}), "From 1, Monday, to 7."),
            "tz": said(text(), "A time zone, such as Europe/Berlin; that of the agent, if left out."),
        },
        required=("open", "close"),
    )


def event() -> Schema:
    """The definition of an event."""
    return object_of({"direction": one_of(("inbound", "outbound"))})


def _listed_values() -> Schema:
    return {"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}}
