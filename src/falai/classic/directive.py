"""`Directive`: one flat object with which a handler redirects the conversation, writes state or speaks (D-49).

It is plain data. Nothing is checked in its constructor and nothing happens by making one: a
directive is validated when it is emitted, and merged with the others of its phase.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from falai.classic.named import named
from falai.flow.places import Wire, is_list, is_object
from falai.flow.wire import wire_name
from falai.session.jsontext import copied, show

__all__ = ["BEFORE_MODEL", "MEMBERS", "OBJECT_FORMS", "POSITIONS", "Directive", "is_directive", "members_of"]


@dataclass(frozen=True, kw_only=True)
class Directive:
    """What a handler wants done; every member is optional, and `None` is unset (D-49, D-54).

    At most one of the first five, the position members, may be set (D-50), and `reply` does not go
    with `abort` (D-52). Each position has a short form and an object form; the objects take wire
    names or their snake_case. `reason` is for the log. A mapping with the same members is accepted
    wherever a directive is.
    """

    go_to: str | Mapping[str, Any] | None = None
    """A flow's id or title, or `{flow?, step?, data?, reason?, carry?}`."""
    go_to_step: str | Mapping[str, Any] | None = None
    """A step of the current flow, or `{step, flow?, data?, reason?}`."""
    complete: bool | Mapping[str, Any] | None = None
    """`True`, or `{next?, reason?}`; `next` is a directive that is applied at once afterwards."""
    abort: str | Mapping[str, Any] | None = None
    """The reason, or `{reason, clearSession?}`."""
    reset: bool | Mapping[str, Any] | None = None
    """`True`, or `{step?, clearData?, reason?}`."""
    reply: str | None = None
    """Said exactly as written, in place of what the model would say or has said."""
    data_update: Mapping[str, Any] | None = None
    context_update: Mapping[str, Any] | None = None
    append_prompt: Sequence[str] | None = None
    """Sentences for this turn's speaking prompt; counts before the model only."""
    inject_tools: Sequence[Any] | None = None
    """Tools for this turn, over others with the same id; counts before the model only."""
    halt: bool | None = None
    """Nobody speaks in this turn; counts before the model only."""
    reason: str | None = None

    def to_wire(self) -> dict[str, Any]:
        """The set members as a fresh mapping with wire names; JSON, but for `injectTools`."""
        return {name: _wired(name, value) for name, value in members_of(self).items()}


_WIRE_NAMES: Mapping[str, str] = {field.name: wire_name(field.name) for field in fields(Directive)}
MEMBERS: tuple[str, ...] = tuple(_WIRE_NAMES.values())
POSITIONS: tuple[str, ...] = ("abort", "complete", "goTo", "goToStep", "reset")
BEFORE_MODEL: tuple[str, ...] = ("appendPrompt", "injectTools", "halt")
"""What counts only until the model has spoken (D-49, D-64)."""
OBJECT_FORMS: Mapping[str, tuple[str, ...]] = {
    "goTo": ("flow", "step", "data", "reason", "carry"),
    "goToStep": ("step", "flow", "data", "reason"),
    "complete": ("next", "reason"),
    "abort": ("reason", "clearSession"),
    "reset": ("step", "clearData", "reason"),
}
"""The members of each position's object form."""

_UNSET_WHEN_FALSE = ("complete", "reset", "halt")


def is_directive(x: object) -> bool:
    """Whether this is a directive: a `Directive` or any mapping, the empty one included (D-59)."""
    return isinstance(x, Directive | Mapping)


def members_of(directive: Directive | Wire) -> dict[str, Any]:
    """The set members by wire name, in the order of D-49, with the values as they came; unknown members are left out.

    Raises `TypeError` for what is no directive.
    """
    given = _named(directive)
    return {name: given[name] for name in MEMBERS if name in given and _is_set(name, given[name])} if given else {}


def _named(directive: Any) -> dict[str, Any]:
    if isinstance(directive, Directive):
        return {wire: value for name, wire in _WIRE_NAMES.items() if (value := getattr(directive, name)) is not None}
    if is_object(directive):
        return named(directive, MEMBERS)
    raise TypeError(f"a directive is a Directive or a mapping, and this is {show(directive)}")


def _is_set(name: str, value: Any) -> bool:
    if name in _UNSET_WHEN_FALSE:
        return value is not None and value is not False
    return value is not None and not (name == "reply" and isinstance(value, str) and not value)


def _wired(name: str, value: Any) -> Any:
    """A member's value with wire names inside, taken whole: what has no meaning there stays (D-61)."""
    if name in OBJECT_FORMS and is_object(value):
        inside = named(value, OBJECT_FORMS[name])
        return {key: _whole(item) if key == "next" else copied(item) for key, item in inside.items()}
    return [*value] if name == "injectTools" and is_list(value) else copied(value)


def _whole(directive: Any) -> Any:
    if isinstance(directive, Directive):
        return directive.to_wire()
    if not is_object(directive):
        return copied(directive)
    return {name: _wired(name, value) for name, value in named(directive, MEMBERS).items()}
