"""How an expectation is held against what was found."""

from __future__ import annotations

from typing import Any

import pytest

from falai.testing.scenario.match import mismatches


@pytest.mark.parametrize(
    ("expected", "found", "met"),
    [
        # objects on the keys that are written, lists whole
        ({}, {"a": 1}, True),
        ({"a": 1}, {"a": 1, "b": 2}, True),
        ({"a": 1}, {"b": 2}, False),
        ({}, [], False),
        ([1, 2], [1, 2], True),
        ([1], [1, 2], False),
        ([], {}, False),
        ([{"a": 1}], [{"a": 1, "b": 2}], True),
        # scalars as JSON
        (7, 7.0, True),
        (1, True, False),
        (True, 1, False),
        ("1", 1, False),
        (None, None, True),
        ({"a": None}, {"a": None}, True),
        ({"a": None}, {}, False),
        # matchers
        ({"a": {"$absent": True}}, {}, True),
        ({"a": {"$absent": True}}, {"a": None}, True),
        ({"a": {"$absent": True}}, {"a": 0}, False),
        ({"a": {"$any": True}}, {"a": 0}, True),
        ({"a": {"$any": True}}, {}, False),
        ({"$empty": True}, {}, True),
        ({"$empty": True}, [], True),
        ({"$empty": True}, "", False),
        ({"$empty": True}, [0], False),
        ({"$length": 2}, [1, 2], True),
        ({"$length": 2}, [1], False),
        ({"$length": 2}, "ab", False),
        ({"$match": "^a.c$"}, "abc", True),
        ({"$match": "b"}, "abc", True),
        ({"$match": "^b"}, "abc", False),
        ({"$match": "7"}, 7, False),
        ({"$oneOf": [1, {"a": 1}]}, {"a": 1, "b": 2}, True),
        ({"$oneOf": [1, 2]}, 3, False),
        ({"$contains": [{"a": 1}]}, [{"b": 2}, {"a": 1, "c": 3}], True),
        ({"$contains": [1, 4]}, [1, 2, 3], False),
        ({"$contains": []}, {}, False),
    ],
)
def test_matching(expected: Any, found: Any, met: bool) -> None:
    """Each form is met by what it says, and by nothing else."""
    assert (list(mismatches(expected, found)) == []) is met


def test_every_difference_is_listed_with_its_place() -> None:
    """All places that differ are told, with what was expected and what is there."""
    expected = {"a": {"b": 1}, "c": [1, {"d": "x"}], "e": {"$absent": True}, "f": 2}
    found = {"a": {"b": 2}, "c": [1, {"d": "y"}], "e": 0, "f": 2}
    assert [tuple(one) for one in mismatches(expected, found, "session")] == [
        ("session.a.b", "1", "2"),
        ("session.c[1].d", '"x"', '"y"'),
        ("session.e", "nothing", "0"),
    ]
