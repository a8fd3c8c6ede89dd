"""An agent whose action notes its key in a file; each message is answered in two."""

from __future__ import annotations

import os
from pathlib import Path

from falai import ActionContext, ActionResult, Agent, Do, Flow, OnAnyMessage, Say, ok
from falai.host import Turning


def note(ctx: ActionContext[Path]) -> ActionResult:
    """Note the key and what it was for."""
    with (ctx.context / "keys.txt").open("a") as keys:
        keys.write(f"{ctx.session_id} {ctx.key}\n")
    return ok()


agent = Agent[Path](
    name="Count",
    model="lexical",
    idle="silent",
    actions=[note],
    flows=[
        Flow("count", on=[OnAnyMessage(repeat="always")], steps=[
            Do("note", note), Say("first", "One."), Say("second", "Two."),
        ]),
    ],
)  # fmt: skip


def host_context(turning: Turning) -> Path:
    return Path(os.environ["WORK_FOLDER"])
