"""One flow in every form in which an author can write it: objects, mappings, lists, tuples, nulls anywhere (S-6 to S-17)."""

from __future__ import annotations

import copy
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import FlowConfigurationError
from falai.flow.definition import Branch, Flow, Instruction, Step, To, ToFlow
from falai.flow.spec import from_spec, to_spec, validate_flow
from strategies_flow import REGISTRIES, flow_specs, json_values

CONTAINERS = (dict, MappingProxyType)


def told(form: Any, names: Any = REGISTRIES) -> Any:
    """What the checks say of a form: the problems, or the warnings."""
    try:
        return validate_flow(form, names)
    except FlowConfigurationError as error:
        return [(p.code, p.where, p.path, p.what) for p in error.problems]


@st.composite
def disguised(draw: st.DrawFn, value: Any, drop: bool = True) -> Any:
    """The same data: tuples for lists, read-only mappings, and nulls as members that are not set."""
    if isinstance(value, list):
        parts = [draw(disguised(part)) for part in value]
        return tuple(parts) if draw(st.booleans()) else parts
    if not isinstance(value, dict):
        return value
    parts = {key: draw(disguised(part)) for key, part in value.items()}
    if drop and draw(st.booleans()):
        unset = draw(st.sampled_from(["label", "else", "unheard of", "equals"]))
        parts.setdefault(unset, None)
    return draw(st.sampled_from(CONTAINERS))(parts)


@st.composite
def mixed(draw: st.DrawFn, flow: Flow) -> Any:
    """A flow some of whose parts are objects and some mappings in wire form."""
    spec = to_spec(flow)
    if draw(st.booleans()):
        return spec
    steps = [draw(st.sampled_from(pair)) for pair in zip(flow.steps, spec["steps"], strict=True)]
    triggers = [draw(st.sampled_from(pair)) for pair in zip(flow.on or (), spec.get("on", ()), strict=True)]
    parts: dict[str, Any] = {"steps": tuple(steps)} | ({"on": triggers} if flow.on is not None else {})
    return {**spec, **parts}


@pytest.mark.property
@given(st.data(), flow_specs)
def test_every_form_is_the_same_flow(data: st.DataObject, spec: dict[str, Any]) -> None:
    """S-6, S-15, S-17, F-1.2, F-1.4: converted, written back and checked alike."""
    flow = from_spec(spec)
    for form in (data.draw(disguised(spec)), flow, data.draw(mixed(flow))):
        assert to_spec(form) == spec
        assert told(form) == told(spec)
    assert from_spec(data.draw(disguised(spec))) == flow


@pytest.mark.property
@given(flow_specs)
def test_an_unnamed_flow_is_named_by_its_id(spec: dict[str, Any]) -> None:
    """S-3."""
    unnamed = {key: value for key, value in spec.items() if key != "name"}
    assert to_spec(from_spec(unnamed)) == {**unnamed, "name": spec["id"]}


@pytest.mark.property
@given(flow_specs, st.sets(st.text(min_size=3, max_size=5), max_size=2))
def test_what_has_no_meaning_is_dropped_and_told(spec: dict[str, Any], keys: set[str]) -> None:
    """S-16, S-43: on the flow and on a step; beside what else is said, and never as an error."""
    extra = {f"x-{key}": [1] for key in keys}
    odd = {**spec, **extra, "steps": [{**step, **extra} for step in spec["steps"]]}
    assert to_spec(from_spec(odd)) == to_spec(odd) == spec
    if isinstance(told(spec), dict):
        more = len(told(odd)["warnings"]) - len(told(spec)["warnings"])
        assert more == len(extra) * (1 + len(spec["steps"]))
    else:
        assert told(odd) == told(spec)


def _shaken(value: Any) -> None:
    """Everything mutable below a value is changed."""
    if isinstance(value, Flow | Step | Branch | Instruction | To | ToFlow):
        for part in vars(value).values():
            _shaken(part)
    elif isinstance(value, dict):
        for part in value.values():
            _shaken(part)
        value["shaken"] = True
    elif isinstance(value, list):
        for part in value:
            _shaken(part)
        value.append("shaken")


@pytest.mark.property
@given(flow_specs)
def test_nothing_mutable_is_shared(spec: dict[str, Any]) -> None:
    """S-9: whatever happens to the spec, the flow stays; whatever happens to the flow, what was written stays."""
    before, spec = spec, copy.deepcopy(spec)
    flow = from_spec(spec)
    written = to_spec(flow)
    told(spec)
    assert spec == before
    _shaken(spec)
    assert to_spec(flow) == written == before
    _shaken(flow)
    assert written == before


@pytest.mark.property
@given(flow_specs, json_values)
def test_a_null_in_a_list_stays(spec: dict[str, Any], value: Any) -> None:
    """S-6: only members of objects are dropped."""
    listed = [None, {"a": None, "b": [None]}, value if not isinstance(value, dict) else None]
    step = {"id": "do", "kind": "do", "do": "stop", "with": {"x": listed, "y": None}}
    (found,) = [s for s in to_spec({**spec, "steps": [step]})["steps"] if s["id"] == "do"]
    assert found["with"]["x"][:2] == [None, {"b": [None]}]
    assert list(found["with"]) == ["x"]


