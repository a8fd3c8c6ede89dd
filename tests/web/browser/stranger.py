"""An agent whose names and texts would harm a page that trusted them."""

from __future__ import annotations

from falai import Agent, Collect, Field, Flow, OnMessage, Say

__all__ = ["MARKUP", "TURNED", "agent"]

MARKUP = "<script>window.harm = 1</script><img src=x onerror='window.harm = 2'> ${7*7} $& {name} ]]> &lt;"
TURNED = "\u202etxet \u2067 \U0001f9d1\u200d\U0001f680"
"""Its marks turn the direction of writing, and never turn it back."""

visit = Flow(
    "constructor",
    name=f"{MARKUP} {TURNED}",
    on=[OnMessage("asks for a visit")],
    steps=[
        Collect("__proto__", ["name"], prompt="Find out who comes."),
        Say("toString", f"Thank you, {{{{data.name}}}}. {MARKUP}", then="end"),
    ],
)
agent = Agent(
    name=MARKUP,
    model="lexical",
    fields={"name": Field(str, description=MARKUP + TURNED, ask="Ask who comes.", question="Who comes?")},
    flows=[visit],
)
