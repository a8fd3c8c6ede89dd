"""What happens to a host, drawn from a seed: what customers and people do, what the clock and the disk do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from strategies import Dice

__all__ = ["SESSIONS", "WEIGHTS", "Kind", "Step", "draw_script"]

SESSIONS = ("s1", "s2")
Kind = Literal[
    "message", "again", "twice", "quick", "takeover", "booked", "paid", "start", "hold", "release", "person", "clock",
    "disk", "wait", "restart", "kill", "backend", "terminate", "server", "cut", "dark", "frozen", "deploy",
]  # fmt: skip
WEIGHTS: Mapping[Kind, float] = {
    "message": 8, "again": 3, "twice": 2, "quick": 2, "takeover": 2, "booked": 2, "paid": 2, "start": 1, "hold": 1,
    "release": 2, "person": 1, "clock": 2, "disk": 1, "wait": 3, "restart": 1,
}  # fmt: skip
_MINUTE = 60_000


@dataclass(frozen=True)
class Step:
    """One thing that happens, and how long nothing happens after it. A `takeover` is a hold `ms` after a message."""

    kind: Kind
    session: str
    name: str
    ms: int = 0
    pause_ms: int = 0


def draw_script(
    dice: Dice, weights: Mapping[Kind, float] = WEIGHTS, sessions: Sequence[str] = SESSIONS
) -> Sequence[Step]:
    """The steps of a seed. `again` names a message that came before."""
    steps: list[Step] = []
    for number in range(dice.number(6, 18)):
        kind, session = dice.weighted(weights), dice.pick(sessions)
        name = f"{session}n{number}"
        if kind == "again":
            known = [step for step in steps if step.kind in {"message", "twice", "quick", "takeover"}]
            if not known:
                continue
            session, name = (again := dice.pick(known)).session, again.name
        steps.append(Step(kind, session, name, _ms(dice, kind), dice.pick([0, 0, 0, 20, 300, 2000])))
    return steps


def _ms(dice: Dice, kind: Kind) -> int:
    match kind:
        case "clock":
            return dice.pick([-60, -1, 1, 31, 125, 3 * 24 * 60]) * _MINUTE + dice.number(0, 999)
        case "disk":
            return dice.number(0, 6)
        case "takeover":
            return dice.pick([0, 20, 60, 300])
        case "wait":
            return dice.pick([100, 1000, 5000])
        case "dark" | "frozen":
            return dice.pick([0, 300, 2000, 8000])
        case _:
            return 0
