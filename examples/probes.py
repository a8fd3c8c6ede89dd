"""Four probes of whatever hosts conversations: each is an hour of any business, and easy to get wrong.

    python examples/probes.py

1. A customer sends two messages 20 milliseconds apart.
2. A channel delivers one message several times, also at the same moment.
3. The model fails when it is to speak, and an action has already run.
4. A new version renames a step while a conversation waits in it.

Each runs on a real host with a file of SQLite, and needs no key and no network. The table says what has
to be, and what was; the exit code is 1 when they differ.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Collect,
    Do,
    Field,
    Flow,
    If,
    Message,
    OnAnyMessage,
    OnMessage,
    Prompt,
    ProviderError,
    Say,
    Wait,
    ok,
)
from falai.channel import Channel, Outgoing, Sent
from falai.flow import Action
from falai.host import Host
from falai.model import LexicalModel, ModelChunk, ModelReply, ModelRequest
from falai.testing import Clock

__all__ = ["PROBES", "Finding", "probe_all"]


@dataclass(frozen=True)
class Finding:
    """What has to be, and what was."""

    probe: str
    wanted: str
    found: str

    @property
    def good(self) -> bool:
        """Whether that is the same."""
        return self.wanted == self.found


# --- what stands outside -------------------------------------------------------------------------


@dataclass
class Business:
    """What reaches the customer, and what is booked."""

    said: list[str] = field(default_factory=list[str])
    booked: list[str] = field(default_factory=list[str])

    async def book(self, ctx: ActionContext[Any], what: str, day: str) -> ActionResult:  # noqa: ARG002  # an action has one
        """Book it."""
        self.booked.append(f"{what}, {day}")
        return ok("booked")

    @property
    def action(self) -> Action:
        """The booking as an action of flows."""
        return Action("book", self.book, parameters={"what": {"type": "string"}, "day": {"type": "string"}})


class Line(Channel):
    """The way to the customer."""

    name = "line"

    def __init__(self, business: Business) -> None:
        self._business = business

    async def send(self, out: Outgoing) -> Sent:
        """Writes down what was said."""
        self._business.said.append(out.text)
        return Sent()


class Slow:
    """A model that takes its time, as real ones do; `fails` times it fails when it is to speak."""

    name = "slow"

    def __init__(self, *, fails: int = 0) -> None:
        self._model = LexicalModel()
        self._fails = fails

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The lexical model's reply, a little later."""
        await asyncio.sleep(0.05)
        if request.schema_name == "speak" and self._fails:
            self._fails -= 1
            raise ProviderError("the provider is down", kind="overload")
        return await self._model.complete(request)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The same in one piece."""
        reply = await self.complete(request)
        yield ModelChunk(reply.message, reply.message, reply)


# --- the agents ----------------------------------------------------------------------------------

FIELDS = {
    "what": Field(
        Literal["haircut", "beard trim"], ask="Ask what they would like.", question="A haircut or a beard trim?"
    ),
    "day": Field(Literal["today", "tomorrow"], ask="Ask for the day.", question="Today or tomorrow?"),
}
WANTS = OnMessage("wants a haircut", "wants a beard trim", repeat="always")


def agent(business: Business, model: Slow, last: Say | Prompt, clock: Clock | None = None) -> Agent[Any]:
    """A barber's: finds out what and when, books it, and tells the customer."""
    return Agent(
        name="barber",
        model=model,
        clock=clock,
        fields=FIELDS,
        actions=[business.action],
        flows=[
            Flow(
                "booking",
                on=[WANTS],
                steps=[
                    Collect("ask", ["what", "day"]),
                    If("complete", {"known": ["what", "day"]}, else_="end"),
                    Do("book", "book", {"what": "{{data.what}}", "day": "{{data.day}}"}),
                    last,
                ],
            )
        ],
    )


def barber(business: Business) -> Agent[Any]:
    """Finds out what and when, books it, and says so."""
    return agent(business, Slow(), Say("done", "Booked: {{data.what}}, {{data.day}}."))


# --- the probes ----------------------------------------------------------------------------------


async def two_messages(file: Path) -> Finding:
    """Neither message is lost, and nothing is said twice: the second turn sees what the first has left."""
    business = Business()
    async with Host(barber(business), file, channel=Line(business)) as host:
        await host.receive("s1", Message("I want a haircut", id="m1"))
        await asyncio.sleep(0.02)
        await host.receive("s1", Message("tomorrow", id="m2"))
        await host.drained()
        look = await host.look("s1")
    heard = [] if look is None else [row.text for row in reversed(look.transcript) if row.role == "user"]
    return Finding(
        "two messages, 20 ms apart",
        "heard I want a haircut | tomorrow; booked haircut, tomorrow; said Today or tomorrow? | Booked: haircut, tomorrow.",
        f"heard {_list(heard)}; booked {_list(business.booked)}; said {_list(business.said)}",
    )


