from __future__ import annotations

import json
from collections import OrderedDict, namedtuple
from datetime import UTC, datetime, timedelta, timezone
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.session.jsontext import MISSING, json_equal, json_text, parse_json, quoted, show, to_plain
from session.blobs import A_DAY, A_MOMENT, Colour, Rank, host_values, json_values


class Word(str):
    __slots__ = ()


Point = namedtuple("Point", "x y")  # noqa: PYI024 - the untyped kind is what hosts have

PLAIN = [
    ("olá", "olá"),
    (Word("olá"), "olá"),
    (True, True),
    (None, None),
    (2**80, 2**80),
    (1.0, 1),
    (-0.0, 0),
    (2.0**53, 2**53),
    (2.0**53 + 2, 2.0**53 + 2),
    (0.5, 0.5),
    (float("nan"), None),
    (float("-inf"), None),
    ((1, (2,)), [1, [2]]),
    (Point(1, 2), [1, 2]),
    (OrderedDict(a=1), {"a": 1}),
    (MappingProxyType({"a": (1.0,)}), {"a": [1]}),
    ({Word("a"): 1}, {"a": 1}),
    (A_MOMENT, "2026-09-20T10:00:00.123Z"),
    (datetime(2026, 9, 20, 10, 0, 0, 999), "2026-09-20T10:00:00.000Z"),
    (datetime(2026, 9, 20, 10, tzinfo=timezone(timedelta(hours=-3))), "2026-09-20T13:00:00.000Z"),
    (A_DAY, "2026-09-20"),
    (Colour.RED, "red"),
    (Rank.FIRST, 1),
    ("a\ud800b", "a\ufffdb"),
    ("\ud83d\ude00", "😀"),
    ({"\udc00": "\udc00"}, {"\ufffd": "\ufffd"}),
]


@pytest.mark.parametrize(("value", "plain"), PLAIN)
def test_values_become_plain_data(value: Any, plain: Any) -> None:
    """Each kind of value is written as P-16 and P-17 say, with the exact types of JSON."""
    made = to_plain(value)
    assert made == plain
    assert type(made) is type(plain)


REFUSED = [
    ({"budget": {1, 2}}, "data.budget", "set"),
    ({"a": [0, {"when": timedelta(1)}]}, "data.a[1].when", "timedelta"),
    ({"sizes": {1: 2}}, "data.sizes", "int"),
    (b"x", "data", "bytes"),
    ({"at": datetime.min.replace(tzinfo=timezone(timedelta(hours=3)))}, "data.at", "datetime"),
]


@pytest.mark.parametrize(("value", "path", "kind"), REFUSED)
def test_what_has_no_json_form_is_refused_with_its_path(value: Any, path: str, kind: str) -> None:
    """`TypeError` names the place and the type (P-16)."""
    with pytest.raises(TypeError) as caught:
        to_plain(value, "data")
    assert path in str(caught.value)
    assert kind in str(caught.value)


def test_a_value_that_holds_itself_is_refused() -> None:
    """A circle has no JSON form; the error says so instead of exhausting the stack."""
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="holds itself"):
        to_plain(circle, "data")


@pytest.mark.property
@given(host_values)
def test_to_plain_gives_plain_data_or_a_type_error(value: Any) -> None:
    """No value makes `to_plain` raise anything but `TypeError`; what it gives is strict JSON and stays the same."""
    try:
        plain = to_plain(value)
    except TypeError:
        return
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
    text.encode()
    assert json.loads(text) == plain
    assert to_plain(plain) == plain


@pytest.mark.property
@given(json_values)
def test_plain_copies_share_nothing(value: Any) -> None:
    """A change inside the copy never shows in the original."""
    before = json_text(value)
    _spoil(to_plain(value))
    assert json_text(value) == before


def _spoil(value: Any) -> None:
    for item in list(value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()):
        _spoil(item)
    if isinstance(value, dict | list):
        value.clear()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None]}, '{"b":1,"a":[true,null]}'),
        ("Inês \u2028 😀", '"Inês \u2028 😀"'),
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        (1e16, "1e+16"),
        (10**20, "100000000000000000000"),
        ('a"\n\x01', '"a\\"\\n\\u0001"'),
    ],
)
def test_the_json_text_of_a_value(value: Any, text: str) -> None:
    """Compact, characters as they are, numbers by F-1.7 and F-1.8."""
    assert json_text(value) == text


def test_whole_numbers_keep_all_their_digits() -> None:
    """One of up to 10,000 digits is written and read exactly (F-1.8, G-43)."""
    for giant in (7**6000, 10**10_000 - 1):
        assert parse_json(json_text({"n": [giant, -giant]})) == {"n": [giant, -giant]}


