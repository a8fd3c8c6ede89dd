"""Faults that are planted in workers that share a database, to see that a storm finds them.

Some are of a ledger's works, as with one host; others are statements of SQL over the queue's own tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from falai.host.ledger.port import Statement, Work
from host.faults.death import Rewrite
from host.faults.plants import PLANTS

__all__ = ["NAMES", "REWRITES", "SCRIPTS"]

_NO_LOCK = """
    CREATE OR REPLACE FUNCTION falai_lock(what TEXT, tenant TEXT, agent TEXT, session TEXT) RETURNS TEXT
    LANGUAGE sql VOLATILE AS $$ SELECT gen_random_uuid()::TEXT $$"""
_NO_REAPER = """
    CREATE FUNCTION never_again() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
    CREATE TRIGGER never_again BEFORE UPDATE OF status ON procrastinate_jobs
        FOR EACH ROW WHEN (OLD.status = 'doing' AND NEW.status = 'todo') EXECUTE FUNCTION never_again()"""
_NO_JOB = "ALTER TABLE falai_inbox DISABLE TRIGGER falai_input_came"


def _unlike(rewrite: Rewrite, before: str, after: str) -> Rewrite:
    """Other words in every statement, behind those of another fault."""

    def both(work: Work[Any]) -> Work[Any]:
        try:
            step = next(inner := rewrite(work))
            while True:
                step = inner.send((yield [_with(statement, before, after) for statement in step]))
        except StopIteration as end:
            return end.value

    return both


def _with(statement: Statement, before: str, after: str) -> Statement:
    return statement._replace(sql=statement.sql.replace(before, after))


def _no_comparing() -> Rewrite:
    """A turn is kept, whatever another one has kept meanwhile."""
    same: Rewrite = _unlike(lambda work: work, "revision = ? AND epoch = ? RETURNING", "? >= 0 AND ? >= 0 RETURNING")
    same = _unlike(same, "AND revision = ?\n", "AND ? >= 0\n")
    return _unlike(same, "AND key = ? AND state = 'new' AND received_at = ?", "AND key = ? AND received_at = ?")


REWRITES: Final[Mapping[str, Callable[[], Rewrite]]] = {
    "neither locks nor a comparison": _no_comparing,
    **{
        name: PLANTS[name]
        for name in (
            "an input that is played is not settled", "what was sent is forgotten", "a due timer is only deleted",
            "no journal", "claims are not shared", "a failure takes the input out of the way",
        )
    },
}  # fmt: skip
"""Of the works."""

SCRIPTS: Final[Mapping[str, str]] = {
    "neither locks nor a comparison": _NO_LOCK,
    "nobody frees the jobs of the dead": _NO_REAPER,
    "no job for an input": _NO_JOB,
}
"""Of the tables."""

NAMES: Final = (*dict.fromkeys([*SCRIPTS, *REWRITES]),)
