"""A worker of a storm: a process with a host, which may be killed at any moment, from without or between two statements."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from falai.host import Keep, Settings
from falai.host.queue.clock import DatabaseClock
from falai.session.dates import system_now
from host.faults.death import Death, MortalHost, MortalPostgres, Rewrite
from host.faults.desk import Desk, Pace
from host.faults.world import World
from host.queue.storms.plants import REWRITES
from strategies import Dice

__all__ = ["CALM", "PACE", "Role", "host_of", "settings_of", "work"]

CALM: Final = "calm"
"""A file of this name in the folder of a storm: nothing fails any more."""

PACE: Final = Pace(wait="1s", silence="2s", call_s=(0, 0.02, 0.2), model_ms=900, channel_ms=700)
_FOREVER: Final = Keep(inputs="forever", messages="forever", transcript="forever", log="forever", dead="forever")
_LONGEST_S: Final = 900
_LOOK_S: Final = 0.05


@dataclass(frozen=True)
class Role:
    """The `number`-th process of a seed. It dies at the `after`-th point, or lives on; its clock is wrong by `skew_ms`."""

    seed: int
    number: int
    url: str
    folder: Path
    after: int | None = None
    skew_ms: int = 0
    changed: bool = False
    plant: str = ""


def work(role: Role) -> None:
    """Works until SIGTERM; it never outlives what started it for long."""
    signal.alarm(_LONGEST_S)
    logging.disable(logging.CRITICAL)
    asyncio.run(_work(role))


async def _work(role: Role) -> None:
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    death = Death(role.after, real=True, between=role.number % 2 == 0)
    world = World(role.folder / "world.jsonl", durable=False)
    desk = desk_of(role, death, world)
    while not ended.is_set():
        try:
            async with host_of(role, desk):
                await _until(ended, role.folder / CALM, desk)
        except Exception:  # noqa: BLE001  # the server is down: whoever runs a worker starts it again
            if ended.is_set():
                return
            await asyncio.sleep(_LOOK_S)


async def _until(ended: asyncio.Event, calm: Path, desk: Desk) -> None:
    while not ended.is_set():
        if calm.exists():
            desk.faults = False
            desk.death.spare()
        await asyncio.sleep(_LOOK_S)


def desk_of(role: Role, death: Death, world: World) -> Desk:
    """What the worker hosts, with a clock that is wrong until it is set by the database's."""
    clock = DatabaseClock(_skewed(role.skew_ms))
    return Desk(world, death, Dice(("life", role.seed, role.number)), clock, PACE, changed=role.changed)


def host_of(role: Role, desk: Desk) -> MortalHost:
    rewrite: Rewrite | None = REWRITES[role.plant]() if role.plant in REWRITES else None
    host = MortalHost(
        desk.agent,
        MortalPostgres(role.url, desk.death, rewrite),
        channel=desk.channel,
        context=desk.context,
        settings=settings_of(role.seed),
        clock=desk.agent.clock,
    )
    host.death = desk.death
    return host


def settings_of(seed: int) -> Settings:
    """All processes of a seed have the same."""
    pauses = ("0.1s", "0.2s", "0.5s", "1s")
    return Settings(
        burst="0s" if Dice(("settings", seed)).chance(0.6) else "0.4s",
        at_once=8,
        turn_limit="3s",
        send_limit="2s",
        max_late="1d",
        retries=pauses,
        send_retries=pauses,
        grace="1s",
        keep=_FOREVER,
    )


def _skewed(ms: int) -> Callable[[], datetime]:
    skew = timedelta(milliseconds=ms)
    return lambda: system_now() + skew
