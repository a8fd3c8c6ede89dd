"""Specs as a model writes them under the closed schema: all that can be wrong with one is what a schema cannot say (S-59)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import FlowConfigurationError
from falai.flow.spec import from_spec, to_spec, validate_flow
from falai.flow.specschema import flow_spec_schema
from strategies_flow import REGISTRIES, from_schema

BEYOND_A_SCHEMA = {
    "no-flow-id", "no-step-id", "reserved-step-id", "duplicate-step-id", "triggers-without-steps", "unknown-step",
    "backward-if-without-else", "bad-duration", "only-exclusions", "question-without-collect", "not-text", "bad-max-asks",
}  # fmt: skip
"""Ids, targets, durations, phrases, what one property asks of another, a name that is empty, a number below 1."""

REGISTERED: list[dict[str, Any]] = [
    REGISTRIES,
    {},
    {"fields": {"a": {"type": "string"}}, "actions": {"go": {}}},
    {"actions": {"go": {"parameters": {"n": {"type": "integer", "enum": [1, 2], "optional": True}}}}, "events": {"e": {}}},
    {"fields": {"__class__": {"type": "number"}, "is_a b.c[0]": {"type": "string", "enum": ["x", "é"]}}, "conditions": {"equal": {}}},
]  # fmt: skip


def codes(call: Any, *arguments: Any) -> set[str]:
    """The codes of what is wrong; nothing else comes out."""
    try:
        call(*arguments)
    except FlowConfigurationError as error:
        return {problem.code for problem in error.problems}
    return set()


@pytest.mark.property
@given(st.data(), st.sampled_from(REGISTERED))
def test_what_the_schema_allows_is_wrong_only_where_no_schema_can_say_it(
    data: st.DataObject, names: dict[str, Any]
) -> None:
    """S-49, S-59: every code is one of those; a spec that passes is the same flow with its nulls dropped (S-62)."""
    spec = data.draw(from_schema(flow_spec_schema(names)))
    found = codes(validate_flow, spec, names)
    assert found <= BEYOND_A_SCHEMA
    if not found:
        assert validate_flow(to_spec(from_spec(spec)), names) == validate_flow(spec, names)


@pytest.mark.property
@given(st.data(), st.sampled_from(REGISTERED))
def test_its_shape_is_always_right(data: st.DataObject, names: dict[str, Any]) -> None:
    """S-7: but for an empty name and a count of asks below one, from_spec takes whatever the schema allows."""
    spec = data.draw(from_schema(flow_spec_schema(names)))
    found = codes(from_spec, spec)
    assert found <= {"not-text", "bad-max-asks"}
    if not found:
        stored = to_spec(from_spec(spec))
        assert from_spec(stored) == from_spec(spec)
        assert to_spec(from_spec(stored)) == stored
