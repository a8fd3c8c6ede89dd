"""Derived ids and flows by name: equal on every start, whatever the titles are (D-2, D-3)."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.classic.flows import ClassicFlow, flow_of
from falai.classic.ids import derived_id, instruction_id

TITLES = {
    "Book a visit": "book_a_visit",
    "  Marcação: é já! ": "marcação_é_já",
    "Ação — não_é   2ª": "ação_não_é_2ª",
    "🎉 Party 🎉🎉 time": "party_time",
    "予約する": "予約する",
    "Записаться на ١٢ марта": "записаться_на_١٢_марта",
    "x" * 300: "x" * 300,
    "END": "flow_7",
    "🎉": "flow_7",
    "": "flow_7",
    "___": "flow_7",
}


@pytest.mark.parametrize(("title", "id"), TITLES.items())
def test_an_id_comes_from_the_title(title: str, id: str) -> None:
    """DT-23: accents, emoji, other scripts and long titles; nothing left, or `end`, is kind and place."""
    assert derived_id("flow", title, 7) == id


def test_without_a_text_kind_and_place_serve() -> None:
    """D-2: places count from 0; an instruction goes by its place whatever it says."""
    assert [derived_id("step", None, 2), derived_id("signal", 5, 0), instruction_id(1)] == [
        "step_2",
        "signal_0",
        "instruction_1",
    ]


@pytest.mark.property
@given(st.text(), st.integers(0, 20))
def test_a_derived_id_is_right_and_derived_once(title: str, place: int) -> None:
    """No derived id is blank, reserved, or full of signs."""
    id = derived_id("step", title, place)
    assert id not in ("", "end")
    assert "__" not in id
    assert all(c == "_" or c.isalpha() or c.isdigit() for c in id)


def test_another_process_derives_the_same() -> None:
    """DT-23: equal on every start, whatever the seed of hashes is."""
    code = "from falai.classic.ids import derived_id as d; import sys; sys.stdout.buffer.write(d('flow', {!r}, 0).encode())"
    title = "Marcação 🎉 予約"
    said = subprocess.run([sys.executable, "-c", code.format(title)], capture_output=True, check=True).stdout.decode()
    assert said == derived_id("flow", title, 0)


def test_flows_by_id_then_by_title() -> None:
    """D-3: ids win over titles."""
    flows = [ClassicFlow("a", "b"), ClassicFlow("b", "c"), ClassicFlow("d", "t"), ClassicFlow("e", "t")]
    found = [flow_of(name, flows) for name in ("a", "b", "c", "t", "x")]
    assert found == [flows[0], flows[1], flows[1], flows[2], None]