async def delivered_twice(file: Path) -> Finding:
    """Five deliveries, two of them after a restart: one turn, one booking, one answer."""
    business, text, new = Business(), "I want a haircut tomorrow", 0
    for deliveries in (3, 2):
        async with Host(barber(business), file, channel=Line(business)) as host:
            at_once = [host.receive("s1", Message(text, id="m1")) for _ in range(deliveries)]
            new += sum(received.new for received in await asyncio.gather(*at_once))
            await host.drained()
    return Finding(
        "one message, delivered 5 times",
        "taken in 1 time; booked haircut, tomorrow; said Booked: haircut, tomorrow.",
        f"taken in {new} time; booked {_list(business.booked)}; said {_list(business.said)}",
    )


async def speaking_fails(file: Path) -> Finding:
    """What was done stays done and is not done again; the words follow when the model is back."""
    business, clock = Business(), Clock()
    words = Prompt("tell", "Say that it is booked.")
    async with Host(agent(business, Slow(fails=1), words, clock), file, channel=Line(business)) as host:
        await host.receive("s1", Message("I want a haircut tomorrow", id="m1"))
        await host.drained()
        at_first = len(business.said)
        clock.advance("1m")
        await host.drained()
        dead = len(await host.dead())
    return Finding(
        "speaking fails, after an action ran",
        "booked haircut, tomorrow; said 0 at first, 1 a minute later; set aside 0",
        f"booked {_list(business.booked)}; said {at_first} at first, {len(business.said)} a minute later; set aside {dead}",
    )


async def step_renamed(file: Path) -> Finding:
    """What waited in a step that is gone ends and says so; its timer harms nobody, and the customer is answered."""
    business, clock = Business(), Clock()

    def release(step: str) -> Agent[Any]:
        greets = OnAnyMessage(repeat="always")
        talk = Flow("talk", on=[greets], steps=[Say("hello", "Hello."), Wait(step, "2h"), Say("again", "Still there?")])
        return Agent(name="barber", model="lexical", clock=clock, flows=[talk])

    async with Host(release("pause"), file, channel=Line(business)) as host:
        await host.receive("s1", Message("hi", id="m1"))
        await host.drained()
    clock.advance("2h")
    async with Host(release("rest"), file, channel=Line(business)) as host:
        await host.drained()
        await host.receive("s1", Message("hi again", id="m2"))
        await host.drained()
        look, dead = await host.look("s1"), len(await host.dead())
    told = look is not None and any("step-gone" in row.log for row in look.log)
    return Finding(
        "a step renamed, while a session waits in it",
        "said Hello. | Hello.; the log tells of it; set aside 0",
        f"said {_list(business.said)}; the log {'tells of it' if told else 'is silent'}; set aside {dead}",
    )


Probe = Callable[[Path], Awaitable[Finding]]
PROBES: Sequence[Probe] = (two_messages, delivered_twice, speaking_fails, step_renamed)


async def probe_all() -> list[Finding]:
    """Every probe on a file of its own, which is gone afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        return [await probe(Path(folder) / f"{number}.db") for number, probe in enumerate(PROBES)]


# --- the table -----------------------------------------------------------------------------------


def table(findings: Sequence[Finding], *, colour: bool) -> str:
    """A row for each probe, and beneath it what has to be, or how that differs from what was."""
    lines = list[str]()
    for found in findings:
        mark = _coloured(" ok " if found.good else "FAIL", 32 if found.good else 31, colour=colour)
        lines.append(f"{mark}  {found.probe}")
        if found.good:
            lines += [f"      {part}" for part in found.wanted.split("; ")]
        else:
            lines += [f"      wanted: {found.wanted}", f"      found:  {found.found}"]
    return "\n".join(lines)


def _coloured(text: str, code: int, *, colour: bool) -> str:
    return f"\x1b[1;{code}m{text}\x1b[0m" if colour else text


def _list(texts: Sequence[str]) -> str:
    return " | ".join(texts) if texts else "nothing"


def main() -> None:
    """Runs the probes and prints the table."""
    findings = asyncio.run(probe_all())
    print(table(findings, colour=sys.stdout.isatty()))  # noqa: T201  # it is what the script is for
    sys.exit(0 if all(found.good for found in findings) else 1)


if __name__ == "__main__":
    main()
