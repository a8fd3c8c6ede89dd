"""Seeds of storms, some at a time: `python -m host.queue.storms.seeds 17` in `tests/` plays one.

    python -m host.queue.storms.seeds [--at-once 3] [--plant NAME] FIRST [LAST]

What speaks against a promise is printed; the exit code is 1 then. With a plant it is 0 as soon as a seed has
found it, by a promise that it breaks. A seed gives the script and the moments of most deaths; what the processes make of it is never the
same twice.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
import traceback
from pathlib import Path

from host.queue.storms.nature import Sturdy
from host.queue.storms.plants import FOUND_BY
from host.queue.storms.storm import storm

__all__ = ["play"]


async def play(seed: int, server: Sturdy, plant: str) -> list[str]:
    """What speaks against the promises after this seed."""
    with tempfile.TemporaryDirectory(prefix="falai-storm-") as folder:
        try:
            return await storm(seed, server, Path(folder) / "storm", plant)
        except Exception:  # noqa: BLE001  # the other seeds go on
            return [traceback.format_exc()]


async def _all(asked: argparse.Namespace, server: Sturdy) -> int:
    """How many seeds broke a promise. One that finds a planted fault is enough."""
    seeds, bad = iter(range(asked.first, (asked.last or asked.first) + 1)), 0
    counts = tuple(FOUND_BY.get(asked.plant, [""]))

    async def some() -> None:
        nonlocal bad
        for seed in seeds:
            if asked.plant and bad:
                return
            found = await play(seed, server, asked.plant)
            bad += any(what.startswith(counts) for what in found)
            for what in found:
                print(f"seed {seed}: {what}", flush=True)  # noqa: T201

    await asyncio.gather(*(some() for _ in range(asked.at_once)))
    return bad


def main() -> None:
    parser = argparse.ArgumentParser(description="Faults of hosts that share a database, by seed.")
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int, nargs="?")
    parser.add_argument("--at-once", type=int, default=3)
    parser.add_argument("--plant", default="")
    asked = parser.parse_args()
    logging.disable(logging.CRITICAL)
    server = Sturdy()
    try:
        server.prepare()
        server.start()
        bad = asyncio.run(_all(asked, server))
    finally:
        server.remove()
    sys.exit(bool(bad) != bool(asked.plant))


if __name__ == "__main__":
    main()
