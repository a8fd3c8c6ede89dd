"""A session as JSON text, as plain data, and as a copy.

The typed parts go through msgspec in one piece; the parts in which a host's own values may stand
(`data`, `metadata`, `history`, inputs and payloads) go through `to_plain`, so that text, plain data
and copy agree, whatever was put in. What msgspec cannot write or read, the slow way can, or it
says what is wrong: whole numbers of any length, lone surrogates, blobs with `null` in odd places.
"""

from __future__ import annotations

import copy
from functools import cache
from typing import Any, cast

import msgspec

from falai.errors import InvalidSessionError
from falai.session.check import assert_session
from falai.session.jsontext import EXACT, MISSING, is_list, is_object, json_text, parse_json, show, to_plain
from falai.session.model import Run, Session

__all__ = ["copy_session", "session_from_json", "session_to_json", "session_to_wire", "stamped", "stamped_fast"]

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Session)


def copy_session(session: Session) -> Session:
    """A session that is equal as JSON and shares nothing mutable with this one (B-3.3).

    Raises `TypeError`, naming the path, when a value inside has no JSON form (P-16).
    """
    fresh = copy.copy(session)
    fresh.data = to_plain(session.data, "data")
    fresh.runs = [_copy_run(run, f"runs[{index}]") for index, run in enumerate(session.runs)]
    fresh.claims = {key: copy.copy(claim) for key, claim in session.claims.items()}
    fresh.inputs = list(session.inputs)
    fresh.metadata = to_plain(session.metadata, "metadata")
    if session.history is not None:
        fresh.history = to_plain(session.history, "history")
    return fresh


def session_to_wire(session: Session) -> dict[str, Any]:
    """The wire form as fresh plain data, optional keys only when set (P-14 to P-17).

    Raises `TypeError` like `copy_session`.
    """
    return cast(dict[str, Any], to_plain(_members(copy_session(session))))


def session_to_json(session: Session) -> str:
    """The wire form as JSON text. Raises `TypeError` like `copy_session`."""
    return stamped(session, session.version)[1]


def session_from_json(text: str | bytes, session_id: str | None = None) -> Session:
    """The session of a JSON text, checked by `assert_session`; without a `session_id`, its own id is taken.

    Raises `InvalidSessionError` when the text is no JSON or no session (B-14).
    """
    session = _read_fast(text)
    if session is not None and session_id in (None, session.id):
        return session
    return _read_slow(text, session_id)


def stamped(session: Session, version: int) -> tuple[Session, str]:
    """What a store writes: a copy with this version, and its JSON text, which reads back as the copy (P-5, P-9).

    Raises `TypeError` like `copy_session`.
    """
    return stamped_fast(session, version) or _stamped_slow(session, version)


def _fraction(text: str) -> float:
    """A float that is written as a float; one that is written as a whole number is for the slow way (P-16)."""
    value = float(text)
    if value.is_integer() and abs(value) <= EXACT:
        raise ValueError
    return value


_READ_BACK = msgspec.json.Decoder(Session, float_hook=_fraction)


def stamped_fast(
    session: Session, version: int, read_back: msgspec.json.Decoder[Session] = _READ_BACK
) -> tuple[Session, str] | None:
    """The session as its text reads back, when it is of plain data alone, so that both are equal.

    Whatever else a host put in is written as something that differs from it, or not at all. A store
    that can write less gives a decoder that refuses the rest with a `ValueError`.
    """
    same = msgspec.structs.replace(session, version=version)
    try:
        raw = _ENCODER.encode(same)
        fresh = read_back.decode(raw)
        return (fresh, raw.decode()) if fresh == same else None
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
        return None


def _stamped_slow(session: Session, version: int) -> tuple[Session, str]:
    fresh = copy_session(session)
    fresh.version = version
    try:
        return fresh, _ENCODER.encode(fresh).decode()
    except (TypeError, ValueError):  # subclasses of str, lone surrogates, whole numbers without end
        text = json_text(session_to_wire(fresh))
        return session_from_json(text), text


def _members(value: Any) -> Any:
    """Structs as mappings of their wire names, at every depth."""
    if isinstance(value, msgspec.Struct):
        members = ((key, required, getattr(value, name)) for name, key, required in _names(type(value)))
        return {key: _members(member) for key, required, member in members if required or member is not None}
    if is_object(value):
        return {key: _members(member) for key, member in value.items()}
    return [_members(member) for member in value] if is_list(value) else value


@cache
def _names(kind: type[msgspec.Struct]) -> tuple[tuple[str, str, bool], ...]:
    """Name, wire name, and whether it is always there, of each member."""
    return tuple((field.name, field.encode_name, field.required) for field in msgspec.structs.fields(kind))


def _copy_run(run: Run, path: str) -> Run:
    fresh = copy.copy(run)
    fresh.trigger = copy.copy(run.trigger)
    fresh.trigger.payload = to_plain(run.trigger.payload, f"{path}.trigger.payload")
    fresh.input = to_plain(run.input, f"{path}.input")
    fresh.waiting = copy.copy(run.waiting)
    fresh.asked = dict(run.asked)
    fresh.visits = dict(run.visits)
    fresh.outcomes = [copy.copy(line) for line in run.outcomes]
    return fresh


def _read_fast(text: str | bytes) -> Session | None:
    """The session of a text in which nothing needs a second look; the slow way decides about the others."""
    try:
        return _DECODER.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _read_slow(text: str | bytes, session_id: str | None) -> Session:
    try:
        blob = parse_json(text)
    except ValueError as error:
        shown = text if isinstance(text, str) else text.decode(errors="replace")
        raise InvalidSessionError(session_id or "", f"{show(shown)} is no JSON text ({error})") from None
    if session_id is None:
        session_id = _own_id(blob)
    return assert_session(blob, session_id)


def _own_id(blob: Any) -> str:
    """The id of a session that says its own; of what is no session of v4 at all the check speaks."""
    own = blob.get("id") if is_object(blob) else None
    if isinstance(own, str):
        return own
    if is_object(blob) and blob.get("v") == 4:
        raise InvalidSessionError("", f"id is {show(blob.get('id', MISSING))}, and text was expected")
    return ""
