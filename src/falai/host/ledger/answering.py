"""What a message came to, long after its turn: how far it is, and what was said for it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from falai.host.ledger.port import Place, Statement, Work

__all__ = ["Answer", "SaidRow", "answer_to"]

_STATE = "SELECT state FROM falai_inbox WHERE tenant = ? AND agent = ? AND session = ? AND key = ?"
# The line of the message itself has the revision of its turn; it is among the newest when somebody asks.
_SAID = """
    SELECT t.id, t.text, t.at, o.after_ms, o.body
    FROM falai_transcript t JOIN falai_outbox o
        ON o.tenant = t.tenant AND o.agent = t.agent AND o.session = t.session AND o.revision = t.revision
            AND o.key = t.id
    WHERE t.tenant = ? AND t.agent = ? AND t.session = ? AND t.role = 'assistant' AND t.unsent = 0
        AND t.revision = (
            SELECT revision FROM falai_transcript
            WHERE tenant = ? AND agent = ? AND session = ? AND role IN ('user', 'note') AND id = ?
            ORDER BY revision DESC, position DESC LIMIT 1)
    ORDER BY t.position"""


class SaidRow(Struct, frozen=True):
    """What the customer was told in one message: `id` is its idempotency key, `body` the first piece as it goes out,
    `after_ms` the pause before it."""

    id: str
    text: str
    at: int
    after_ms: int
    body: str


class Answer(Struct, frozen=True):
    """How far a message is (`None`: nothing is known of it), and what its turn said, as long as that is kept."""

    state: Literal["new", "done", "dead"] | None
    said: tuple[SaidRow, ...] = ()


def answer_to(place: Place, message_id: str) -> Work[Answer]:
    """What became of the message of this id. What was withheld was not said."""
    who = (place.tenant, place.agent, place.session)
    states, said = yield (
        Statement(_STATE, (*who, f"message:{message_id}")),
        Statement(_SAID, (*who, *who, message_id)),
    )
    return Answer(states[0][0] if states else None, tuple(SaidRow(*row) for row in said))
