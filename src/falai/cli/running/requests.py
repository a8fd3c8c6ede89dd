"""One line of JSON that asks something of a host.

`session` says which conversation. Then the line is an input in its wire form, as scenarios have it
(`message`, `event` or `start`), with what is known of the customer, or it is a word of the team:
`hold`, `release`, or `human`, what a person wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

import msgspec

from falai.channel.port import Attachment
from falai.flow.nearest import meant
from falai.session.inputs import Event, Message, Start, Wake
from falai.session.jsontext import is_object, parse_json, quoted, show
from falai.session.keys import is_blank_id
from falai.turn.given import read_given

__all__ = ["Request", "read_request"]

Kind = Literal["message", "event", "start", "hold", "release", "human"]

_INPUTS: Final = frozenset({"message", "event", "start"})
_WHO: Final = ("customer", "channel", "address", "tenant")
_TAKES: Final[Mapping[Kind, tuple[str, ...]]] = {
    "message": ("id", "at", "attachments", "customer", "channel", "address", "tenant"),
    "event": ("key", "payload", "customer", "channel", "address", "tenant"),
    "start": ("customer", "channel", "address", "tenant"),
    "hold": ("tenant",),
    "release": ("tenant",),
    "human": ("id", "by", "tenant"),
}


@dataclass(frozen=True, slots=True)
class Request:
    """What a line asks: `input` is for a turn; a word of the team has none, and `said` has its keys."""

    session: str
    kind: Kind
    input: Message | Event | Start | None
    said: Mapping[str, Any]
    who: Mapping[str, str]
    attachments: tuple[Attachment, ...] = ()


def read_request(line: bytes) -> Request:
    """What a line says. Raises `ValueError` with what was found and what to write."""
    try:
        value = parse_json(line)
    except ValueError as error:
        raise ValueError(f"it is no JSON in UTF-8: {error}") from None
    if not is_object(value):
        raise ValueError(f"it is {show(value)}, and should be an object with `session` and an input")
    kind = _kind(value)
    _refuse_others(value, kind)
    _check(value, kind)
    said = {key: value[key] for key in (kind, *_TAKES[kind]) if key in value and key not in (*_WHO, "attachments")}
    return Request(
        session=value["session"],
        kind=kind,
        input=_input(value["session"], said) if kind in _INPUTS else None,
        said=said,
        who={key: value[key] for key in _WHO if key in value},
        attachments=_attachments(value),
    )


def _kind(value: Mapping[str, Any]) -> Kind:
    found: list[Kind] = [kind for kind in _TAKES if value.get(kind) is not None]
    if len(found) != 1:
        has = " and ".join(found) or "none of them"
        raise ValueError(f"a line has exactly one of {', '.join(_TAKES)}; this one has {has}")
    return found[0]


def _refuse_others(value: Mapping[str, Any], kind: Kind) -> None:
    known = ("session", kind, *_TAKES[kind])
    for key in value:
        if key not in known:
            raise ValueError(f"a line with {kind} has no {quoted(key)}. {meant(key, known)}It has {', '.join(known)}")


def _check(value: Mapping[str, Any], kind: Kind) -> None:
    if is_blank_id(value.get("session")):
        raise ValueError(f"session is {show(value.get('session'))}, and should be a text that is not blank")
    texts = [key for key in (*_WHO, "by", kind) if key in value and key not in ("start", "release")]
    for key in texts:
        if not isinstance(value[key], str):
            raise ValueError(f"{key} is {show(value[key])}, and should be a text")  # noqa: TRY004  # a line's, not a call's
    if kind in ("message", "human") and is_blank_id(value.get("id")):
        raise ValueError(
            f"a {kind} needs an id, by which it is known when the line comes again: a text that is not blank"
        )
    if kind == "release" and value["release"] is not True:
        raise ValueError(f"release is {show(value['release'])}: write true")


def _input(session: str, said: Mapping[str, Any]) -> Message | Event | Start:
    read = read_given(session, said).input
    assert not isinstance(read, Wake)  # no line has one
    return read


def _attachments(value: Mapping[str, Any]) -> tuple[Attachment, ...]:
    try:
        return msgspec.convert(value.get("attachments", []), tuple[Attachment, ...])
    except msgspec.ValidationError as error:
        raise ValueError(f"attachments: {error}") from None
