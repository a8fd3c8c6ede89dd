"""The stream decoder (M-12): whatever the pieces, the message only grows, up to the one message."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.model.decoder import StreamingMessageDecoder, message_so_far
from falai.model.lenient import mend

TEXT = st.text(st.characters(codec="utf-8"), max_size=30)
ENVELOPES = st.builds(
    lambda before, message, after: {**before, "message": message, **after},
    st.dictionaries(
        TEXT.filter(lambda key: key != "message"), st.none() | TEXT | st.integers() | st.lists(TEXT), max_size=3
    ),
    TEXT,
    st.dictionaries(TEXT.filter(lambda key: key != "message"), TEXT, max_size=2),
)


def _fed(pieces: list[str]) -> tuple[list[str], str]:
    decoder = StreamingMessageDecoder()
    given_out = [decoder.feed("".join(pieces[: n + 1])) for n in range(len(pieces))]
    return given_out, decoder.message


def _cut(text: str, places: list[int]) -> list[str]:
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in places)})
    return [text[a:b] for a, b in pairwise(edges)]


@pytest.mark.property
@given(ENVELOPES, st.booleans(), st.booleans(), st.lists(st.integers(0, 10_000), max_size=8))
def test_any_cutting_gives_the_same_message(
    envelope: dict[str, object], escaped: bool, fenced: bool, places: list[int]
) -> None:
    """For every envelope and every way to cut its text: the pieces add up to its message (M-12.8)."""
    text = json.dumps(envelope, ensure_ascii=escaped)
    whole = f"```json\n{text}\n```" if fenced else text
    pieces, message = _fed(_cut(whole, places))
    assert message == "".join(pieces) == envelope["message"]


@pytest.mark.property
@given(st.text(st.sampled_from('{}[]":,\\`unmesag0dc8 \n') | st.characters(), max_size=60) | ENVELOPES.map(json.dumps))
def test_a_growing_text_gives_growing_messages(text: str) -> None:
    """For any text at all, fed one character at a time, each message is a prefix of the next (M-12.8)."""
    messages = [message_so_far(text[:n]) for n in range(len(text) + 1)]
    assert all(later.startswith(earlier) for earlier, later in pairwise(messages)), messages


@pytest.mark.property
@given(TEXT)
def test_plain_text_is_its_own_message(text: str) -> None:
    """A provider that streams no envelope is streamed as it is."""
    if not text.lstrip(" \t\n\r").startswith(("{", "`")) and text.strip(" \t\n\r"):
        assert message_so_far(text) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"message":"\\ud83d', ""),
        ('{"message":"\\ud83d\\', ""),
        ('{"message":"\\ud83d\\u00zz', "\ufffd"),
        ('{"message":"\\ud83d\\u00"', "\ufffd"),
        ('{"message":"a\\u12', "a"),
        ('{"message":"a\\', "a"),
        ('{"a":{"b":"}"},"message":"x', "x"),
        ('{"a":tru', ""),
        ('{"a":true,"message":"x', "x"),
        ('{,, "message":"x', "x"),
        ('{"message"', ""),
        ('{"message":["a"],"message":"b"}', ""),
        ("`code` first", "`code` first"),
        ("```", ""),
        ('```json\n  {"message":"x', "x"),
        ('\ufeff{"message":"x"}', '\ufeff{"message":"x"}'),
    ],
)
def test_what_may_still_change_is_held_back(text: str, message: str) -> None:
    """Half an escape, half a pair, an unfinished value: nothing is given out that could turn out wrong (M-12.7)."""
    assert message_so_far(text) == message


def test_a_provider_that_starts_over_is_given_out_whole() -> None:
    """When the new message does not start with the old one, the piece is all of it (M-12.5)."""
    decoder = StreamingMessageDecoder()
    assert [decoder.feed(text) for text in ("Good", "Good day", "Hello")] == ["Good", " day", "Hello"]
    assert decoder.message == "Hello"


@pytest.mark.property
@given(st.text())
def test_no_message_holds_half_a_character(text: str) -> None:
    """What is decoded can always be written down: lone surrogates become U+FFFD (M-12.7)."""
    message = message_so_far('{"message":' + json.dumps(text) + "}")
    assert message == mend(text) == text
    assert message_so_far('{"message":"\\udc00x\\ud800"}') == "\ufffdx\ufffd"
