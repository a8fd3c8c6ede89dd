"""Text of an author as data: JSON, and YAML by the 1.2 core schema."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.flow.documents import read_json, read_yaml

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=20), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"), ("yes", "yes"), ("no", "no"), ("18:00", "18:00"), ("2026-09-20", "2026-09-20"), ("017", 17),
        ("0o17", 15), ("0x1F", 31), ("-3", -3), ("+3", 3), ("1_000", "1_000"), ("1e3", 1000.0), (".5", 0.5), ("2.", 2.0),
        ("true", True), ("False", False), ("~", None), ("null", None), ("", None), ("'1'", "1"), ("!!str 12", "12"),
        ("nULL", "nULL"), ("<<", "<<"), ("=", "="), ("0b1", "0b1"), ('"a\\/b"', "a/b"),
    ],
)  # fmt: skip
def test_plain_scalars(text: str, value: Any) -> None:
    """Words stay words: only what the core schema names is a number, a boolean or null."""
    (found,) = read_yaml(f"- {text}\n")
    assert found == value
    assert type(found) is type(value)


def test_texts_of_conversations() -> None:
    """Question marks and colons need no quotes where no mark of YAML begins."""
    text = "{message: What is your name?, url: http://x.test/?a=b, hour: 18:00}"
    assert read_yaml(text) == {"message": "What is your name?", "url": "http://x.test/?a=b", "hour": "18:00"}


def test_aliases() -> None:
    """An anchor can be used again, and a few lines of aliases do not grow without bound."""
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    data = read_yaml(bomb)
    assert data["a1"] == [["x", "x"], ["x", "x"]]
    assert len(data) == 60


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3\n", ["line 3", '"a"', "twice"]),
        ("1: x\n", ["line 1", "no text"]),
        ("a: &a [*a]\n", ["inside"]),
        ("a: !!python/name:os.system x\n", ["core schema"]),
        ("a: !!set {x}\n", ["core schema"]),
        ("a: .inf\n", [".inf"]),
        ("a: -.INF\n", ["-.INF"]),
        ("a: .nan\n", [".nan"]),
        ("a: 1e999\n", ["1e999"]),
        ("a: [1\n", ["line 1"]),
        ("a: 1\n---\nb: 2\n", ["another document"]),
        ("a: *nobody\n", ["nobody"]),
        ("{say: Hello, you}\n", ["line 1, column 14", 'the key "you" has no value', "put that in quotes"]),
        ("- " * 3000 + "x", ["nested"]),
    ],
)
def test_yaml_that_could_be_misread_is_refused(text: str, words: list[str]) -> None:
    """What JSON cannot say, and what stands twice, is an error that says where."""
    with pytest.raises(ValueError) as raised:  # noqa: PT011  # the words are checked below
        read_yaml(text)
    assert [word for word in words if word not in str(raised.value)] == []


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('{"a": 1, "a": 2}', '"a" stands twice'),
        ('{"x": {"é": 1, "é": 2}}', '"é"'),
        ("[NaN]", "NaN"),
        ("[1e999]", "1e999"),
        ("[1,", "line 1"),
        ("[" * 100_000, "nested"),
    ],
)
def test_json_that_could_be_misread_is_refused(text: str, word: str) -> None:
    """A key that stands twice, and a number that JSON has not, are errors."""
    with pytest.raises(ValueError, match=word):
        read_json(text)


@pytest.mark.parametrize("text", ["{a: , b: 1}", "a:\nb: 1", "{a: ~, b: 1}", "{a: null, b: 1}"])
def test_nothing_behind_a_colon_is_null(text: str) -> None:
    """It was written that there is no value."""
    assert read_yaml(text) == {"a": None, "b": 1}


@pytest.mark.property
@given(PLAIN)
def test_both_readers_read_json(value: Any) -> None:
    """JSON text of any data is read back as that data, as YAML too."""
    text = json.dumps(value).replace("\x7f", "\\u007f")  # the one ASCII character that YAML wants escaped
    assert read_json(text) == value
    assert read_yaml(text) == value


@pytest.mark.property
@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """No text makes a reader raise anything but ValueError, and what is read is plain JSON data."""
    for reader in (read_json, read_yaml):
        with suppress(ValueError):
            json.dumps(reader(text), allow_nan=False)
