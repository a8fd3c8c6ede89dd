from __future__ import annotations

import copy
import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import InvalidSessionError
from falai.session.check import assert_session
from falai.session.codec import session_from_json, session_to_json, session_to_wire
from falai.session.dates import iso, to_ms
from falai.session.jsontext import json_equal, json_text
from falai.session.migrate import migrate_session, read_legacy_date
from falai.session.model import Claim
from session.blobs import FIXTURES, NOW, clean_texts, json_values, moments

AT = datetime.fromisoformat(NOW)
EXPECTED = json.loads((FIXTURES / "migrate-expected.json").read_text(encoding="utf-8"))["cases"]


@pytest.mark.parametrize("case", EXPECTED, ids=lambda case: case["file"])
def test_legacy_fixtures(case: dict[str, Any]) -> None:
    """Each stored 3.x session becomes exactly the one that is expected (G-16 to G-31)."""
    blob = json.loads((FIXTURES / case["file"]).read_text(encoding="utf-8"))
    session = migrate_session(
        blob,
        case["sessionId"],
        flow_id_of=lambda id: case["flowIdOf"].get(id, id),
        now=datetime.fromisoformat(case["now"]),
    )
    assert json_equal(session_to_wire(session), case["session"])


def _migrated(blob: dict[str, Any]) -> dict[str, Any]:
    return session_to_wire(migrate_session(blob, "s1", now=AT))


def _refused(blob: Any) -> str:
    with pytest.raises(InvalidSessionError) as caught:
        migrate_session(blob, "s1", now=AT)
    return str(caught.value)


def test_a_v4_blob_passes_through_the_check() -> None:
    """Any object with a key `v` is handed to `assert_session`, and `flow_id_of` is not asked (G-15)."""
    blob = _migrated({"data": {"n": 1}, "currentFlow": "f"})
    assert session_to_wire(migrate_session(blob, "s1", flow_id_of=lambda _: "never")) == blob
    for v in (None, 3, "4", False):
        assert "4 was expected" in _refused({"v": v, "data": {}})


def test_nulls_of_nullable_columns() -> None:
    """Null reads as absent for every optional key (G-17)."""
    keys = ["currentFlow", "currentStep", "flowHistory", "signals", "history", "metadata"]
    empty = _migrated({"data": {}})
    assert _migrated({"data": {}, **dict.fromkeys(keys)}) == empty
    assert _migrated({"data": {}, "signals": {"triggers": None}}) == empty


# In the order of G-18: with all of them wrong, the first is reported.
ORDER: list[tuple[str, Any, str]] = [
    ("data", [], "data"),
    ("metadata", "x", "metadata"),
    ("history", {}, "history"),
    ("flowHistory", {}, "flowHistory"),
    ("signals", [], "signals"),
    ("signals", {"triggers": []}, "signals.triggers"),
    ("flowHistory", [{"flowId": "a"}, {"flowId": 5}], "flowHistory[1].flowId"),
    ("signals", {"triggers": {"cross": "x"}}, "signals.triggers.cross"),
    ("currentFlow", 5, "currentFlow"),
    ("currentStep", {"id": None}, "currentStep"),
]


@pytest.mark.parametrize("first", range(len(ORDER)), ids=[name for *_, name in ORDER])
def test_the_first_failure_is_reported(first: int) -> None:
    """The order of the checks is fixed (G-18)."""
    blob = {"data": {}} | {key: value for key, value, _ in reversed(ORDER[first:])}
    assert f": {ORDER[first][2]} is " in _refused(blob)


def test_a_blob_of_no_kind_says_so() -> None:
    """Without `v` and `data` the message names both kinds of session (G-18)."""
    assert "no 3.x session either" in _refused({"nope": True})


@pytest.mark.parametrize("reference", ["", "  ", {"id": ""}, {"id": " "}, None])
def test_blank_references_are_none(reference: Any) -> None:
    """An empty or blank id is no current flow and no current step (G-19)."""
    assert _migrated({"data": {}, "currentFlow": reference, "currentStep": "x"})["runs"] == []
    run = _migrated({"data": {}, "currentFlow": "f", "currentStep": reference})["runs"][0]
    assert (run["stepId"], run["status"]) == (None, "running")


def test_a_blank_flow_in_the_history_is_missing() -> None:
    """An id that is blank counts as missing wherever the id of a flow is read (F-1.12)."""
    assert "flowHistory[0].flowId" in _refused({"data": {}, "flowHistory": [{"flowId": " ", "completed": False}]})


