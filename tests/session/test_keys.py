from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.session import keys
from falai.session.inputs import Anchor

ids = st.text("ab:#/", min_size=1, max_size=5)


@pytest.mark.property
@given(ids, ids, st.integers(0, 10**13))
def test_a_silence_key_is_cut_at_the_session_id(flow_id: str, session_id: str, ms: int) -> None:
    """Flow and session ids may contain colons; a key gives back what made it (B-9.5, T-5.7)."""
    key = keys.silence_key(flow_id, session_id, ms)
    assert keys.parse_silence_key(key, session_id) == (flow_id, str(ms))


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("silence:nudge:other:17", ("nudge", "17")),
        ("silence:a:b:other:17", ("a", "17")),
        ("silence:nudge", ("nudge", "nudge")),
        ("silence:", ("", "")),
        ("silence:s1:17", ("s1", "17")),
        ("silence:a:s1:b:s1:x", ("a:s1:b", "x")),
        ("silence:a:s1:17:18", ("a", "18")),
    ],
)
def test_silence_keys_of_another_make(key: str, parts: tuple[str, str]) -> None:
    """Without the session id the flow is what stands before the next colon, or all of the rest (T-5.7)."""
    assert keys.parse_silence_key(key, "s1") == parts


@pytest.mark.parametrize("value", [None, "", " \t\n\u00a0", 5, ["a"], True])
def test_blank_ids(value: Any) -> None:
    """What is not text, or blank, is no id (F-1.12)."""
    assert keys.is_blank_id(value)
    assert not keys.is_blank_id(" a ")


@pytest.mark.parametrize(
    ("id", "at", "key"),
    [
        ("m1", "yesterday", "m1"),
        (" m1 ", None, " m1 "),
        ("", "yesterday", "yesterday"),
        ("  ", None, "now"),
        (None, "", ""),
        (None, None, "now"),
    ],
)
def test_the_trigger_key_of_a_message(id: str | None, at: str | None, key: str) -> None:
    """Its id; without one, its `at` as given; without that, now (B-9.2, B-9.3)."""
    assert keys.message_trigger_key(id, at, "now") == key


@pytest.mark.parametrize("kind", ["message", "mention", "silence", "event", "start", "flow"])
def test_default_repeats(kind: str) -> None:
    """What the customer does starts once, what the host or a flow does starts always (B-10.2)."""
    assert keys.default_repeat(kind) == ("once" if kind in ("message", "mention", "silence") else "always")


def test_only_always_has_a_nonce() -> None:
    """A claim of `once` or a cooldown names no trigger (B-10.1)."""
    assert keys.nonce("always", "m1") == "m1"
    assert keys.nonce("once", "m1") == keys.nonce({"cooldown": "1d"}, "m1") == ""


@pytest.mark.parametrize(
    ("name", "anchor"), [(None, "s1"), ("session", "s1"), ("deal", "d7"), ("shop", "s1"), ("Deal", "s1")]
)
def test_anchors(name: str | None, anchor: str) -> None:
    """The key of the flow's anchor in this turn's input, else the session (B-12.1)."""
    anchors = {"deal": Anchor(key="d7"), "session": Anchor(key="never")}
    assert keys.anchor_key(name, "s1", anchors) == anchor
    assert keys.anchor_key(name, "s1", None) == "s1"
