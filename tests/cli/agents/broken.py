"""An agent with several mistakes, and other things that are no agents."""

from __future__ import annotations

from falai import Agent, Collect, Flow, OnMessage, Say


def mistaken() -> Agent[None]:
    return Agent(
        name="Oops",
        model="lexical",
        flows=[Flow("a", on=[OnMessage("x")], steps=[Collect("ask", ["nobody"]), Say("b", "x", then="nowhere")])],
    )


def raising() -> Agent[None]:
    raise RuntimeError("no luck today")


fine = Agent[None](name="Fine", model="lexical")
