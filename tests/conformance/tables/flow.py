"""One function for each table of the room `flow`: a row in, an AssertionError when it differs."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from conformance.tables.raising import raises
from falai.errors import FlowConfigurationError
from falai.flow.conditions import holds
from falai.flow.definition import Condition
from falai.flow.durations import parse_duration
from falai.flow.fields import read_fields
from falai.flow.handlers import View
from falai.flow.hours import BusinessHours
from falai.flow.schema import to_wire_schema
from falai.flow.spec import from_spec, to_spec, validate_flow
from falai.flow.templates import render, render_deep, roots
from falai.flow.values import coerce_field, is_known
from falai.session.dates import from_ms, iso, read_date, to_ms
from falai.session.jsontext import json_equal

Row = Mapping[str, Any]


def coercion(row: Row) -> None:
    plans, _ = read_fields({"field": row["field"]})
    field = plans["field"]
    assert field is not None
    found = coerce_field(field, row.get("raw"))
    assert found.code == row.get("code"), f"{found} for {row}"
    expected = None if "code" in row or row.get("ignored") else row["value"]
    assert json_equal(found.value, expected), f"{found} for {row}"


def known(row: Row) -> None:
    assert is_known(row.get("value")) is row["known"], row


def durations(row: Row) -> None:
    if row.get("error"):
        raises(lambda: parse_duration(row["text"]), {}, FlowConfigurationError)
    else:
        assert parse_duration(row["text"]) == row["ms"], row


def templates(row: Row) -> None:
    found = render(row["template"], roots(**row["scope"]))
    assert found == row["text"], f"{found!r} for {row}"


def params(row: Row) -> None:
    given = copy.deepcopy(row["params"])
    found = render_deep(given, roots(**row["scope"]))
    assert json_equal(found, row["rendered"]), f"{found!r} for {row}"
    assert json_equal(given, row["params"])


def conditions(row: Row) -> None:
    registered = {name: _condition(name, spec["path"]) for name, spec in row.get("conditions", {}).items()}
    state = row["state"]
    view: View[Any] = View(
        state.get("context"), state["data"], None, None, state.get("silenced"), datetime(2026, 9, 20, 10, tzinfo=UTC)
    )

    def judged() -> bool:
        if not row.get("unchecked"):
            validate_flow(_forked(row["spec"]), _names(row))
        return holds(row["spec"], view, registered)

    if "error" in row:
        raises(judged, row["error"], FlowConfigurationError)
    else:
        assert judged() is row["holds"], row


def wire_schema(row: Row) -> None:
    found = to_wire_schema(row["fields"], row["nullable"])
    assert json_equal(found, row["schema"]), f"{found} for {row}"


def flowspec_errors(row: Row) -> None:
    before = copy.deepcopy(row["flow"])
    raises(lambda: validate_flow(row["flow"], row["registries"]), row["error"], FlowConfigurationError)
    assert json_equal(row["flow"], before)


def flowspec_warnings(row: Row) -> None:
    before = copy.deepcopy(row["flow"])
    found = validate_flow(row["flow"], row["registries"])["warnings"]
    assert len(found) == len(row["warnings"]), f"{found} for {row}"
    for text, expected in zip(found, row["warnings"], strict=True):
        assert all(part in text for part in expected["contains"]), f"{text!r} for {expected}"
    assert json_equal(row["flow"], before)


def flowspec_roundtrip(row: Row) -> None:
    before = copy.deepcopy(row["spec"])
    found = to_spec(from_spec(row["spec"]))
    assert json_equal(found, row["normal"]), f"{found} for {row}"
    assert json_equal(row["spec"], before)


def business_hours(row: Row) -> None:
    hours = row["hours"]
    try:
        snap = BusinessHours(hours["open"], hours["close"], weekdays=hours["weekdays"], tz=hours["tz"])
    except ValueError:
        assert row.get("error"), row
        return
    assert not row.get("error"), row
    at = read_date(row["at"])
    assert at is not None
    assert iso(to_ms(snap(from_ms(at)))) == row["to"], row


def _condition(name: str, path: str) -> Condition:
    """A host condition of the format: the value at the path is the argument, or a list that has it."""

    def check(view: View[Any], argument: Any) -> bool:
        value: Any = {"context": view.context, "data": view.data, "input": view.input}
        for part in path.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return (
            any(json_equal(entry, argument) for entry in value)
            if isinstance(value, list)
            else json_equal(value, argument)
        )

    return Condition(name, check)


def _forked(spec: Any) -> dict[str, Any]:
    return {"id": "f", "name": "F", "steps": [{"id": "fork", "if": spec, "else": "end"}]}


def _names(row: Row) -> dict[str, Any]:
    return {"fields": row["fields"], "conditions": row.get("conditions", {})}
