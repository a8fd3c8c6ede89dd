"""What building both prompts costs for a large agent, beside a small one: `python -m benchmarks.prompts`.

40 flows and 60 fields against 4 and 6, in turns of the same conversation: the request of the
understanding call and that of the first round of the reply. Exit code 1 when the ratio is over its limit.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from statistics import median
from time import process_time
from typing import Any

from falai.flow.build import AgentOptions, build_plan
from falai.flow.definition import Collect, Field, Flow, Instruction, OnMention, OnMessage
from falai.flow.plan import AgentPlan
from falai.model.effects import Speak
from falai.model.inputs import SpeakInput, UnderstandInput
from falai.model.port import ModelRequest
from falai.model.speak import speak
from falai.model.understand import understand_request
from falai.session.model import Run, TriggerRef

LIMIT = 4.0
PAIRS, TIMES = 40, 20
NOW_MS = 1_789_902_000_000
HISTORY = [
    {"role": "user", "content": "Good morning, I saw your offer."},
    {"role": "assistant", "content": "Good morning! What can I do for you?"},
]


def plan_of(flows: int, fields: int) -> AgentPlan:
    """An agent as authors write them: phrases, exclusions, descriptions, some of it with placeholders."""
    slugs = [f"field_{number}" for number in range(fields)]
    options = AgentOptions(
        name="Ana",
        persona="Warm, brief, never invents prices.",
        goal="Find out what they need.",
        knowledge_base={"hours": "9 to 18", "addresses": ["Main Street 1", "Harbour 7"]},
        timezone="America/Sao_Paulo",
        fields={slug: _field(slug, number) for number, slug in enumerate(slugs)},
        flows=[_flow(number, slugs) for number in range(flows)],
        instructions=[
            Instruction("Never quote a price.", kind="never"),
            Instruction("Call {{data.field_0}} by name.", when="it is a greeting"),
        ],
    )
    return build_plan(options)[0]


def _field(slug: str, number: int) -> Field:
    options = ["small", "medium", "large"] if number % 4 == 0 else None
    return Field(str, enum=options, description=f"what they say about {slug}", ask="Ask for it lightly.")


def _flow(number: int, slugs: list[str]) -> Flow:
    offer = f"about offer {number}, for {{{{data.field_0}}}}" if number % 4 == 0 else f"about offer {number}"
    triggers: list[Any] = [OnMessage(f"asks {offer}", f"wants to buy offer {number}", "!only says thanks")]
    if number % 4 == 1:
        triggers.append(OnMention(f"mentions offer {number}", extract={"amount": {"type": "number"}}))
    mine = slugs[number * len(slugs) // 40 :][:3]
    return Flow(f"offer_{number}", description=f"All {offer}.", on=triggers, collect=slugs,
                steps=[Collect("ask", mine, prompt=f"Find out more {offer}.")])  # fmt: skip


def _understand_input(plan: AgentPlan, data: dict[str, Any]) -> UnderstandInput:
    flows = tuple(plan.flows.values())
    return UnderstandInput(
        text="I would like to know what the second offer costs", history=HISTORY, context=None, data=data,
        now_ms=NOW_MS, run=None, flow=None, pending=(), compared=flows,
        mentions=tuple(flow for flow in flows if flow.mention), branches=(),
        fields=tuple(slug for slug in plan.fields if slug not in data), correctable=frozenset(),
    )  # fmt: skip


def _speak_input(plan: AgentPlan, data: dict[str, Any]) -> SpeakInput:
    flow = next(iter(plan.flows.values()))
    (step,) = flow.talk_steps
    run = Run(
        id="offer_0#m1", flow_id=flow.id, anchor="s1", dedupe_key="offer_0:s1:", step_id=step.id, status="asking",
        trigger=TriggerRef(kind="message", key="m1"), hop=0, started_at="2026-09-20T10:00:00.000Z", asked={},
        visits={}, outcomes=[],
    )  # fmt: skip
    pending = tuple(slug for slug in step.collect if slug not in data) if isinstance(step, Collect) else ()
    return SpeakInput(
        run=run, flow=flow, step=step, pending=pending, fixed_after=None, kind="message",
        text="I would like to know what the second offer costs", retry=False, context=None, data=data,
        history=HISTORY, now_ms=NOW_MS, said=(), instructions=plan.instructions, tools=(), refused=(), acted=(),
    )  # fmt: skip


def both(plan: AgentPlan, data: dict[str, Any]) -> tuple[ModelRequest, ModelRequest]:
    """The requests of one message."""
    effect = next(speak(plan, _speak_input(plan, data)))
    assert isinstance(effect, Speak)
    return understand_request(plan, _understand_input(plan, data)), effect.request


def _turns(plan: AgentPlan) -> Callable[[], float]:
    """CPU of a message, in turns in which ever other fields are known."""
    slugs = list(plan.fields)
    known = [{slugs[0]: f"Bia {turn}", slugs[turn % len(slugs)]: "small"} for turn in range(TIMES)]

    def spent() -> float:
        begun = process_time()
        for data in known:
            both(plan, data)
        return (process_time() - begun) / len(known)

    return spent


def measure() -> tuple[float, float, float]:
    """Median CPU of both requests, small and large, and the median of their ratios pair by pair."""
    small, large = _turns(plan_of(4, 6)), _turns(plan_of(40, 60))
    small(), large()  # what an agent makes once
    pairs = [(small(), large()) for _ in range(PAIRS)]
    return median(s for s, _ in pairs), median(b for _, b in pairs), median(b / s for s, b in pairs)


def main() -> int:
    """Prints the figures; 1 when the ratio is over its limit."""
    gc.freeze()
    small, large, ratio = measure()
    print(f"both prompts, 4 flows and 6 fields    {small * 1e6:9.0f} µs")
    print(f"both prompts, 40 flows and 60 fields  {large * 1e6:9.0f} µs")
    over = "  OVER" if ratio > LIMIT else ""
    print(f"large beside small                    {ratio:9.2f} times  at most {LIMIT:g}{over}")
    return int(ratio > LIMIT)


if __name__ == "__main__":
    sys.exit(main())
