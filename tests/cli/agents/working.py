"""An agent whose action writes down its key, and then takes as long as a file is there; the folder is the host's context."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from falai import ActionContext, ActionResult, Agent, Do, Flow, OnAnyMessage, Say, ok
from falai.host import Turning


async def work(ctx: ActionContext[Path]) -> ActionResult:
    """Take a while."""
    with (ctx.context / "keys.txt").open("a") as keys:
        keys.write(f"{ctx.key}\n")
    sys.stdout.write("WORKING\n")
    sys.stdout.flush()
    while (ctx.context / "busy").exists():
        await asyncio.sleep(0.01)
    return ok()


agent = Agent[Path](
    name="Busy",
    model="lexical",
    idle="silent",
    actions=[work],
    flows=[
        Flow("job", on=[OnAnyMessage(repeat="always")], steps=[Do("work", work), Say("done", "It is done.")]),
    ],
)


def host_context(turning: Turning) -> Path:
    return Path(os.environ["WORK_FOLDER"])