def test_a_whole_number_without_end_is_refused() -> None:
    """Reading it would take as long as somebody likes: a million digits half a minute."""
    with pytest.raises(ValueError, match=r"^a whole number has 1,000,000 digits, at most 10,000 are read$"):
        parse_json('{"n": [-' + "9" * 1_000_000 + "]}")
    for giant in (10**10_000, -(10**10_000)):
        with pytest.raises(TypeError, match=r"^n\[0\] is a whole number of more than 10,000 digits$"):
            to_plain({"n": [giant]})
        assert show(giant) == "a whole number of more than 10,000 digits"


@pytest.mark.property
@given(json_values)
def test_json_text_reads_back(value: Any) -> None:
    """Text and back gives an equal value."""
    assert json_equal(parse_json(json_text(value)), value)


@pytest.mark.parametrize("text", ["", "{", "NaN", '{"a": Infinity}', "\ufeff1", b"\xff", "[" * 100_000, "1 2"])
def test_what_is_no_json_text(text: str | bytes) -> None:
    """Everything that is not strict JSON in UTF-8 raises `ValueError`."""
    with pytest.raises(ValueError, match=r".+"):
        parse_json(text)


@pytest.mark.parametrize(
    ("a", "b", "equal"),
    [
        (1, 1.0, True),
        (True, 1, False),
        (False, 0, False),
        (True, True, True),
        (2**53 + 1, 2.0**53, False),
        (None, None, True),
        (None, 0, False),
        ("1", 1, False),
        ((1, 2), [1, 2], True),
        ([1, 2], [2, 1], False),
        ([1], [1, 1], False),
        ([], {}, False),
        ({"a": 1, "b": None}, {"b": None, "a": 1.0}, True),
        ({"a": None}, {}, False),
        ({"a": None}, {"b": None}, False),
        ({"a": [True]}, {"a": [1]}, False),
    ],
)
def test_equality(a: Any, b: Any, *, equal: bool) -> None:
    """Equal means the same kind and equal: F-9.8 with F-1.6 and F-1.7; null equals null."""
    assert json_equal(a, b) is equal
    assert json_equal(b, a) is equal


@pytest.mark.property
@given(json_values, json_values)
def test_equality_is_that_of_normal_forms(a: Any, b: Any) -> None:
    """Two values are equal exactly when their JSON texts with sorted keys are the same."""
    assert json_equal(a, b) == (_normal(a) == _normal(b))
    assert json_equal(a, to_plain(a))


def _normal(value: Any) -> str:
    return json.dumps(to_plain(value), sort_keys=True)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (MISSING, "missing"),
        (None, "null"),
        (True, "true"),
        (7.0, "7"),
        (1.5, "1.5"),
        ([], "a list"),
        ((1,), "a list"),
        ({"a": 1}, "an object"),
        (len, "a function"),
        (lambda: 1, "a function"),
        ("", '""'),
        ('a "b"\n', r'"a \"b\"\n"'),
        ("x" * 40, '"' + "x" * 40 + '"'),
        ("x" * 41, '"' + "x" * 37 + '..."'),
        ("x" * 36 + '"' * 5, '"' + "x" * 36 + '..."'),
        ("x" * 35 + '"' * 5, '"' + "x" * 35 + '\\"..."'),
        ("x" * 33 + "\x01" * 2, '"' + "x" * 33 + '..."'),
        ("x" * 31 + "\x01" * 2, '"' + "x" * 31 + '\\u0001..."'),
        ("é" * 50, '"' + "é" * 37 + '..."'),
    ],
)
def test_how_a_wrong_value_is_shown(value: Any, shown: str) -> None:
    """S-21: long text is cut to 37 characters of its literal, and no escape is parted."""
    assert show(value) == shown


@pytest.mark.parametrize("value", [A_MOMENT.replace(tzinfo=UTC), b"x", object(), float("nan"), Rank.FIRST, Colour.RED])
def test_anything_can_be_shown(value: Any) -> None:
    """An error message never fails for want of words."""
    assert show(value)


def test_names_are_never_cut() -> None:
    """A name is a whole JSON string literal (S-21)."""
    assert quoted("x" * 60) == '"' + "x" * 60 + '"'
    assert quoted('a"b\\') == r'"a\"b\\"'


@pytest.mark.property
@given(st.text(max_size=60))
def test_shown_text_is_short_and_valid(text: str) -> None:
    """The content of a shown text has at most 40 characters, and its literal is JSON."""
    shown = show(text)
    assert len(shown) - 2 <= 40
    assert isinstance(json.loads(shown), str)
