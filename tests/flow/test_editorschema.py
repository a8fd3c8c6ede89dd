"""The JSON Schema for editors: it refuses nothing that runs, and shows most mistakes while one types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

import falai.flow
from falai.errors import FlowConfigurationError
from falai.flow.editorschema import document_schema
from falai.flow.registries import read_registries
from falai.flow.schemadefinitions import RICHER
from falai.flow.spec import to_spec, validate_flow
from falai.testing.scenario.stage import RICHER_TYPES
from strategies import Dice, draw_agent
from strategies_flow import LIBRARY_NAMES, REGISTRIES, flow_specs, json_values, spoilt

FIXTURES = Path(__file__).parents[2] / "docs" / "spec" / "fixtures"
TABLES = Path(__file__).parents[1] / "conformance" / "data" / "tables"
# What needs more than one place to be looked at, or the registries of one case.
BEYOND = {
    "backward-if-without-else", "duplicate-step-id", "only-exclusions", "question-without-collect",
    "triggers-without-steps", "unknown-step",
}  # fmt: skip


def _of(registries: dict[str, Any] | None) -> Draft202012Validator:
    schema = document_schema(None if registries is None else read_registries(registries)[0])
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


OPEN, OF_LIBRARY, OF_TESTS = _of(None), _of(LIBRARY_NAMES), _of(REGISTRIES)


def _table(name: str) -> list[dict[str, Any]]:
    return json.loads((TABLES / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def _fails(spec: Any, registries: dict[str, Any]) -> bool:
    try:
        validate_flow(spec, registries)
    except FlowConfigurationError:
        return True
    return False


def test_the_shipped_copy_is_the_schema():
    """The file of the package is what `falai schema` prints without an agent; write it anew when this fails."""
    shipped = Path(falai.flow.__file__).parent / "flows.schema.json"
    assert json.loads(shipped.read_text(encoding="utf-8")) == document_schema()


def test_the_library_is_accepted():
    """The flow that has one of each thing, by the open schema, by that of its agent, alone, in a list and in an agent."""
    spec = json.loads((FIXTURES / "flowspec-library.json").read_text(encoding="utf-8"))
    for validator in (OPEN, OF_LIBRARY):
        for document in (
            spec,
            [spec, spec],
            {**LIBRARY_NAMES, "name": "Ana", "flows": [spec], "ignore": ["unreachable"]},
        ):
            assert [error.message for error in validator.iter_errors(document)] == []


@pytest.mark.parametrize(
    "case",
    json.loads((FIXTURES / "flowspec-errors.json").read_text(encoding="utf-8"))["cases"],
    ids=lambda c: c["name"],
)
def test_mistakes_are_seen(case: dict[str, Any]):
    """Each wrong flow of the fixtures is refused, those aside that one place does not give away; the others are not."""
    valid = OF_LIBRARY.is_valid(case["spec"])
    assert valid if "code" not in case else not valid or case["code"] in BEYOND


@pytest.mark.parametrize("table", ["flowspec-warnings", "flowspec-roundtrip"])
def test_what_is_right_is_accepted(table: str):
    """Flows with warnings are right, and so is whatever goes to a spec and back."""
    for row in _table(table):
        spec = row.get("flow", row.get("spec"))
        assert [error.message for error in OPEN.iter_errors(spec)] == [] or _fails(spec, row.get("registries", {}))


@pytest.mark.property
@given(flow_specs, st.integers(0, 10**9), json_values)
def test_nothing_right_is_refused(spec: dict[str, Any], seed: int, junk: Any):
    """Whatever the schema refuses, with an agent's names or without, `validate_flow` refuses."""
    dice = Dice((seed, "junk"))
    for document in (spec, spoilt(dice, spec, junk), spoilt(dice, spec, None)):
        if not OF_TESTS.is_valid(document) or not OPEN.is_valid(document):
            assert _fails(document, REGISTRIES)


@pytest.mark.property
@given(st.integers(0, 10**9))
def test_the_flows_of_an_agent_are_accepted(seed: int):
    """Flows in code, written as specs, are documents that the schema takes."""
    for flow in draw_agent(Dice((seed, "agent")))["flows"]:
        try:
            spec = to_spec(flow)
        except FlowConfigurationError:  # it has functions
            continue
        assert [error.message for error in OPEN.iter_errors(spec)] == []


def test_names_are_offered():
    """With an agent's names, those are listed where a name stands."""
    schema = document_schema(read_registries(REGISTRIES)[0])
    assert schema["$defs"]["slugs"]["items"]["enum"] == ["name", "size", "agreed"]
    assert schema["$defs"]["tools"]["items"]["enum"] == ["search"]
    text = json.dumps(schema)
    assert '{"enum": ["f", "other"]}' in text
    assert '{"enum": ["tell", "stop"], "description": "The action that is run."}' in text
    assert '"vip"' in text


def test_names_that_are_not_there_are_refused():
    """Also where a name is the key of an object."""
    for asks, fine in [({"name": "Ask."}, True), ({"name": None}, True), ({"nmae": "Ask."}, False)]:
        step = {"id": "a", "collect": ["name"], "ask": asks}
        assert OF_TESTS.is_valid({"id": "f", "steps": [step]}) == fine


@pytest.mark.parametrize(
    ("more", "fine"),
    [
        ({"idle": "silent", "businessHours": {"open": "09:00", "close": "18:00"}, "knowledgeBase": {"a": 1}}, True),
        ({"idle": {"prompt": "Help.", "tools": [], "instructions": [{"prompt": "Be brief."}]}}, True),
        ({"idle": "slient"}, False), ({"businessHours": {"open": "09:00"}}, False),
        ({"businessHours": {"open": "09:00", "close": "18:00", "weekdays": [0]}}, False),
    ],
)  # fmt: skip
def test_what_else_an_agent_has(more: dict[str, Any], fine: bool):
    """Whatever the document of an agent may say is offered."""
    assert OPEN.is_valid({"flows": [], **more}) == fine


def test_richer_types_are_those_of_documents():
    """A document's fields may have the types that the fields of scenario files may have."""
    assert set(RICHER) == {*RICHER_TYPES, "email"}
