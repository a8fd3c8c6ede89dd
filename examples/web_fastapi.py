"""An application of FastAPI, and an assistant's API in it: one line.

Run it with `uvicorn web_fastapi:app`, in this folder, and make a token beside it:
`falai token create shop.db --name shop --scope chat`. The model is the lexical one, which needs no key.
"""

from __future__ import annotations

import os

from fastapi import FastAPI

from falai import Agent, Flow, OnAnyMessage, OnMessage, Say
from falai.host import Host
from falai.web import mount

agent = Agent(
    name="Ana",
    model="lexical",
    flows=[
        Flow("hours", on=[OnMessage("asks for the opening hours")], steps=[Say("tell", "We are open from 9 to 18.")]),
        Flow("hello", on=[OnAnyMessage()], steps=[Say("hi", "Hello! I know the opening hours.")]),
    ],
)

app = FastAPI()


@app.get("/prices")
async def prices() -> dict[str, int]:
    """What the application did before."""
    return {"visit": 50}


mount(app, Host(agent, os.environ.get("FALAI_STORE", "shop.db")), "/assistant")