# --- what is no JSON ---------------------------------------------------------------------------------


class Hostile:
    """Nothing can be asked of it."""

    def __eq__(self, _: object) -> bool:
        raise RuntimeError("never compared")

    def __repr__(self) -> str:
        raise RuntimeError("never shown")

    __str__ = __repr__
    __hash__ = object.__hash__


def nested(levels: int, inner: Any = None) -> Any:
    for _ in range(levels):
        inner = [inner]
    return inner


HOSTILE: list[Any] = [
    Hostile(), b"x", {1}, float("nan"), float("-inf"), 10**5000, "\ud800", "x" * 100_000, range(3), 1j, Exception, len,
    {1: 2}, {Hostile(): 1}, {None: 1}, {(1, 2): 3}, {True: 1}, *map(nested, (50, 300, 450, 10_000)),
]  # fmt: skip
PLACES: list[tuple[str, ...]] = [
    ("id",), ("name",), ("while",), ("collect",), ("tools",), ("onEnd",), ("instructions",), ("on",), ("steps",), ("x",),
    ("on", "message"), ("on", "repeat"), ("on", "if"), ("on", "event"), ("on", "extract"), ("on", "silence"),
    ("steps", "id"), ("steps", "kind"), ("steps", "say"), ("steps", "then"), ("steps", "do"), ("steps", "with"), ("steps", "ui"),
    ("steps", "wait"), ("steps", "maxAsks"), ("steps", "ask"), ("steps", "branches"), ("steps", "collect"), ("steps", "if"),
]  # fmt: skip


def raised(call: Any, form: Any) -> Exception | None:
    """The error that was meant for an author; any other goes through."""
    try:
        call(form)
    except (FlowConfigurationError, TypeError) as error:
        return error
    return None


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_what_is_no_json_is_said_in_words(place: tuple[str, ...]) -> None:
    """Anything anywhere: accepted, FlowConfigurationError, or for to_spec a TypeError that names the place."""
    for value in HOSTILE:
        spec: dict[str, Any] = {"id": "f", "name": "F", "steps": [{"id": "a"}]}
        if len(place) == 1:
            spec[place[0]] = value
        else:
            spec[place[0]] = [{"id": "a", place[1]: value}]
        for call in (lambda form: validate_flow(form, REGISTRIES), from_spec):
            assert type(raised(call, spec)) in (FlowConfigurationError, type(None))
        error = raised(to_spec, spec)
        assert error is None or str(error).startswith(("[FlowConfigurationError] ", "flow "))


@pytest.mark.parametrize("value", HOSTILE, ids=lambda value: type(value).__name__)
def test_a_flow_that_is_none(value: Any) -> None:
    """In the place of the whole."""
    for call in (from_spec, to_spec, lambda form: validate_flow(form, REGISTRIES)):
        with pytest.raises(FlowConfigurationError):
            call(value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (float("nan"), 'flow "f".steps[0].ui.a is nan, which JSON cannot hold'),
        ({1}, 'flow "f".steps[0].ui.a is of the type set, which has no JSON form'),
    ],
)
def test_a_value_that_no_spec_can_hold(value: Any, words: str) -> None:
    """S-12: what to_spec gives is plain JSON."""
    with pytest.raises(TypeError) as error:
        to_spec({"id": "f", "steps": [{"id": "a", "say": "x", "ui": {"a": value}}]})
    assert str(error.value) == words


@pytest.mark.parametrize(
    ("registries", "problem"),
    [
        ({"tools": "abc"}, 'tools is "abc"'),
        ({"tools": [{}]}, "tools[0] is an object"),
        ({"conditions": 5}, "conditions is 5"),
        ({"flows": 5}, "flows is 5"),
        ({"events": []}, ""),
        ({"events": 5}, "events is 5"),
        ({"actions": 5}, "actions is 5"),
        ({"actions": {"go": 5}}, "the definition is 5"),
        ({"fields": 5}, "fields is 5"),
    ],
)
def test_registries_of_a_wrong_shape(registries: Any, problem: str) -> None:
    """They are an author's mistake like any other, and come before those of the flow."""
    found = told({"id": "f", "steps": []}, registries)
    assert (found == {"warnings": []}) if not problem else (problem in found[0][3])


def test_a_registry_that_cannot_be_read_leaves_names_alone() -> None:
    """F-19.5: what is not known is not called unknown; the shape is looked at all the same."""
    spec = {"id": "f", "steps": [{"id": "a", "collect": ["x"]}, {"id": "b", "say": "x"}]}
    assert [p[2] for p in told(spec, {"fields": 5})] == ["fields"]
    assert [p[2] for p in told({**spec, "name": 5}, {"fields": 5})] == ["fields", "name"]


def test_registries_that_are_no_mapping() -> None:
    """A bad argument of the call."""
    with pytest.raises(TypeError, match="registries are a mapping"):
        validate_flow({"id": "f", "steps": []}, 5)  # type: ignore[arg-type]  # the case
