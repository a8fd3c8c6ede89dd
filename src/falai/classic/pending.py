"""A redirect from outside a turn: kept with the session, used up by its next turn (D-68)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from falai.classic.directive import BEFORE_MODEL, is_directive, members_of
from falai.classic.flows import ClassicFlow, ids_of
from falai.classic.merging import merge
from falai.classic.sessions import OWN, ClassicSession, copied_session, own_state
from falai.classic.validating import validate
from falai.flow.places import is_object
from falai.log import line
from falai.session.jsontext import show, to_plain

__all__ = ["pending_of", "with_pending"]

_LOG: Final = logging.getLogger(__name__)


def pending_of(target: object, flows: Sequence[ClassicFlow]) -> dict[str, Any]:
    """The directive in wire form. Raises `TypeError` for what is none, FlowConfigurationError for a wrong one."""
    given: Any = {"goTo": target} if isinstance(target, str) else target
    if not is_directive(given):
        raise TypeError(f"target: {show(given)} was given, a flow's id or title or a directive is expected")
    validate(given)
    members = members_of(given)
    go_to = members.get("goTo")
    flow = go_to.get("flow") if is_object(go_to) else go_to
    if flow is not None:
        ids_of([flow], flows, "dispatch")
    if dropped := [name for name in BEFORE_MODEL if name in members]:
        words = "dispatch: %s has no meaning between turns and is dropped"
        _LOG.warning(words, ", ".join(dropped), extra=line("dispatch.dropped", members=dropped))
    wire = merge({}, given).to_wire()
    return {name: to_plain(value, name) for name, value in wire.items() if name not in BEFORE_MODEL}


def with_pending(session: ClassicSession, directive: Mapping[str, Any]) -> ClassicSession:
    """A copy of the session that waits for its next turn with this directive."""
    fresh = copied_session(session)
    fresh.metadata[OWN] = {**own_state(fresh), "pendingDirective": directive}
    return fresh
