"""Arguments of tool calls, whole and cut off (M-18.6)."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.model.arguments import tool_arguments


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        (None, {}),
        ("", {}),
        (" \n", {}),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ("[1]", {}),
        ('"text"', {}),
        ("null", {}),
    ],
)
def test_whole_arguments(raw: Any, read: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """An object is what it is; what is none counts as none, without a word."""
    assert tool_arguments(raw, "slots") == read
    assert caplog.records == []


@pytest.mark.parametrize(
    ("raw", "read"),
    [
        ('{"a": 1}{"b": 2}', {"b": 2}),
        ('{"a": 1} and', {"a": 1}),
        ('{"day": "mon", "time": "16', {"day": "mon", "time": "16"}),
        ('{"day": "mon", "time": "16\\', {"day": "mon", "time": "16"}),
        ('{"day": "mon", "note": "caf\\u00e', {"day": "mon", "note": "caf"}),
        ('{"day": "mon", "note": "caf\\u00e9', {"day": "mon", "note": "café"}),
        ('{"day": "mon", "note": "say \\"hi\\"', {"day": "mon", "note": 'say "hi"'}),
        ('{"day": "mon", "ti', {"day": "mon"}),
        ('{"day": "mon", "time":', {"day": "mon"}),
        ('{"n": 12, "day": "mo', {"day": "mo"}),
        ('{"day": "caf\\\\u00e9", "time": "', {"day": "café", "time": ""}),
        ('{"lone": "\\ud83d", "x": "', {"lone": "\ufffd", "x": ""}),
        ('{"deep": {"a": 1}, "day": "mo', {"day": "mo"}),
        ('{"path": "C:\\x", "day": "', {"path": "C:\\x", "day": ""}),
        ("{", {}),
        ("no json", {}),
    ],
)
def test_cut_arguments(raw: str, read: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    """As much as can be read is kept, and a warning names the tool."""
    with caplog.at_level(logging.WARNING):
        assert tool_arguments(raw, "slots") == read
    assert ["slots" in record.getMessage() for record in caplog.records] == [True]


LETTERS = st.characters(codec="utf-8", exclude_characters="\\")
TEXTS = st.dictionaries(st.text(LETTERS, min_size=1, max_size=5), st.text(LETTERS, max_size=20), max_size=4)


@pytest.mark.property
@given(TEXTS, st.data())
def test_no_cut_invents_anything(texts: dict[str, str], data: st.DataObject) -> None:
    """Wherever arguments of texts are cut, each value that is read is the beginning of the true one."""
    whole = json.dumps(texts, ensure_ascii=data.draw(st.booleans()))
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    for key, value in tool_arguments(cut, "slots").items():
        assert texts[key].startswith(value.removesuffix("\ufffd"))


@pytest.mark.property
@given(st.text())
def test_no_text_is_too_odd(text: str) -> None:
    """Whatever a model writes, the arguments are an object of plain data."""
    json.dumps(tool_arguments(text, "slots"))
