"""The emissions of a phase become one directive: merged once, its writes first, then its position (D-56, D-63, D-64).

What a directive does before the model has spoken it leaves for the speaker (`state.left`); what it says
after that replaces what was said.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from msgspec.structs import replace

from falai.classic.directive import BEFORE_MODEL, POSITIONS, Directive, members_of
from falai.classic.merging import merge
from falai.classic.named import snake_name
from falai.classic.positions import apply_position
from falai.classic.state import Emission, TurnState
from falai.classic.writing import write
from falai.log import line
from falai.session.keys import idle_key
from falai.session.model import Run

__all__ = ["Merged", "act_on", "keep", "merged", "say_instead", "without"]

_LOG: Final = logging.getLogger(__name__)

_LEFT: Final = ("reply", *BEFORE_MODEL)


@dataclass(frozen=True, slots=True)
class Merged:
    """What the emissions of a phase come to. `position` is behind the one who emitted the position that won."""

    members: dict[str, Any]
    position: Emission | None
    emissions: Sequence[Emission]

    @property
    def left(self) -> Directive:
        """What is for the speaker."""
        return _only(self.members, _LEFT)

    def emitters(self, *names: str) -> tuple[str, ...]:
        """Who emitted one of these members, in order."""
        by = [e.emitter for e in self.emissions if not members_of(e.directive).keys().isdisjoint(names)]
        return tuple(dict.fromkeys(by))


def merged(emissions: Sequence[Emission]) -> Merged:
    """The emissions as one (D-61, D-63)."""
    directive = reduce(merge, (emission.directive for emission in emissions), Directive())
    members = members_of(directive)
    name = next((name for name in POSITIONS if name in members), None)
    if name is None:
        return Merged(members, None, emissions)
    emitter = next(e.emitter for e in reversed(emissions) if name in members_of(e.directive))
    return Merged(members, Emission(emitter, _only(members, (name,))), emissions)


async def act_on(state: TurnState, found: Merged, run: Run | None) -> bool:
    """Writes, keeps what is for the speaker, and applies the position; says whether there was one."""
    await write(state, found.members, found.emitters("dataUpdate"))
    keep(state, found)
    if found.position is None:
        return False
    await apply_position(state, found.position, run)
    return True


def keep(state: TurnState, found: Merged) -> None:
    """Leaves for the speaker what is meant for it; when it has spoken already, the reply replaces what it said."""
    if state.utterance is None:
        state.left = merge(state.left, found.left)
        return
    without(found, BEFORE_MODEL)
    if (reply := found.members.get("reply")) and "aborted" not in state.marks:  # nothing is said then (D-54)
        say_instead(state, reply)


def without(found: Merged, names: Iterable[str]) -> None:
    """A WARNING for members that come too late to count (D-64)."""
    dropped = [name for name in names if name in found.members]
    if dropped:
        _LOG.warning(
            "%s after the model has spoken has no meaning and is dropped; emitted by %s",
            ", ".join(dropped), ", ".join(found.emitters(*dropped)),
            extra=line("directive.dropped", members=dropped),
        )  # fmt: skip


def say_instead(state: TurnState, text: str) -> None:
    """The text takes the place of what was said; with nothing said, it is said."""
    turn = state.turn
    state.marks.add("reply")
    for place in reversed(range(len(turn.messages))):
        if turn.messages[place].key == state.utterance:
            turn.messages[place] = replace(turn.messages[place], text=text, kind="verbatim")
            return
    turn.send(text, "verbatim", state.utterance or idle_key(turn.trigger_key))


def _only(members: dict[str, Any], names: Iterable[str]) -> Directive:
    return Directive(**{snake_name(name): members[name] for name in names if name in members})
