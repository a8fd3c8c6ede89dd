"""Faults that are planted in workers that share a database, to see that a storm finds them.

Some are of a ledger's works, as with one host; others are statements of SQL over the queue's own tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from host.faults.death import Rewrite
from host.faults.plants import PLANTS, left_out

__all__ = ["FOUND_BY", "NAMES", "NO_END", "QUICKLY_FOUND", "REWRITES", "SCRIPTS"]

_NO_REAPER = """
    CREATE FUNCTION never_again() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
    CREATE TRIGGER never_again BEFORE UPDATE OF status ON procrastinate_jobs
        FOR EACH ROW WHEN (OLD.status = 'doing' AND NEW.status = 'todo') EXECUTE FUNCTION never_again()"""
_LATE_REAPER = """
    CREATE FUNCTION later() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN
        NEW.scheduled_at = now() + INTERVAL '40 s'; RETURN NEW; END $$;
    CREATE TRIGGER later BEFORE UPDATE OF status ON procrastinate_jobs
        FOR EACH ROW WHEN (OLD.status = 'doing' AND NEW.status = 'todo') EXECUTE FUNCTION later()"""
_NO_TURN = "ALTER TABLE falai_inbox DISABLE TRIGGER falai_input_came"
_NO_SENDING = "ALTER TABLE falai_outbox DISABLE TRIGGER falai_message_came"

QUICKLY_FOUND: Final = ("an input that is played is not settled", "a due timer is only deleted", "no journal")

REWRITES: Final[Mapping[str, Callable[[], Rewrite]]] = {
    **{name: PLANTS[name] for name in QUICKLY_FOUND},
    "what was sent is forgotten": PLANTS["what was sent is forgotten"],
    "a failure takes the input out of the way": PLANTS["a failure takes the input out of the way"],
    "the gate is not judged at the commit": PLANTS["the gate is not judged at the commit"],
    "what is to be done later is forgotten": lambda: left_out("SELECT falai_look_at("),
}
"""Of the works, in the workers."""

SCRIPTS: Final[Mapping[str, str]] = {
    "nobody frees the jobs of the dead": _NO_REAPER,
    "the jobs of the dead are freed too late": _LATE_REAPER,
    "no job for an input": _NO_TURN,
    "no job for a message": _NO_SENDING,
}
"""Of the tables."""

NO_END: Final = "it came to no end"
"""What a storm says when something is left for ever; a host looks for what was lost each minute, a storm ends before."""

FOUND_BY: Final[Mapping[str, Sequence[str]]] = {
    "an input that is played is not settled": ["nothing_is_played_twice", NO_END],
    "a due timer is only deleted": ["timers"],
    "no journal": ["actions_see_the_same", "tools_see_the_same", "nothing_is_answered_twice"],
    "what was sent is forgotten": [NO_END],
    "a failure takes the input out of the way": ["nothing_is_played_twice"],
    "the gate is not judged at the commit": ["a_person_is_not_interrupted"],
    "what is to be done later is forgotten": [NO_END],
    "nobody frees the jobs of the dead": ["goes_on"],
    "the jobs of the dead are freed too late": ["goes_on"],
    "no job for an input": [NO_END],
    "no job for a message": [NO_END],
}
"""The promises that they break."""

NAMES: Final = (*REWRITES, *SCRIPTS)