def test_claims_in_order_the_later_replacing_the_earlier() -> None:
    """Completed flows, then signals, then the run; the last firing counts (G-22)."""
    blob = {
        "data": {},
        "flowHistory": [
            {"flowId": "a", "completed": True, "enteredAt": "2026-01-01", "exitedAt": "2026-01-02"},
            {"flowId": "b", "completed": 1, "exitedAt": "2026-01-02"},
            {"flowId": "c", "completed": True, "enteredAt": "2026-01-03", "exitedAt": "nonsense"},
            {"flowId": "d", "completed": True},
            {"flowId": "a", "completed": True, "exitedAt": "2026-02-02"},
        ],
        "signals": {"triggers": {"d": {"firstTriggeredAt": "2026-03-03"}, "e": {"count": 0}, "f": {
            "firstTriggeredAt": "2026-01-01", "lastTriggeredAt": "2026-04-04"}}},
        "currentFlow": {"id": "a", "enteredAt": "2026-05-05"},
    }  # fmt: skip
    claims = migrate_session(blob, "s1", now=AT).claims
    assert list(claims) == ["a:s1:", "c:s1:", "d:s1:", "e:s1:", "f:s1:"]
    days = ["2026-05-05", "2026-01-03", "2026-03-03", None, "2026-04-04"]
    assert [claim.at for claim in claims.values()] == [f"{day}T00:00:00.000Z" if day else NOW for day in days]


def test_flow_id_of_is_asked_for_what_lives_on() -> None:
    """Once for each completed entry, each signal and the current flow, in this order (G-27)."""
    asked: list[str] = []

    def new(id: str) -> str:
        asked.append(id)
        return f"new-{id}"

    blob = {
        "data": {},
        "flowHistory": [{"flowId": "a", "completed": True}, {"flowId": "b"}, {"flowId": "a", "completed": True}],
        "signals": {"triggers": {"s": {}}},
        "currentFlow": "c",
        "currentStep": "d",
    }
    session = migrate_session(blob, "s1", flow_id_of=new, now=AT)
    assert asked == ["a", "a", "s", "c"]
    assert session.runs[0].id == "new-c#legacy"
    assert session.runs[0].step_id == "d"
    assert list(session.claims) == ["new-a:s1:", "new-s:s1:", "new-c:s1:"]


@pytest.mark.parametrize("id", ["", " "])
def test_a_blank_id_that_nobody_was_asked_about_is_the_blobs_fault(id: str) -> None:
    """Without `flow_id_of` any JSON gives a session or `InvalidSessionError`, never a `TypeError`."""
    for blob in (
        {"data": {}, "signals": {"triggers": {id: {}}}},
        {"data": {}, "flowHistory": [{"flowId": id, "completed": True}]},
    ):
        with pytest.raises(InvalidSessionError):
            migrate_session(blob, "s1")


@pytest.mark.parametrize("new", [None, "", " ", 5])
def test_flow_id_of_must_give_an_id(new: Any) -> None:
    """Anything else is a `TypeError` that names the id it was asked for (G-27)."""
    with pytest.raises(TypeError, match='"old"'):
        migrate_session({"data": {}, "currentFlow": "old"}, "s1", flow_id_of=lambda _: new)


def test_an_error_in_flow_id_of_passes_through() -> None:
    """It is the host's own (G-27)."""
    with pytest.raises(KeyError):
        migrate_session({"data": {}, "currentFlow": "old"}, "s1", flow_id_of=dict[str, str]().__getitem__)


def test_now_is_the_clock_without_one() -> None:
    """Without `now` the system's clock dates what has no date (G-13)."""
    before = to_ms(datetime.now(UTC))  # noqa: TID251 - this is about the system's clock
    claim = migrate_session({"data": {}, "currentFlow": "f"}, "s1").claims["f:s1:"]
    assert iso(before) <= claim.at


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (datetime(2026, 3, 2, 14, 0, 0, 999), "2026-03-02T14:00:00.000Z"),
        (datetime(2026, 3, 2, 14, tzinfo=timezone(timedelta(hours=2))), "2026-03-02T12:00:00.000Z"),
        (date(2026, 3, 2), "2026-03-02T00:00:00.000Z"),
        (1772460000123, "2026-03-02T14:00:00.123Z"),
        (1772460000123.9, "2026-03-02T14:00:00.123Z"),
        (-0.5, "1969-12-31T23:59:59.999Z"),
        ("2026-03-02 14:00", "2026-03-02T14:00:00.000Z"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=1))), None),
        (float("nan"), None),
        (float("inf"), None),
        (10**18, None),
        (10**400, None),
        (1e300, None),
        (True, None),
        ("1772460000123", None),
        (None, None),
        ([], None),
    ],
)
def test_legacy_dates(value: Any, text: str | None) -> None:
    """Datetimes, dates, milliseconds and texts are read; anything else is nothing (G-28)."""
    ms = read_legacy_date(value)
    assert (None if ms is None else iso(ms)) == text
    claims = migrate_session({"data": {}, "currentFlow": {"id": "f", "enteredAt": value}}, "s1", now=AT).claims
    assert claims == {"f:s1:": Claim(at=text or NOW)}


