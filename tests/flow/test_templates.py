"""Templates (F-10); the gap-closing examples themselves are rows of the conformance table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.flow.templates import has_placeholder, placeholders, render, render_deep, roots
from strategies_flow import json_values


@dataclass
class Person:
    first: str
    _secret: str = "x"

    def greet(self) -> str:
        return "hi"


class Odd:
    """Has no JSON form."""

    tags = ("a", "b")


@dataclass
class Host:
    who: Person
    odd: Odd
    at: datetime
    day: date
    price: Decimal = Decimal("9.90")
    none: None = None


HOST = Host(
    Person("Inês"),
    Odd(),
    datetime(2026, 9, 20, 10, 0, 0, 1999, tzinfo=timezone(timedelta(hours=-3))),
    date(2026, 9, 20),
)


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("{{context.who.first}}", "Inês"),
        ("{{context.odd.tags}} {{context.odd.tags.1}}", "a, b b"),
        ("{{context.at}}", "2026-09-20T13:00:00.001Z"),
        ("{{context.day}}", "2026-09-20"),
        ("{{context.none}}", "{{context.none}}"),
        ("{{context.none.x}} a", " a"),
        ("{{context.price}} {{context.price.real}}", "9.90 {{context.price.real}}"),
        ("{{context.who._secret}}", "{{context.who._secret}}"),
        ("{{context.who.greet}}", "{{context.who.greet}}"),
        ("{{context.who.__class__}}", "{{context.who.__class__}}"),
        ("{{context.who.none}}", "{{context.who.none}}"),
        ("{{context.odd}}", "{{context.odd}}"),
        ("{{context.at.year}}", "{{context.at.year}}"),
        ("{{context.who.first.real}}", "{{context.who.first.real}}"),
        ("{{context}}", "{{context}}"),
    ],
)
def test_a_host_object_gives_its_public_attributes(template: str, text: str) -> None:
    """F-10.3: no name that begins with an underscore, nothing callable; scalars have no parts."""
    assert render(template, roots(context=HOST)) == text


def test_a_naive_datetime_is_utc_and_an_aware_one_is_turned_to_it() -> None:
    """F-10.4: ISO 8601 in UTC with milliseconds."""
    assert (
        render("{{data.at}}", roots(data={"at": datetime(2026, 1, 2, 3, 4, 5, 678999)})) == "2026-01-02T03:04:05.678Z"
    )
    assert render("{{data.at}}", roots(data={"at": datetime(2026, 1, 2, tzinfo=UTC)})) == "2026-01-02T00:00:00.000Z"


def test_a_missing_root_is_unknown_and_an_empty_one_is_there() -> None:
    """F-10.5: `None` is no root; so nothing of it is blank."""
    scope = roots(data={}, context=None, input=None)
    assert render("{{context.a.b}} {{input}} {{data.a}}", scope) == "{{context.a.b}} {{input}} {{data.a}}"
    assert render("{{input}}", roots(input=0)) == "0"
    assert render("[{{input}}]", roots(input="")) == "[]"


def test_lists_are_reached_by_plain_indexes_only() -> None:
    """F-10.3: no sign, no leading zero, no other digits, nothing beyond the end."""
    scope = roots(data={"l": ["a", "b"], "d": {"01": "x"}})
    assert render("{{data.l.0}}{{data.l.1}}", scope) == "ab"
    for path in ("data.l.01", "data.l.-1", "data.l.2", "data.l.٠", "data.l.", "data.l." + "9" * 5000):
        assert render(f"{{{{{path}}}}}", scope) == f"{{{{{path}}}}}"
    assert render("{{data.d.01}}", scope) == "x"


def test_tidying_touches_indentation_and_lines_as_written() -> None:
    """F-10.6: spaces at a line's start stay, those at its end and before punctuation go, as does punctuation in front."""
    scope = roots(data={"no": ""})
    assert render("a{{data.no}}\n    b  c \n  , d", scope) == "a\n    b c\nd"
    assert render("a {{data.no}} \r\nb", scope) == "a\r\nb"
    assert render("  {{data.no}}!?", scope) == "!?"
    assert render("a  b {{data.x}} .", scope) == "a  b {{data.x}} ."


@pytest.mark.parametrize(
    "text", ["a" + " " * 50_000 + "b{{data.no}}", "{{data.no}}" + "\n" + " " * 50_000 + "b", "{{" * 20_000]
)
def test_rendering_takes_linear_time(text: str) -> None:
    """A long run of white space or braces is no trap: this test would take minutes otherwise."""
    render(text, roots(data={"no": ""}))


def test_deep_rendering_gives_fresh_data_and_leaves_keys() -> None:
    """F-10.9: every text inside lists and objects; a text that is one placeholder stays text."""
    given_ = {"{{data.n}}": ["{{data.n}}", 1, None, {"x": ("{{data.n}}",)}], "t": True}
    found = render_deep(given_, roots(data={"n": 3}))
    assert found == {"{{data.n}}": ["3", 1, None, {"x": ["3"]}], "t": True}
    assert given_["{{data.n}}"][0] == "{{data.n}}"
    found["{{data.n}}"][3]["x"].append("more")
    assert given_["{{data.n}}"][3] == {"x": ("{{data.n}}",)}


def test_paths_can_be_read_without_rendering() -> None:
    """What a text would look up, for the checks."""
    assert has_placeholder("a {{ data.x.0 }}")
    assert not has_placeholder("{{a b}} {{}}")
    assert placeholders("{{data.x.0}} {{ context }}") == (("data", "x", "0"), ("context",))


@pytest.mark.property
@given(
    st.text(alphabet="{} datxy.01,!?\n\t", max_size=60),
    st.dictionaries(st.sampled_from(["x", "y", "0", ""]), json_values),
)
def test_rendering_never_raises(template: str, data: dict[str, Any]) -> None:
    """Any text is a template, whatever the data."""
    assert isinstance(render(template, roots(data=data, input=data)), str)


@pytest.mark.property
@given(st.text(alphabet="ab{}.data ", max_size=20), st.text(alphabet="{}.data b", min_size=1, max_size=30))
def test_inserted_text_is_never_a_template(around: str, value: str) -> None:
    """F-10.8: one pass; a value that looks like a placeholder comes out as it is."""
    outer = re.sub(r"[{}]", "", around)
    assert render(f"{outer}{{{{data.v}}}}", roots(data={"v": value, "b": "LEAK", "a": "LEAK"})) == f"{outer}{value}"


@pytest.mark.property
@given(st.text(max_size=40).filter(lambda text: "{{" not in text))
def test_a_text_without_placeholders_is_itself(text: str) -> None:
    """Nothing is tidied unless something became blank."""
    assert render(text, roots(data={"x": ""})) == text
