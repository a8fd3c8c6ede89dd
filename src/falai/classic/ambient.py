"""The agent's context: what a turn is given of it, and what a turn that has succeeded leaves in it (D-24).

It belongs to the agent and not to a session, so turns of other sessions may write it meanwhile: what
comes back is what this turn has changed, key by key.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from falai.classic.hooks import settled
from falai.flow.places import is_object

__all__ = ["Ambient", "Loaded"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The context of one turn: `context` is the turn's own, which it writes."""

    context: Any
    ambient: Any
    """What there was without the turn's override."""
    shown: Mapping[str, Any]
    """`context` as it was at first."""
    stored: Mapping[str, Any]
    """The agent's context as it was at first, before its hook."""


class Ambient:
    """What lasts of the context between turns: the stored one, or the function that loads it for each."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self._stored: Any = options.get("context")
        self._provider: Any = options.get("contextProvider")
        self._before_respond: Any = options.get("hooks", {}).get("beforeRespond")

    async def loaded(self, override: Mapping[str, Any]) -> Loaded:
        """The context for a turn. Raises what the author's functions raise, and `TypeError` for an override of no mapping."""
        stored = dict(self._stored) if is_object(self._stored) else {}
        ambient = self._stored if self._provider is None else await settled(self._provider())
        if ambient is not None and self._before_respond is not None:
            ambient = await settled(self._before_respond(ambient))
        context = _laid_over(ambient, override)
        return Loaded(context, ambient, dict(context) if is_object(context) else {}, stored)

    def keep(self, loaded: Loaded) -> None:
        """Stores what a turn has written; what a provider loads is the host's to keep."""
        if self._provider is None:
            self._stored = _brought_over(self._stored, loaded.stored, _written(loaded))


def _laid_over(context: Any, override: Mapping[str, Any]) -> Any:
    """The context of one turn, fresh when it is a mapping, so that a turn that fails leaves no trace."""
    if context is None or is_object(context):
        own: Mapping[str, Any] = context or {}
        return {**own, **override}
    if override:
        raise TypeError(f"contextOverride is laid over a mapping, and the context is a {type(context).__name__}")
    return context


def _written(loaded: Loaded) -> Any:
    """The agent's context with what the turn has written; the override is not kept."""
    if not is_object(loaded.context):
        return loaded.ambient
    patch = _changed(loaded.shown, loaded.context)
    kept: Mapping[str, Any] = loaded.ambient or {}
    return {**kept, **patch} if patch else loaded.ambient


def _brought_over(now: Any, before: Mapping[str, Any], after: Any) -> Any:
    """What is stored now, with what a turn made of what was stored before."""
    if not is_object(now) or not is_object(after):
        return after
    kept = {key: value for key, value in now.items() if key in after or key not in before}
    return {**kept, **_changed(before, after)}


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in after.items() if key not in before or before[key] is not value}
