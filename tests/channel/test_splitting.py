"""Long texts in pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.channel import Button, Outgoing
from falai.channel.splitting import length, numbered, split_text

TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n\t😀👨\u200d👩é\u0301\u00a0"), max_size=80) | st.text(max_size=40)


@pytest.mark.property
@given(TEXTS, st.integers(2, 20))
def test_no_piece_is_too_long_and_nothing_but_white_space_is_lost(text: str, limit: int) -> None:
    """Every piece fits, none is blank unless all was, and together they are the text without white space."""
    pieces = split_text(text, limit)
    assert all(length(piece) <= limit for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert len(pieces) == 1 or all(piece.strip() for piece in pieces)


def test_a_text_that_fits_stays_as_it_is() -> None:
    """White space at its ends included."""
    assert split_text("  hello\n", 8) == ("  hello\n",)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("one two\n\nthree four", ["one two", "three four"]),
        ("one two\nthree four", ["one two", "three four"]),
        ("One, two. Three four", ["One, two.", "Three four"]),
        ("one two three", ["one two", "three"]),
        ("abcdefghijklmnop", ["abcdefghijkl", "mnop"]),
    ],
)
def test_a_text_is_cut_where_a_person_would_pause(text: str, pieces: list[str]) -> None:
    """A paragraph, then a line, then a sentence, then a word; a word without a pause is cut where it must be."""
    assert split_text(text, 12) == pieces


def test_a_sign_of_several_code_points_stays_whole() -> None:
    """A family or a letter with its accent is not cut in two."""
    family = "👨\u200d👩\u200d👧"
    assert split_text(f"abcd{family}", 9) == ["abcd", family]
    assert split_text("abce\u0301", 4) == ["abc", "e\u0301"]


def test_each_piece_has_a_key_of_its_own_and_the_last_has_the_buttons() -> None:
    """As `Channel.split` promises; a file whose slug nobody knows yet is still sent once only."""
    pieces = numbered(Outgoing("s", "a", "", "k", media="menu", buttons=(Button("b", "B"),)), ["x", "y", "z"])
    assert [(piece.text, piece.idempotency_key) for piece in pieces] == [("x", "k"), ("y", "k/2"), ("z", "k/3")]
    assert [piece.media for piece in pieces] == ["menu", None, None]
    assert [len(piece.buttons) for piece in pieces] == [0, 0, 1]
