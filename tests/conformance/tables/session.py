"""The tables of the session room: keys, dates, the check of a blob, migration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from conformance.tables.raising import raises
from falai.classic.ids import instruction_id
from falai.errors import InvalidSessionError
from falai.model import envelopes
from falai.session import keys as made
from falai.session.check import assert_session as checked
from falai.session.codec import session_to_wire
from falai.session.dates import read_date
from falai.session.inputs import Anchor
from falai.session.jsontext import json_equal, json_text
from falai.session.migrate import migrate_session, read_legacy_date
from falai.session.model import Session

Row = Mapping[str, Any]
DEFAULT_NOW = "2026-09-20T10:00:00.000Z"


def dates(row: Row) -> None:
    """`read_date`, or the reader of `migrate_session` in the rows that pin it."""
    read = read_legacy_date if "G-28" in row["rule"] else read_date
    assert read(row["text"]) == row.get("instantMs"), row


def assert_session(row: Row) -> None:
    """`assert_session(blob, session_id)`."""
    _same_session(row, lambda: checked(row["blob"], row["sessionId"]))


def migrate(row: Row) -> None:
    """`migrate_session`, with `flowIds` as the map of `flow_id_of`."""
    ids = row.get("flowIds", {})
    now = datetime.fromisoformat(row.get("now", DEFAULT_NOW))
    _same_session(
        row,
        lambda: migrate_session(row["blob"], row["sessionId"], flow_id_of=lambda id: ids.get(id, id), now=now),
    )


def keys(row: Row) -> None:
    """Every key that is made from what is given. The optional formulas of D-2 never come here."""
    key = _KEYS[row["kind"]](row["given"])
    assert json_equal(key, row["key"]), f"{key!r} is not {row['key']!r}"


def _same_session(row: Row, make: Callable[[], Session]) -> None:
    before = json_text(row["blob"])
    if "error" in row:
        raises(make, row["error"], InvalidSessionError)
    else:
        wire = session_to_wire(make())
        assert json_equal(wire, row["session"]), f"{json_text(wire)} is not {json_text(row['session'])}"
    assert json_text(row["blob"]) == before


def _trigger(given: Row) -> str:
    match given["trigger"]:
        case "message" | "mention":
            message = given["message"]
            return made.message_trigger_key(message.get("id"), message.get("at"), given["now"])
        case "silence":
            return str(read_date(given["lastAssistantAt"]))
        case "flow":
            return _step(given["parent"], given["parent"]["stepId"])
        case "reset":
            return _step(given["parent"], given["steps"][-1])
        case _:
            return given["key"]


def _step(run: Row, step_id: str) -> str:
    return made.step_key(run["id"], step_id, run["visits"].get(step_id, 0))


def _ms(given: Row, key: str = "at") -> int:
    ms = read_date(given[key])
    assert ms is not None
    return ms


def _visit(given: Row) -> int:
    return given["visits"].get(given["stepId"], 0)


def _dedupe(given: Row) -> str:
    repeat = given.get("repeat") or made.default_repeat(given["trigger"])
    return made.dedupe_key(given["flowId"], given["anchor"], made.nonce(repeat, given["triggerKey"]))


def _anchor(given: Row) -> str:
    anchors = {
        name: Anchor(key=anchor["key"], last_inbound_at=anchor.get("lastInboundAt"))
        for name, anchor in given.get("anchors", {}).items()
    }
    return made.anchor_key(given.get("anchor"), given["sessionId"], anchors)


_KEYS: dict[str, Callable[[Row], Any]] = {
    "run": lambda g: made.run_id(g["flowId"], g["triggerKey"]),
    "step": lambda g: made.step_key(g["runId"], g["stepId"], _visit(g)),
    "wake": lambda g: made.wake_key(g["runId"], g["stepId"], _ms(g)),
    "start-wake": lambda g: made.start_wake_key(g["runId"], _ms(g)),
    "retry-wake": lambda g: made.retry_wake_key(g["runId"], g["stepId"], _visit(g), _ms(g)),
    "silence-wake": lambda g: made.silence_key(g["flowId"], g["sessionId"], _ms(g, "lastAssistantAt")),
    "idle": lambda g: made.idle_key(g["triggerKey"]),
    "dedupe": _dedupe,
    "say-once": lambda g: made.say_claim_key(g["flowId"], g["stepId"], g["sessionId"]),
    "trigger": _trigger,
    "anchor": _anchor,
    "branch": lambda g: made.branch_id(g["runId"], g["stepId"], g["index"]),
    "understand": lambda g: envelopes.understand_keys(**g),
    "instruction-id": lambda g: instruction_id(g["index"]),
    "speak": lambda g: ["message", *envelopes.speak_keys(g["pending"])],
}
