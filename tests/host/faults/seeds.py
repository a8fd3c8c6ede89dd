"""One seed from its first life to the verdict, or many: `python -m host.faults.seeds 17` in `tests/` repeats one.

    python -m host.faults.seeds [--processes] FIRST [LAST]

With `--processes` each life is a process of its own, which SIGKILL ends; without, all of it plays in
this process, in the same way each time. What speaks against a promise is printed; the exit code is 1 then.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from falai.testing import Clock
from host.faults.death import Death, Rewrite
from host.faults.desk import Desk
from host.faults.life import Life, live
from host.faults.script import draw_script
from host.faults.verdict import judge
from host.faults.world import World
from strategies import Dice

__all__ = ["play"]

_LIVES = 6
_POINTS = 250
_LONGEST_S = 300
_STATEMENTS = 5  # so many points within transactions come to one between them


def play(seed: int, folder: Path, *, processes: bool = False, rewrite: Rewrite | None = None) -> list[str]:
    """What speaks against the promises after this seed."""
    folder.mkdir(parents=True, exist_ok=True)
    dice = Dice(("deaths", seed))
    deaths: list[int | None] = [dice.number(1, _POINTS) for _ in range(dice.number(1, _LIVES))]
    for number, after in enumerate([*deaths, None]):
        between = dice.chance(0.5)
        point = after // _STATEMENTS + 1 if after and between else after
        life = Life(seed, number, folder, point, between, processes, rewrite)
        if _lived(life, dice) if processes else live(life):
            break
    else:
        return ["the last life did not come to its end"]
    world = World(folder / "world.jsonl", durable=False)
    desk = Desk(world, Death(None, real=False), dice, Clock())
    with closing(sqlite3.connect(folder / "host.db")) as db:
        found = judge(partial(_rows, db), world, draw_script(Dice(("script", seed))), desk.agent)
    world.close()
    return found


def _rows(db: sqlite3.Connection, sql: str) -> list[dict[str, Any]]:
    cursor = db.execute(sql)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def _lived(life: Life, dice: Dice) -> bool:
    """A life in a process of its own; some end at a moment that nobody has chosen."""
    child = os.fork()
    if child == 0:
        _child(life)
    if life.after is not None and dice.chance(0.25):
        time.sleep(dice.number(0, 100) / 1000)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if status:
        raise RuntimeError(f"seed {life.seed}, life {life.number} ended by itself")
    return True


def _child(life: Life) -> None:
    """It never goes on with its parent's work, whatever happens."""
    signal.alarm(_LONGEST_S)
    code = 1
    try:
        live(life)
        code = 0
    except BaseException:  # noqa: BLE001  # whatever it is, it is told
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        traceback.print_exc()
    finally:
        os._exit(code)


def _warm_up() -> None:
    """Everything is imported before the first process forks off: each life runs the same code, and begins at once."""
    with tempfile.TemporaryDirectory() as folder:
        play(0, Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description="Faults of a host, by seed.")
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, nargs="?")
    parser.add_argument("--processes", action="store_true")
    asked = parser.parse_args()
    if asked.processes:
        _warm_up()
    bad = 0
    for seed in range(asked.first, (asked.last or asked.first) + 1):
        with tempfile.TemporaryDirectory(prefix="falai-faults-") as folder:
            try:
                found = play(seed, Path(folder), processes=asked.processes)
            except Exception:  # noqa: BLE001  # the other seeds go on
                found = [traceback.format_exc()]
        bad += bool(found)
        for what in found:
            print(f"seed {seed}: {what}", flush=True)  # noqa: T201
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