def test_dates_in_metadata_become_text_and_data_stays() -> None:
    """Date values inside metadata are written out, one that is no instant becomes null; data is as it was (G-21, G-24)."""
    day, moment, never = date(2026, 3, 2), datetime(2026, 3, 2, 14, tzinfo=UTC), datetime.max.replace(
        tzinfo=timezone(-timedelta(hours=1))
    )  # fmt: skip
    session = migrate_session(
        {"data": {"at": moment, "l": [moment]}, "metadata": {"a": moment, "l": [{"b": day, "c": never}], "t": "2026"}},
        "s1",
    )
    text = "2026-03-02T14:00:00.000Z"
    assert session.metadata == {"a": text, "l": [{"b": "2026-03-02", "c": None}], "t": "2026"}
    assert session.data == {"at": moment, "l": [moment]}
    assert session_from_json(session_to_json(session)).data == {"at": text, "l": [text]}


ROW = {"currentFlow": "f", "collectedData": {"data": {"n": 1}, "metadata": {"a": 1}, "history": [1], "signals": {}}}


def test_rows_of_the_old_adapters() -> None:
    """What the row lacks, or has as null, is read from `collectedData`, an object or its text (G-31)."""
    session = _migrated(ROW)
    assert (session["data"], session["metadata"], session["history"]) == ({"n": 1}, {"a": 1}, [1])
    assert _migrated({**ROW, "collectedData": json_text(ROW["collectedData"]), "metadata": None}) == session
    assert _migrated({**ROW, "metadata": {"b": 2}})["metadata"] == {"b": 2}


@pytest.mark.parametrize("collected", ["", "{", "[]", "7", None, [], {"data": None}, {"data": []}, {}, '{"data": 1}'])
def test_rows_that_hold_nothing(collected: Any) -> None:
    """Each is refused with the name `collectedData` (G-31)."""
    assert "collectedData" in _refused({"currentFlow": "f", "collectedData": collected})


references = st.none() | clean_texts | st.fixed_dictionaries({"id": clean_texts}, optional={"enteredAt": json_values})
dates = json_values | st.sampled_from([NOW, "2026-01-01", 1772460000123]) | moments
legacy_blobs = st.fixed_dictionaries(
    {"data": st.dictionaries(clean_texts, json_values, max_size=3)},
    optional={
        "currentFlow": references | json_values,
        "currentStep": references | json_values,
        "flowHistory": st.lists(
            st.fixed_dictionaries(
                {"flowId": clean_texts}, optional={"completed": st.booleans(), "enteredAt": dates, "exitedAt": dates}
            ),
            max_size=3,
        ),
        "signals": st.fixed_dictionaries(
            {}, optional={"triggers": st.dictionaries(clean_texts, st.dictionaries(clean_texts, dates), max_size=3)}
        ),
        "history": st.lists(json_values, max_size=2) | st.none(),
        "metadata": st.dictionaries(clean_texts, dates, max_size=3) | st.none(),
        "collectedData": json_values,
    },
)


@pytest.mark.property
@given(legacy_blobs | json_values)
def test_any_blob_is_migrated_or_refused(blob: Any) -> None:
    """Once is enough, the blob is not changed, the result passes the check and survives text (G-32 to G-35)."""
    before = copy.deepcopy(blob)
    try:
        session = migrate_session(blob, "s1", flow_id_of=lambda id: f"f-{id}", now=AT)
    except InvalidSessionError:
        return
    finally:
        assert blob == before
    wire = session_to_wire(session)
    assert session_to_wire(assert_session(wire, "s1")) == wire
    assert session_to_wire(migrate_session(wire, "s1", flow_id_of=lambda _: "never")) == wire
    assert session_to_wire(session_from_json(session_to_json(session), "s1")) == wire
    assert session_to_wire(migrate_session(blob, "s1", flow_id_of=lambda id: f"f-{id}", now=AT)) == wire


def test_nothing_mutable_is_shared() -> None:
    """The session can be changed without the blob noticing (G-35)."""
    blob = {"data": {"l": [1]}, "metadata": {"m": {}}, "history": [{}]}
    session = migrate_session(blob, "s1")
    session.data["l"].append(2)
    session.metadata["m"]["x"] = 1
    assert session.history is not None
    session.history[0]["x"] = 1
    assert blob == {"data": {"l": [1]}, "metadata": {"m": {}}, "history": [{}]}


def test_a_bottomless_blob() -> None:
    """Nested without end is an invalid session, not a crash."""
    deep: list[Any] = []
    for _ in range(5000):
        deep = [deep]
    assert "nested" in _refused({"data": {"deep": deep}})
