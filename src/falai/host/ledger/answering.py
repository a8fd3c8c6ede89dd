"""What a message came to, long after its turn: how far it is, and what was said for it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from falai.host.ledger.port import Place, SaidRow, Statement, Work
from falai.host.ledger.said import said_by_turn

__all__ = ["Answer", "answer_to"]

_STATE = "SELECT state FROM falai_inbox WHERE tenant = ? AND agent = ? AND session = ? AND key = ?"
# The line of the message itself has the revision of its turn; it is among the newest when somebody asks.
_TURN = """
    SELECT revision FROM falai_transcript
    WHERE tenant = ? AND agent = ? AND session = ? AND role IN ('user', 'note') AND id = ?
    ORDER BY revision DESC, position DESC LIMIT 1"""


class Answer(Struct, frozen=True):
    """How far a message is (`None`: nothing is known of it), and what its turn said, as long as that is kept."""

    state: Literal["new", "done", "dead"] | None
    said: tuple[SaidRow, ...] = ()


def answer_to(place: Place, message_id: str) -> Work[Answer]:
    """What became of the message of this id. What was withheld was not said."""
    who = (place.tenant, place.agent, place.session)
    states, turns = yield (
        Statement(_STATE, (*who, f"message:{message_id}")),
        Statement(_TURN, (*who, message_id)),
    )
    said = (yield from said_by_turn(place, turns[0][0])) if turns else ()
    return Answer(states[0][0] if states else None, said)
