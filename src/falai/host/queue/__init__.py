"""The work of a host on PostgreSQL, handed out among any number of processes by Procrastinate.

The ledger's tables are the truth. A job says no more than "there may be something to do for this
place": `turn` plays its next input, `deliver` sends its messages. Jobs are made by triggers, in the
transaction of the row that asks for them; the jobs of a place and a kind have one lock, so they are
done one at a time. A turn that is played twice all the same, since a worker was thought dead, loses
at the commit. What is due later is no job yet: it waits in tables of ours.

    migrations  the triggers, and what is due later     installing  brings the tables up to date
    works       the transactions over them              lane        takes jobs, a bounded number at once
    worker      this process among the others: its heartbeat, and the jobs of those that died
    dispatching puts these together; `Queued` is what the engine has in place of its own lanes
    asking      what a turn said, for who asked in another process
    clock       one time for all of them: the database's
    capping     no tenant has more turns at a time than its share
    standing    how the queue stands, for people and tools

Procrastinate is used by its tables and its `JobManager`. Its own worker would be in the way: without
periodic tasks nobody notices that its heartbeat has ended, and one lost connection ends all it does.
"""

from __future__ import annotations
