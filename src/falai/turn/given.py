"""What a turn is given, checked before anything else happens (T-1).

Inputs come as the structs of `falai.session.inputs`, or as mappings in the wire form; both take
the same road, so both are refused in the same words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from msgspec.structs import asdict

from falai.session.inputs import Anchor, Claims, Event, Input, Message, Silenced, Start, Wake
from falai.session.jsontext import show, to_plain
from falai.session.keys import is_blank_id
from falai.session.model import Session

__all__ = ["Given", "read_given", "read_id", "read_text"]

_KINDS = ("message", "wake", "event", "start")


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A checked turn input. `silenced` is `None` while the gate is open."""

    session_id: str
    input: Input
    session: Session | None
    context: Any
    history: Sequence[Mapping[str, Any]] | None
    silenced: Silenced | None
    anchors: Mapping[str, Anchor]
    claims: Claims


def read_given(
    session_id: object,
    input: object,
    *,
    session: object = None,
    context: object = None,
    history: object = None,
    silenced: object = None,
    anchors: object = None,
    claims: object = None,
) -> Given:
    """Checks what a turn was given (T-1.3). Raises `ValueError` naming the key that is wrong."""
    id = read_id(session_id, "sessionId")
    if session is not None and not isinstance(session, Session):
        raise _wrong("session", session, "a Session (Session.from_json makes one)")
    return Given(
        session_id=id,
        input=_read_input(_as_mapping(input)),
        session=session,
        context=context,
        history=_read_history(history),
        silenced=_read_silenced(silenced),
        anchors=_read_anchors(anchors),
        claims=_read_claims(claims),
    )


def read_text(value: object, path: str) -> str:
    """A text as a session holds it: a key, or an id that comes again, must be found there (P-17)."""
    if not isinstance(value, str):
        raise _wrong(path, value, "a text")
    return cast(str, to_plain(value))


def read_id(value: object, path: str) -> str:
    """A text that is not blank, as a session holds it."""
    if is_blank_id(value):
        raise _wrong(path, value, "a text that is not blank")
    return read_text(value, path)


def _as_mapping(given: object) -> Mapping[str, Any]:
    match given:
        case Message():
            return {"message": given.text, "id": given.id, "at": given.at}
        case Wake():
            return {"wake": given.key}
        case Event():
            return {"event": given.name, "key": given.key, "payload": given.payload, "hop": given.hop}
        case Start():
            start = {"flow": given.flow, "key": given.key, "input": given.input, "hop": given.hop}
            return {"start": start}
        case Mapping():
            return cast(Mapping[str, Any], given)
        case _:
            raise _wrong("input", given, "a Message, Wake, Event or Start, or their wire form")


def _read_input(given: Mapping[str, Any]) -> Input:
    found = [kind for kind in _KINDS if given.get(kind) is not None]
    if len(found) != 1:
        has = " and ".join(found) or "none of them"
        raise ValueError(f"an input has exactly one of message, wake, event and start; this one has {has}")
    match found[0]:
        case "message":
            return Message(_text(given, "message"), _optional_text(given, "id"), _date(given.get("at"), "at"))
        case "wake":
            return Wake(_text(given, "wake"))
        case "event":
            return Event(
                _text(given, "event"), _name(given, "key"), _json(given.get("payload"), "payload"), _hop(given, "")
            )
        case _:
            return _read_start(given["start"])


def _read_start(start: object) -> Start:
    if not isinstance(start, Mapping):
        raise _wrong("start", start, "an object with flow and key")
    given = cast(Mapping[str, Any], start)
    return Start(
        _name(given, "flow", "start."),
        _name(given, "key", "start."),
        _json(given.get("input"), "start.input"),
        _hop(given, "start."),
    )


def _text(given: Mapping[str, Any], key: str, path: str = "") -> str:
    return read_text(given.get(key), path + key)


def _name(given: Mapping[str, Any], key: str, path: str = "") -> str:
    return read_id(given.get(key), path + key)


def _optional_text(given: Mapping[str, Any], key: str) -> str | None:
    return None if given.get(key) is None else _text(given, key)


def _date(value: object, path: str) -> str | None:
    if isinstance(value, datetime):
        return cast(str, _json(value, path))
    if value is None:
        return None
    if isinstance(value, str):
        return read_text(value, path)
    raise _wrong(path, value, "a date text or a datetime")


def _json(value: object, path: str) -> Any:
    """The value as plain JSON data, which a session can hold."""
    try:
        return to_plain(value, path)
    except TypeError as error:
        raise ValueError(str(error)) from error


def _hop(given: Mapping[str, Any], path: str) -> int:
    value = given.get("hop")
    if value is None:
        return 0
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or value < 0:
        raise _wrong(path + "hop", value, "a whole number, 0 or more")
    return int(value)


def _read_history(history: object) -> Sequence[Mapping[str, Any]] | None:
    if history is None:
        return None
    if not isinstance(history, list | tuple):
        raise _wrong("history", history, "a list of history items")
    items = cast(Sequence[object], history)
    for index, item in enumerate(items):
        if not isinstance(item, Mapping):
            raise _wrong(f"history[{index}]", item, "a history item, which is an object")
    return cast(Sequence[Mapping[str, Any]], items)


def _read_silenced(silenced: object) -> Silenced | None:
    match silenced:
        case None:
            return None
        case str():
            return Silenced(silenced)
        case Silenced():
            flags: Mapping[str, Any] = asdict(silenced)
        case Mapping():
            flags = cast(Mapping[str, Any], silenced)
        case _:
            raise _wrong("silenced", silenced, "a reason, or an object with a reason")
    if not isinstance(flags.get("reason"), str):
        raise _wrong("silenced.reason", flags.get("reason"), "a text")
    understand, skip = flags.get("understand") is True, flags.get("skip") is True
    return Silenced(flags["reason"], understand=understand, skip=skip)


def _read_anchors(anchors: object) -> Mapping[str, Anchor]:
    named = _object(anchors, "anchors")
    return {name: _read_anchor(anchor, f"anchors.{name}") for name, anchor in named.items() if anchor is not None}


def _read_anchor(anchor: object, path: str) -> Anchor:
    if isinstance(anchor, Anchor):
        anchor = {"key": anchor.key, "lastInboundAt": anchor.last_inbound_at}
    given = _object(anchor, path)
    key = _text(given, "key", f"{path}.")
    return Anchor(key, _date(given.get("lastInboundAt"), f"{path}.lastInboundAt"))


def _read_claims(claims: object) -> Claims:
    if isinstance(claims, Claims):
        claims = {"held": claims.held, "active": claims.active}
    given = _object(claims, "claims")
    dates = {key: _date(at, f"claims.held.{key}") for key, at in _object(given.get("held"), "claims.held").items()}
    active = given.get("active")
    listed = cast(Sequence[object], [] if active is None else active)
    if not isinstance(listed, list | tuple) or not all(isinstance(entry, str) for entry in listed):
        raise _wrong("claims.active", active, "a list of texts")
    return Claims(
        held={key: at for key, at in dates.items() if at is not None},
        active=[cast(str, entry) for entry in listed],
    )


def _object(value: object, path: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong(path, value, "an object")
    return cast(Mapping[str, Any], value)


def _wrong(path: str, found: object, expected: str) -> ValueError:
    return ValueError(f"{path}: {show(found)} was given, {expected} is expected")
