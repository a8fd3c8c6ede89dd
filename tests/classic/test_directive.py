"""`Directive` as plain data: its forms, its spellings, and its wire form (D-49, D-53, D-58, D-59)."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given

from classic.directives import ANY, WELL_FORMED
from falai import classic
from falai.classic import Directive, flow
from falai.session.jsontext import json_text


def test_the_namespace_has_three_names() -> None:
    """D-58: is_directive, merge and validate, and no others; there are no builders."""
    assert {name for name in vars(flow) if not name.startswith("_")} == {"is_directive", "merge", "validate"}


def test_the_room_loads_what_is_asked_for() -> None:
    """Every public name is there, a wrong one is told, and the core is imported without this room."""
    assert [name for name in classic.__all__ if not hasattr(classic, name)] == []
    with pytest.raises(AttributeError, match="has no attribute 'create_agents'"):
        _ = classic.create_agents  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]  # wrong on purpose
    code = "import sys, falai; falai.Agent; print(any(name.startswith('falai.classic') for name in sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert said.strip() == "False"


@pytest.mark.parametrize("x", [{}, {"goTo": "a"}, {"odd": 1}, Directive(), Directive(halt=True)])
def test_objects_and_mappings_are_directives(x: object) -> None:
    """D-59: the empty one included; what is in a mapping does not matter."""
    assert flow.is_directive(x)


@pytest.mark.parametrize("x", [None, "goTo", 0, 1.5, True, [], (), set[int](), print, Directive, object()])
def test_nothing_else_is_one(x: object) -> None:
    """D-59: no text, number, boolean, list, tuple, set or callable, and no class."""
    assert not flow.is_directive(x)


def test_the_wire_form_has_what_is_set() -> None:
    """D-49: wire names, in the order of the members; unset forms are left out."""
    unset = Directive(complete=False, reset=False, halt=False, reply="", abort=None)
    assert unset.to_wire() == {}
    full = Directive(
        go_to={"flow": "b", "data": {"n": None}},
        reply=" ",
        data_update={"full_name": "Ana"},
        append_prompt=("x",),
        halt=True,
        reason="asked",
    )
    assert list(full.to_wire().items()) == [
        ("goTo", {"flow": "b", "data": {"n": None}}),
        ("reply", " "),
        ("dataUpdate", {"full_name": "Ana"}),
        ("appendPrompt", ["x"]),
        ("halt", True),
        ("reason", "asked"),
    ]


def test_names_inside_are_wire_names_too() -> None:
    """The object forms take snake_case, `complete.next` an object of any depth; keys of data are no names."""
    last = Directive(abort={"reason": "over", "clear_session": True}, data_update={"go_to": 1})
    given = Directive(complete={"next": {"complete": {"next": last}, "data_update": {"a_b": 2}}})
    assert given.to_wire() == {
        "complete": {
            "next": {
                "complete": {
                    "next": {"abort": {"reason": "over", "clearSession": True}, "dataUpdate": {"go_to": 1}},
                },
                "dataUpdate": {"a_b": 2},
            }
        }
    }
    wrong = {"complete": {"next": ["goTo"]}}
    assert flow.merge({}, wrong).to_wire() == wrong
    assert Directive(reset={"clear_data": True}).to_wire() == {"reset": {"clearData": True}}


@pytest.mark.property
@given(WELL_FORMED)
def test_the_wire_form_is_json_and_a_directive_of_its_own(directive: Any) -> None:
    """What is emitted can be stored and read again, and it is the same directive."""
    wire = flow.merge({}, directive).to_wire()
    json_text(wire)
    flow.validate(wire)
    assert flow.merge({}, wire).to_wire() == wire


@pytest.mark.property
@given(ANY)
def test_the_wire_form_shares_nothing_with_the_object_at_the_top(directive: Any) -> None:
    """A change of the wire form's members is none of the directive's."""
    made = flow.merge({}, directive)
    before, wire = str(made), made.to_wire()
    for value in wire.values():
        if hasattr(value, "clear"):
            value.clear()
    assert str(made) == before
