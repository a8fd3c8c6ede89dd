"""Faults that are planted in a ledger's works, to see that the verdict finds them.

Each is a host that someone could have written: it forgets a condition, a row, or the transaction around its
statements. A plant changes the statements on their way to the database, or the rows on their way back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any, Final

from falai.host.ledger.port import Row, Statement, Work
from host.faults.death import Rewrite

__all__ = ["PLANTS", "left_out"]

Rows = Sequence[Row]
Plant = Callable[[Statement], Statement | Rows]
"""What is carried out instead; or the rows that the work is given, and nothing is carried out."""


def _planted(plant: Plant) -> Rewrite:
    """Works whose statements go through the plant."""

    def rewrite(work: Work[Any]) -> Work[Any]:
        try:
            step = next(work)
            while True:
                found = list[Rows]()
                for statement in step:
                    planted = plant(statement)
                    if isinstance(planted, Statement):
                        found += yield (planted,)
                    else:
                        found.append(planted)
                step = work.send(found)
        except StopIteration as end:
            return end.value

    return rewrite


def _words(before: str, after: str, *, within: str) -> Rewrite:
    """Other words in the statements that have `within`."""

    def plant(statement: Statement) -> Statement:
        if within in statement.sql and before in statement.sql:
            return statement._replace(sql=statement.sql.replace(before, after))
        return statement

    return _planted(plant)


def left_out(within: str, rows: Rows = ()) -> Rewrite:
    """No statements that have `within`; the work is told that they gave these rows."""
    return _planted(lambda statement: rows if within in statement.sql else statement)


def _forgetful() -> Rewrite:
    """A key that comes again is another one."""
    seen, numbers = set[str](), count()

    def plant(statement: Statement) -> Statement:
        if "INSERT INTO falai_inbox" not in statement.sql or statement.many:
            return statement
        tenant, agent, session, key, kind, body, *rest = statement.params
        if key not in seen:
            seen.add(key)
            return statement
        number = f"again{next(numbers)}"
        fresh = body.replace('"id":"', f'"id":"{number}')
        return statement._replace(params=(tenant, agent, session, key + number, kind, fresh, *rest))

    return _planted(plant)


def _piecemeal(work: Work[Any]) -> Work[Any]:
    """Each statement is kept at once: the transaction ends behind it, and another begins."""
    try:
        step = next(work)
        while True:
            found = list[Rows]()
            for statement in step:
                found += yield (statement,)
                yield (Statement("COMMIT", ()),)
                yield (Statement("BEGIN IMMEDIATE", ()),)
            step = work.send(found)
    except StopIteration as end:
        return end.value


PLANTS: Final[Mapping[str, Callable[[], Rewrite]]] = {
    "a key that comes again is taken for a new one": _forgetful,
    "a transaction that is none": lambda: _piecemeal,
    "an input that is played is not settled": lambda: _words("state = 'done'", "state = state", within="UPDATE falai_inbox"),
    "a failure takes the input out of the way": lambda: _words(
        "SET attempts = attempts + 1", "SET state = 'done', lead = key", within="UPDATE falai_inbox"
    ),
    "no journal": lambda: left_out("INSERT INTO falai_journal", [("understand",)]),
    "the gate is not judged at the commit": lambda: _words("epoch = ?", "? >= 0", within="UPDATE falai_sessions"),
    "a person takes over, and what was said still goes out": lambda: left_out("'withheld'"),
    "what was withheld stays in the transcript": lambda: left_out("SET unsent = 1"),
    "the newest message first": lambda: _words("ORDER BY revision, position", "ORDER BY revision DESC, position DESC", within="falai_outbox"),
    "what was sent is forgotten": lambda: left_out("SET state = 'sent'", [("x",)]),
    "what failed to be sent is dropped": lambda: _words(
        "SET attempts = attempts + 1", "SET state = 'sent'", within="UPDATE falai_outbox"
    ),
    "a due timer is only deleted": lambda: left_out("'wake'"),
    "timers are not set": lambda: left_out("INSERT INTO falai_wakes"),
    "claims are not shared": lambda: left_out("INSERT INTO falai_claims", [("x",)]),
}  # fmt: skip
