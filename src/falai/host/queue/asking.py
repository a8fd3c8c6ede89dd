"""What a turn said, for those who asked in another process: kept with the commit, and looked for while somebody waits.

A row says that somebody asks; without one, a turn tells nobody. Who sits in the process that plays the
turn hears of it at once (`Waiters`), and so does not look at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from falai.host.ledger.port import Job, Place, Statement, Step, Work
from falai.session.jsontext import json_text
from falai.turn.result import OutMessage

__all__ = ["Heard", "ask", "forget_old", "look_for_answers", "tell"]

_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(tuple[OutMessage, ...])

_ASK = """
    INSERT INTO falai_asked (tenant, agent, session, key) VALUES (?, ?, ?, ?)
    ON CONFLICT (tenant, agent, session, key) DO NOTHING"""
_TELL = """
    UPDATE falai_asked SET answer = ? WHERE tenant = ? AND agent = ? AND session = ? AND key = ? AND answer IS NULL"""
_LOOK = """
    SELECT i.state, i.error, a.answer FROM falai_inbox i LEFT JOIN falai_asked a
        ON a.tenant = i.tenant AND a.agent = i.agent AND a.session = i.session AND a.key = i.key
    WHERE i.tenant = ? AND i.agent = ? AND i.session = ? AND i.key = ? AND i.state <> 'new'"""
_FORGET = "DELETE FROM falai_asked WHERE asked_at < now() - INTERVAL '1 hour'"

Asked = tuple[Place, str]


class Heard(NamedTuple):
    """What became of an input: what its turn said, or why it was set aside."""

    asked: Asked
    messages: tuple[OutMessage, ...] = ()
    refused: str | None = None


def ask(place: Place, key: str) -> Work[None]:
    """Somebody wants to hear what the turn of this input says, which has not been taken in yet."""
    yield (Statement(_ASK, (place.tenant, place.agent, place.session, key)),)


def tell(job: Job, messages: Sequence[OutMessage]) -> Work[None]:
    """The inputs of this job have had their turn, in this transaction."""
    text, place = _text(messages), job.place
    who = (place.tenant, place.agent, place.session)
    yield tuple(Statement(_TELL, (text, *who, row.key)) for row in job.inputs)


def look_for_answers(asked: Sequence[Asked]) -> Work[Sequence[Heard]]:
    """Which of these have had their turn, or were set aside."""
    step: Step = [Statement(_LOOK, (place.tenant, place.agent, place.session, key)) for place, key in asked]
    found = yield step
    return list(_heard(asked, found))


def forget_old() -> Work[None]:
    """Nobody waits for so long."""
    yield (Statement(_FORGET, ()),)


def _heard(asked: Sequence[Asked], found: Sequence[Sequence[Any]]) -> Iterable[Heard]:
    for one, rows in zip(asked, found, strict=True):
        for state, error, answer in rows:
            if state == "dead":
                yield Heard(one, refused=error or "")
            else:
                yield Heard(one, () if answer is None else _DECODER.decode(answer))


def _text(messages: Sequence[OutMessage]) -> str:
    try:
        return _ENCODER.encode(messages).decode()
    except ValueError:  # a lone surrogate in what was said
        return json_text(msgspec.to_builtins(messages))
