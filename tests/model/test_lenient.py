"""JSON as models write it (M-13)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.model.lenient import is_json_shaped, lenient_parse, parse_whole, salvage_json

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.property
@given(st.text(st.sampled_from('{}[]":,\\\n1aeltrufns') | st.characters(), max_size=80))
def test_salvage_is_total(text: str) -> None:
    """Any text has a first object or none; nothing raises, and what is found is an object (M-13.4)."""
    assert isinstance(salvage_json(text), dict | None)


@pytest.mark.property
@given(st.dictionaries(st.text(), JSON, max_size=3), st.text(st.characters(exclude_characters="{")), st.text())
def test_an_object_is_found_in_any_prose(found: dict[str, Any], before: str, after: str) -> None:
    """The first object of a text is found, whatever stands around it."""
    assert salvage_json(f"{before}{json.dumps(found)}{after}") == found


@pytest.mark.property
@given(JSON)
def test_strict_json_is_read_as_such(value: Any) -> None:
    """Lenience changes nothing about what is right already (M-13.1)."""
    assert lenient_parse(json.dumps(value)) == value
    assert parse_whole(f"\n```json\n{json.dumps(value)}\n``` ") == value


def test_raw_line_breaks_in_texts_are_read_as_escapes() -> None:
    """The one thing that is forgiven (M-13.1)."""
    assert lenient_parse('{"a": "x\ny\t"}') == {"a": "x\ny\t"}


@pytest.mark.parametrize(
    "text", ["", "   ", "```json\n```", "nope", "{'a': 1}", '{"a": NaN}', "[Infinity]", "{}}", None, 7]
)
def test_what_is_no_json_is_refused(text: Any) -> None:
    """Whole-text parsing gives a value or says why not (M-13.3)."""
    with pytest.raises(ValueError, match=r".+"):
        parse_whole(text)


def test_the_first_failure_is_reported() -> None:
    """When lenience does not help either, strict JSON's own word is given (M-13.1)."""
    with pytest.raises(ValueError, match="Invalid control character"):
        lenient_parse('{"a": "x\ny" oops')


def test_lone_surrogates_never_come_out() -> None:
    """In texts and in keys, at every depth (M-13.1)."""
    found = salvage_json('see {"\\ud800": ["\\udfff", {"k": "\\ud83d\\ude00"}], "raw": "\ud800"}')
    assert found == {"\ufffd": ["\ufffd", {"k": "😀"}], "raw": "\ufffd"}


def test_nesting_without_end_is_no_object() -> None:
    """A text that would exhaust the stack is read as broken."""
    deep = '{"a":' * 3000
    assert salvage_json(deep) is None
    with pytest.raises(ValueError, match="deep"):
        lenient_parse(deep + "1" + "}" * 3000)


@pytest.mark.parametrize(
    ("text", "shaped"), [(" {", True), ("```x", True), ("`x", False), ("x {", False), ("", False), ("[1]", False)]
)
def test_json_shape(text: str, shaped: bool) -> None:
    """Only what starts like an object or a fence was meant as JSON (M-13.2)."""
    assert is_json_shaped(text) is shaped
