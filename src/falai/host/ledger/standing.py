"""How much of every tenant and agent of a database waits: for whoever looks after it. Nothing here changes anything."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from falai.host.ledger.port import Row, Statement, Work

__all__ = ["Standing", "agents", "standings"]

# From one agent to the next: between them are all the timers that are not due, and all that is done.
_WITH_WAKES = "SELECT min(agent) FROM falai_wakes WHERE agent > ?"
_WITH_DEAD_INPUTS = "SELECT min(agent) FROM falai_inbox WHERE agent > ? AND state = 'dead'"
_WITH_DEAD_MESSAGES = "SELECT min(agent) FROM falai_outbox WHERE agent > ? AND state = 'dead'"
_INPUTS = """
    SELECT agent, tenant, count(*), min(received_at) FROM falai_inbox WHERE state = 'new' GROUP BY tenant, agent"""
_MESSAGES = "SELECT agent, tenant, count(*), min(due_at) FROM falai_outbox WHERE state = 'new' GROUP BY tenant, agent"
_DEAD_INPUTS = """
    SELECT agent, tenant, count(*) FROM falai_inbox WHERE agent = ? AND state = 'dead' GROUP BY agent, tenant"""
_DEAD_MESSAGES = """
    SELECT agent, tenant, count(*) FROM falai_outbox WHERE agent = ? AND state = 'dead' GROUP BY agent, tenant"""
_STARTS = "SELECT agent, tenant, count(*) FROM falai_starts GROUP BY tenant, agent"
_WAKES = "SELECT agent, tenant, count(*) FROM falai_wakes WHERE agent = ? AND due_at <= ? GROUP BY agent, tenant"


class Standing(Struct):
    """What waits of a tenant's agent; `oldest` is since when the oldest input does, `unsent` since when a message may go."""

    agent: str
    tenant: str
    inputs: int = 0
    oldest: int | None = None
    messages: int = 0
    unsent: int | None = None
    wakes_due: int = 0
    starts: int = 0
    dead: int = 0


def standings(*, now_ms: int) -> Work[tuple[Standing, ...]]:
    """Those of whom something waits, or is set aside. It costs as much as there is of it."""
    inputs, messages, starts = yield tuple(Statement(sql, ()) for sql in (_INPUTS, _MESSAGES, _STARTS))
    found: dict[tuple[str, str], Standing] = {}
    for row in inputs:
        of = _of(found, row)
        of.inputs, of.oldest = row[2], row[3]
    for row in messages:
        of = _of(found, row)
        of.messages, of.unsent = row[2], row[3]
    for row in starts:
        _of(found, row).starts = row[2]
    for agent in (yield from agents()):
        dead_inputs, dead_messages = yield (Statement(_DEAD_INPUTS, (agent,)), Statement(_DEAD_MESSAGES, (agent,)))
        for row in (*dead_inputs, *dead_messages):
            _of(found, row).dead += row[2]
    for agent in (yield from _agents(_WITH_WAKES)):
        for row in (yield (Statement(_WAKES, (agent, now_ms)),))[0]:
            _of(found, row).wakes_due = row[2]
    return tuple(found[key] for key in sorted(found))


def agents() -> Work[tuple[str, ...]]:
    """The agents of whom something is set aside."""
    inputs, messages = (yield from _agents(_WITH_DEAD_INPUTS)), (yield from _agents(_WITH_DEAD_MESSAGES))
    return tuple(sorted({*inputs, *messages}))


def _agents(after: str) -> Work[Sequence[str]]:
    found: list[str] = []
    while (agent := (yield (Statement(after, (found[-1] if found else "",)),))[0][0][0]) is not None:
        found.append(agent)
    return found


def _of(found: dict[tuple[str, str], Standing], row: Row) -> Standing:
    return found.setdefault((row[0], row[1]), Standing(row[0], row[1]))
