from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.session.claims import blocking, cut_always_claims, held_at, write_claim
from falai.session.dates import iso
from falai.session.model import Claim, Session

NOW = 1_789_898_400_000
MINUTE = 60_000


def _session(claims: dict[str, str]) -> Session:
    session = Session.fresh("s1")
    session.claims = {key: Claim(at=at) for key, at in claims.items()}
    return session


def test_a_claim_of_the_session_counts_before_one_of_the_host() -> None:
    """The first that exists gives the date (B-10.3)."""
    session = _session({"k": "mine"})
    assert held_at(session, "k", {"k": "theirs"}) == "mine"
    assert held_at(session, "other", {"other": "theirs"}) == "theirs"
    assert held_at(session, "other", {}) is None
    assert held_at(session, "other", None) is None


@pytest.mark.parametrize("where", ["session", "host"])
@pytest.mark.parametrize(
    ("at", "cooldown", "code"),
    [
        (iso(NOW), None, "already-claimed"),
        ("unreadable", None, "already-claimed"),
        ("", None, "already-claimed"),
        (iso(NOW - MINUTE + 1), MINUTE, "cooldown"),
        (iso(NOW - MINUTE), MINUTE, None),
        (iso(NOW - MINUTE - 1), MINUTE, None),
        (iso(NOW + MINUTE), MINUTE, "cooldown"),
        (iso(NOW), 0, None),
        ("unreadable", MINUTE, None),
        ("", MINUTE, None),
    ],
)
def test_what_blocks_a_start(where: str, at: str, cooldown: int | None, code: str | None) -> None:
    """`once` and `always` by the claim being there; a cooldown until exactly its end, never by an unreadable date."""
    session = _session({"k": at} if where == "session" else {})
    held = {} if where == "session" else {"k": at}
    assert blocking(session, "k", cooldown, held, NOW) == code
    assert blocking(session, "other", cooldown, held, NOW) is None


def test_a_claim_is_renewed_in_its_place() -> None:
    """A cooldown that is over writes the same key again (B-10.4)."""
    session = _session({"a": "1", "b": "2"})
    write_claim(session, "a", "3")
    assert session.claims == {"a": Claim(at="3"), "b": Claim(at="2")}


def _cut(session: Session, flow_id: str = "lead", anchor: str = "s1", **rest: Any) -> list[str]:
    """The keys that a cut removes."""
    before = list(session.claims)
    given = {"flow_ids": [flow_id], "say_steps": [], "anchors": [session.id], **rest}
    cut_always_claims(session, flow_id, anchor, **given)
    assert list(session.claims) == [key for key in before if key in session.claims]
    return [key for key in before if key not in session.claims]


def _always(count: int, prefix: str = "lead:s1:") -> dict[str, str]:
    return {f"{prefix}m{number}": iso(NOW + number) for number in range(count)}


@pytest.mark.parametrize(("count", "gone"), [(0, 0), (50, 0), (51, 1), (53, 3)])
def test_fifty_are_kept(count: int, gone: int) -> None:
    """Of the `always` claims of a flow and anchor the newest 50 stay."""
    assert _cut(_session(_always(count))) == [f"lead:s1:m{number}" for number in range(gone)]


def test_the_oldest_go_first_whatever_their_place() -> None:
    """Age counts, as an instant; the place in the object does not (B-10.5, B-2.9)."""
    claims = _always(49)
    claims["lead:s1:late-in-the-list"] = "2026-09-20T12:00:00+05:00"
    claims["lead:s1:later-still"] = iso(NOW - 2 * MINUTE * 60)
    assert _cut(_session(claims)) == ["lead:s1:late-in-the-list"]


def test_among_equals_the_first_goes() -> None:
    """With equal dates the one that stands first goes (B-10.5)."""
    assert _cut(_session(dict.fromkeys(_always(52), iso(NOW)))) == ["lead:s1:m0", "lead:s1:m1"]


def test_unreadable_dates_are_the_oldest() -> None:
    """A claim whose date cannot be read goes before every other, in their order (B-2.8)."""
    claims = _always(50)
    claims |= {"lead:s1:x": "agora", "lead:s1:y": ""}
    assert _cut(_session(claims)) == ["lead:s1:x", "lead:s1:y"]


@pytest.mark.parametrize(
    ("key", "rest"),
    [
        ("lead:s1:", {}),
        ("lead:s1:deal:", {}),
        ("other:s1:m1", {}),
        ("lead:s2:m1", {}),
        ("lead:s1:ask:s1", {"say_steps": [("lead", "s1:ask")]}),
        ("lead:s1:step:s1", {"say_steps": [("lead:s1", "step")]}),
        ("lead:s1:x:s9:m1", {"flow_ids": ["lead", "lead:s1:x"]}),
        ("lead:s1:b:m1", {"anchors": ["s1", "s1:b"]}),
    ],
)
def test_keys_of_another_kind_stay(key: str, rest: dict[str, Any]) -> None:
    """A key that merely looks like an `always` claim is neither counted nor removed (B-10.5, B-10.6)."""
    old = {key: "2000-01-01"}
    assert _cut(_session(old | _always(50)), **rest) == []
    assert _cut(_session(old | _always(51)), **rest) == ["lead:s1:m0"]


@pytest.mark.parametrize(
    ("key", "rest"),
    [
        ("lead:s1:ask:s2", {"say_steps": [("lead", "s1:ask")]}),
        ("lead:s1:x:m1", {"flow_ids": ["lead", "leader"]}),
        ("lead:s1:b:m1", {"anchors": ["s1", "s12:b", "b"]}),
        ("lead:s1:m:n", {"flow_ids": ["lead"]}),
    ],
)
def test_keys_that_only_remind_of_another_kind_go(key: str, rest: dict[str, Any]) -> None:
    """Only the four exceptions of the rule are spared."""
    assert _cut(_session({key: "2000-01-01"} | _always(50)), **rest) == [key]


def test_an_anchor_that_continues_another() -> None:
    """Runs of the anchor `s1:b` keep their claims when those of the anchor `s1` are cut, and the other way round."""
    claims = _always(51, "lead:s1:b:") | _always(51)
    anchors = ["s1", "s1:b"]
    assert _cut(_session(claims), anchors=anchors) == ["lead:s1:m0"]
    assert _cut(_session(claims), anchor="s1:b", anchors=anchors) == ["lead:s1:b:m0"]


keys = st.lists(st.sampled_from(["lead", "lead:s1", "s1", "b", "ask", "", "m"]), min_size=1, max_size=5).map(":".join)


@pytest.mark.property
@given(st.dictionaries(keys, st.sampled_from([iso(NOW), iso(NOW + 1), "x"]), max_size=20), st.integers(45, 60))
def test_a_cut_removes_only_what_it_may(extra: dict[str, str], count: int) -> None:
    """Claims without a nonce stay, at least 50 of a cut kind stay, and a second cut removes nothing."""
    session = _session(extra | _always(count))
    gone = _cut(session, flow_ids=["lead", "lead:s1"], say_steps=[("lead", "ask")], anchors=["s1", "s1:b"])
    assert all(key.startswith("lead:s1:") and not key.endswith(":") for key in gone)
    kept = [key for key in session.claims if key.startswith("lead:s1:")]
    assert not gone or len(kept) >= 50
    assert not _cut(session, flow_ids=["lead", "lead:s1"], say_steps=[("lead", "ask")], anchors=["s1", "s1:b"])
