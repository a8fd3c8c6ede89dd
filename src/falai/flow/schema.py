"""Definitions as a JSON schema, and field groups as one mapping (F-4, F-5).

A definition is a mapping in wire form or a checked plan (`FieldPlan`, `ParamPlan`): both have a
type, and perhaps a description, an enum, items and `optional`; nothing else reaches a schema. One
with a `schema` of its own is that, as it is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from falai.errors import FlowConfigurationError, Problem
from falai.flow.plan import FieldPlan, ParamPlan
from falai.session.jsontext import json_equal, json_text, quoted

__all__ = ["Definition", "build_schema", "to_wire_schema"]

Definition = Mapping[str, Any] | FieldPlan | ParamPlan

_FILLED = ("enum", "label", "ask", "description", "extract")
_MUST_AGREE = {
    "type": "Give both the same type, or the fields different names",
    "enum": "List the same values in the same order, or list them once",
}


def to_wire_schema(defs: Mapping[str, Definition], nullable: bool = False) -> dict[str, Any]:  # F-4.1
    """The closed JSON schema of an object with these properties, in order (F-4.1).

    With `nullable`, every property may be null and every one is required (F-4.3).
    """
    wire = {name: _wire_form(definition) for name, definition in defs.items()}
    return {
        "type": "object",
        "properties": {name: _property(definition, nullable=nullable) for name, definition in wire.items()},
        "required": [name for name, d in wire.items() if nullable or d.get("optional") is not True],
        "additionalProperties": False,
    }


def build_schema(groups: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """One field mapping from the groups `{id, fields}` of several editors (F-5).

    The first row of a slug wins; later ones fill what is missing. Raises FlowConfigurationError,
    with every clash, for rows of one slug whose type or enum differ.
    """
    merged: dict[str, dict[str, Any]] = {}
    owners: dict[tuple[str, str], Any] = {}
    problems: list[Problem] = []
    for group in groups:
        for slug, row in group["fields"].items():
            known = merged.setdefault(slug, {})
            problems += _clashes(slug, known, row, owners, group["id"])
            _fill(slug, known, row, owners, group["id"])
    if problems:
        raise FlowConfigurationError(problems)
    return merged


def _wire_form(definition: Definition) -> Mapping[str, Any]:
    if isinstance(definition, Mapping):
        return definition
    form: dict[str, Any] = {"type": definition.type, "description": definition.description, "enum": definition.enum}
    if isinstance(definition, ParamPlan):
        form |= {"items": definition.items and _wire_form(definition.items), "optional": definition.optional}
    return form


def _property(definition: Mapping[str, Any], *, nullable: bool = False) -> dict[str, Any]:
    if definition.get("schema") is not None:
        return {"anyOf": [definition["schema"], {"type": "null"}]} if nullable else dict(definition["schema"])
    kind = definition["type"]
    result: dict[str, Any] = {"type": [kind, "null"] if nullable else kind}
    if kind == "array":
        result["items"] = _property(_wire_form(definition["items"]))
    if definition.get("description"):
        result["description"] = definition["description"]
    if kind != "array" and definition.get("enum") is not None:
        result["enum"] = list(definition["enum"])
    return result


def _clashes(
    slug: str, known: Mapping[str, Any], row: Mapping[str, Any], owners: Mapping[tuple[str, str], Any], group: Any
) -> Iterable[Problem]:
    for name, fix in _MUST_AGREE.items():
        first, later = known.get(name), row.get(name)
        if first is not None and later is not None and not json_equal(first, later):
            both = f"{json_text(first)} in {quoted(str(owners[slug, name]))} and {json_text(later)} in {quoted(str(group))}"
            yield Problem("bad-definition", f"field {quoted(slug)}", f"its {name} is {both}", fix)


def _fill(
    slug: str, known: dict[str, Any], row: Mapping[str, Any], owners: dict[tuple[str, str], Any], group: Any
) -> None:
    """The first row is copied whole; a later one gives what is still missing among F-5.2's properties."""
    wanted = _FILLED if known else row
    for name in wanted:
        if known.get(name) is None and row.get(name) is not None:
            known[name] = row[name]
            owners[slug, name] = group
