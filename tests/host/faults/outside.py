"""What customers and people of the team do to a host, by the steps of a script; the world's lines tell of people."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from falai import Event, Message, Start
from falai.host import Host
from host.faults.script import Kind, Step
from host.faults.world import World

__all__ = ["CUSTOMER", "PEOPLE", "do"]

CUSTOMER = "c"
PEOPLE: Final[frozenset[Kind]] = frozenset(
    {"message", "again", "twice", "quick", "booked", "paid", "start", "takeover", "hold", "release", "person"}
)
"""The steps that somebody takes; the others are nature's."""


async def do(host: Host[Any], world: World, step: Step) -> None:
    """Takes a step of `PEOPLE`. Done again after a failure, it is the same: its inputs have the same keys."""
    session, name = step.session, step.name
    match step.kind:
        case "twice":
            await asyncio.gather(_says(host, session, name), _says(host, session, name))
        case "quick":
            await _says(host, session, name)
            await asyncio.sleep(0.02)
            await _says(host, session, f"{name}b")
        case "booked" | "paid":
            await host.receive(session, Event(step.kind, name, {"n": name}), customer=CUSTOMER)
        case "start":
            await host.receive(session, Start("remind", name, {"n": name}), customer=CUSTOMER)
        case "takeover":
            await _says(host, session, name)
            await asyncio.sleep(step.ms / 1000)
            await _person(host, world, step)
        case "hold" | "release" | "person":
            await _person(host, world, step)
        case _:
            await _says(host, session, name)


async def _says(host: Host[Any], session: str, name: str) -> None:
    await host.receive(session, Message(name, id=name), customer=CUSTOMER)


async def _person(host: Host[Any], world: World, step: Step) -> None:
    match step.kind:
        case "release":
            world.write("releasing", session=step.session)
            await host.release(step.session)
        case "person":
            await host.human_message(step.session, f"person {step.name}", id=step.name, by="Eva")
            world.write("held", session=step.session)
        case _:
            await host.hold(step.session, "a person looks at it", skip=step.pause_ms > 0)
            world.write("held", session=step.session)
