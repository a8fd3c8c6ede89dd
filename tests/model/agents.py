"""A plan and inputs for tests of both calls: small, but with something of everything."""

from __future__ import annotations

from typing import Any

from falai.flow.build import AgentOptions, build_plan
from falai.flow.definition import Branch, Collect, Field, Flow, OnMention, OnMessage, Prompt, Say
from falai.flow.plan import AgentPlan, FlowPlan
from falai.model.inputs import SpeakInput, UnderstandInput
from falai.session.model import Run, TriggerRef

NOW_MS = 1_789_902_000_000
"""2026-09-20T11:00:00Z, a Sunday."""


def plan(**options: Any) -> AgentPlan:
    """A checked agent: `sales` asks, `v2:help` is a mention with values, `late` is known by name only."""
    given: dict[str, Any] = {
        "name": "Ana",
        "fields": {
            "name": Field(str, ask="Ask for the name lightly.", question="What is your name?"),
            "size": Field(str, enum=["1-10", "11-50"], description="how many work there", correct=True),
            "full name": Field(str),
            "agreed": Field(bool),
        },
        "flows": [
            Flow(
                "sales",
                name="Sales",
                description="For {{context.firm}}",
                on=[OnMessage("asks for a quote", "wants {{data.name}}", "!only says thanks")],
                steps=[
                    Collect(
                        "who",
                        ["name", "size"],
                        prompt="Find out who they are.",
                        branches=[Branch("gives up", then="end")],
                    ),
                    Prompt("more", "Tell more."),
                ],
            ),
            Flow(
                "v2:help",
                on=[
                    OnMention(
                        "asks for a person",
                        "!quotes one",
                        extract={"topics": {"type": "array", "items": {"type": "string"}}, "why": {"type": "string"}},
                    )
                ],
                steps=[Say("moment", "One moment.")],
            ),
            Flow("late", on=[OnMessage("comes late")], steps=[Say("fine", "Fine.")]),
        ],
    }
    return build_plan(AgentOptions(**{**given, **options}))[0]


def run(flow_id: str = "sales", step_id: str | None = "who", **more: Any) -> Run:
    """A run that stands at a step."""
    return Run(
        id=f"{flow_id}#m1", flow_id=flow_id, anchor="s1", dedupe_key=f"{flow_id}:s1:", step_id=step_id,
        status="asking", trigger=TriggerRef(kind="message", key="m1"), hop=0,
        started_at="2026-09-20T10:00:00.000Z", asked={}, visits={}, outcomes=[], **more,
    )  # fmt: skip


def understand_input(agent: AgentPlan, **changes: Any) -> UnderstandInput:
    """A message while nobody has the floor: all flows are compared, nothing else is asked."""
    given: dict[str, Any] = {
        "text": "hello", "history": [], "context": None, "data": {}, "now_ms": NOW_MS, "run": None, "flow": None,
        "pending": (), "compared": tuple(agent.flows.values()), "mentions": (), "branches": (), "fields": (),
        "correctable": frozenset(),
    }  # fmt: skip
    return UnderstandInput(**{**given, **changes})


def on_floor(agent: AgentPlan, flow_id: str = "sales") -> dict[str, Any]:
    """The part of an understand input that says who has the floor."""
    flow: FlowPlan = agent.flows[flow_id]
    return {"run": run(flow_id), "flow": flow, "pending": ("name", "size"), "compared": (flow,)}


def speak_input(agent: AgentPlan, **changes: Any) -> SpeakInput:
    """The talk step `who` of `sales`, answering a message."""
    flow = agent.flows["sales"]
    given: dict[str, Any] = {
        "run": run(), "flow": flow, "step": flow.steps[0], "pending": ("name", "size"), "fixed_after": None,
        "kind": "message", "text": "hello", "retry": False, "context": None, "data": {}, "history": [],
        "now_ms": NOW_MS, "said": (), "instructions": (), "tools": (), "refused": (), "acted": (),
    }  # fmt: skip
    return SpeakInput(**{**given, **changes})


def idle_input(agent: AgentPlan, **changes: Any) -> SpeakInput:
    """The idle speaker, answering a message."""
    nobody: dict[str, Any] = {"run": None, "flow": None, "step": None, "pending": ()}
    return speak_input(agent, **{**nobody, **changes})
