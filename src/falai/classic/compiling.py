"""Options become one agent of the core, and the tables in which the layer looks up what the core does not know (D-87).

    flow        a flow on the trigger of its `when`, which may start again and again
    talk step   `collect` or `prompt`; with `requires`, a `collect` named `<id>!` before it
    reply step  a `prompt` whose reply is its text
    auto step   a `do` that the core never runs
    signal      a flow that is mentioned, and never starts

The steps of such a flow are *driven*: the layer judges `if`, `skip` and branches. What the core holds
of a condition is a look at what the layer has found in this turn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from falai.classic.checking import Checked
from falai.classic.compiling_scopes import Scope, ScopedInstruction, scoped_instructions, scoped_tools
from falai.classic.compiling_values import opaque_field, signal_flow, texts
from falai.classic.flows import ClassicFlow, flows_of
from falai.classic.instructions import knowledge, with_terms
from falai.classic.options import LIMITS, is_core_flow
from falai.classic.state import CURRENT
from falai.classic.templates import live
from falai.classic.toolcalls import BoundTool
from falai.errors import FlowConfigurationError, Problem
from falai.flow.definition import Branch, Collect, Do, Flow, OnMessage, Prompt, Step
from falai.flow.functions import Action, Tool
from falai.flow.handlers import ActionContext, ActionResult, View, ok
from falai.flow.phrases import split_phrases
from falai.flow.places import Wire
from falai.flow.plan import FieldPlan
from falai.flow.wire import to_wire
from falai.session.keys import dedupe_key
from falai.session.model import Run

__all__ = ["Compiled", "FlowPart", "StepPart", "compiled"]

Kind = Literal["talk", "reply", "auto", "requires"]

_UNTIRING: Final = 1_000_000
"""How often `requires` may ask: always."""
_ASK_FIRST: Final = (
    "Before you go on, get to know what is still missing: no more than two of the fields in one message."
)
_ACTION: Final = "falai classic step"


@dataclass(frozen=True, slots=True)
class StepPart:
    """One step of the core and the 3.x step that it stands for."""

    id: str
    """In the core; `own` is the user's."""
    own: str
    kind: Kind
    wire: Wire
    is_first: bool
    """The first of its step: where `if` and `skip` are judged."""
    asked: Mapping[int, int]
    """The places of the branches that the model judges, and theirs among the core's."""

    @property
    def branches(self) -> Sequence[Wire]:
        branches: Sequence[Wire] = self.wire.get("branches", ())
        return branches

    @property
    def hooks(self) -> Wire:
        hooks: Wire = self.wire.get("hooks", {})
        return hooks


@dataclass(frozen=True, slots=True)
class FlowPart:
    """A 3.x flow, and its steps by their ids in the core."""

    wire: Wire
    steps: Mapping[str, StepPart]

    @property
    def id(self) -> str:
        return str(self.wire["id"])

    @property
    def hooks(self) -> Wire:
        hooks: Wire = self.wire.get("hooks", {})
        return hooks

    @property
    def owned(self) -> tuple[str, ...]:
        """The fields of which the flow says that they are its own (D-10)."""
        return (*self.wire.get("requiredFields", ()), *self.wire.get("optionalFields", ()))

    def entrance(self, own: str) -> str | None:
        """Where a move to the user's step leads in the core; `None` when there is no such step."""
        return next((id for id, part in self.steps.items() if part.own == own), None)

    def claim(self, session_id: str) -> str:
        """What is held once the flow has completed in a session (D-87)."""
        return dedupe_key(self.id, session_id, "")


@dataclass(frozen=True, slots=True)
class Compiled:
    """`core` are the options of the core's `Agent`; the rest is what the layer looks things up in."""

    checked: Checked
    core: Mapping[str, Any]
    flows: Mapping[str, FlowPart]
    named: tuple[ClassicFlow, ...]
    """Every flow that can be addressed, those of the core's form too (D-3)."""
    signals: tuple[Wire, ...]
    """By priority, then as declared."""
    tools: Mapping[Scope, Mapping[str, BoundTool]]
    instructions: Mapping[Scope, tuple[ScopedInstruction, ...]]
    warnings: tuple[str, ...]

    @property
    def options(self) -> Wire:
        return self.checked.options

    @property
    def opaque(self) -> dict[str, FieldPlan]:
        """The fields that the core's options cannot say: a value of theirs is no scalar (D-5)."""
        return {slug: opaque_field(field) for slug, field in self.checked.fields.items() if field.plan is None}

    @property
    def signal_flows(self) -> list[Flow]:
        """The signals as flows of the core; none of them ever starts (D-88)."""
        return [signal_flow(signal, _ACTION) for signal in self.signals]

    def limit(self, option: str) -> float:
        """A limit of D-1, as it is given or by default."""
        limit: float = self.options.get(option, LIMITS[option])
        return limit

    @property
    def driven(self) -> frozenset[str]:
        """The ids of the core's flows that the layer drives."""
        return frozenset(self.flows) | {signal["id"] for signal in self.signals}

    def part(self, run: Run) -> StepPart | None:
        """The step at which a run stands, when its flow is driven."""
        flow = self.flows.get(run.flow_id)
        return None if flow is None or run.step_id is None else flow.steps.get(run.step_id)

    def tools_for(self, flow_id: str | None, step: str | None) -> Mapping[str, BoundTool]:
        """The tools at a step, of a flow, or of the agent, by id: inner ones have replaced outer ones (D-47)."""
        return self.tools.get((flow_id, step)) or self.tools.get((flow_id, None)) or self.tools[None, None]

    def instructions_for(self, flow_id: str | None, step: str | None) -> Iterator[ScopedInstruction]:
        """The instructions that stand there: the agent's, the flow's, the step's (D-40)."""
        for scope in dict.fromkeys(((None, None), (flow_id, None), (flow_id, step))):
            yield from self.instructions.get(scope, ())


def compiled(checked: Checked) -> Compiled:
    """The core's options for checked options, and the tables. Calls nothing that an author wrote."""
    options = checked.options
    listed: Sequence[Any] = options.get("flows", ())
    flows = {flow["id"]: _flow_part(flow) for flow in listed if not is_core_flow(flow)}
    signals = tuple(sorted(options.get("signals", ()), key=lambda signal: -signal.get("priority", 0)))
    terms = options.get("terms", ())
    core: dict[str, Any] = {
        "name": options["name"],
        "model": options.get("provider"),
        "goal": options.get("goal"),
        "persona": with_terms(options.get("persona"), terms),
        "knowledge_base": knowledge(options.get("knowledgeBase"), terms),
        "fields": _fields(checked),
        "flows": [flow if is_core_flow(flow) else _flow(flows[flow["id"]]) for flow in listed],
        "actions": [Action(_ACTION, _never_run, parameters={}), *_functions(listed)],
        "max_tool_loops": options.get("maxToolLoops", LIMITS["maxToolLoops"]) + 1,
        "debug": options.get("debug", False),
    }
    warnings = tuple(_warnings(flows.values()))
    wires = [flow.wire for flow in flows.values()]
    tools = scoped_tools(options, wires)
    core["tools"] = [Tool(id, _never_called, parameters={"type": "object"}) for id in tools[None, None]]
    instructions = scoped_instructions(options, wires)
    return Compiled(
        checked=checked,
        core=core,
        flows=flows,
        named=flows_of(options),
        signals=signals,
        tools=tools,
        instructions=instructions,
        warnings=(*(notice.text for notice in checked.warnings), *warnings),
    )


def _never_run(context: ActionContext[Any]) -> ActionResult:  # noqa: ARG001  an action gets its context
    return ok()


def _never_called(context: Any, **arguments: Any) -> None:
    """Stands for a tool while names are checked; the plan has the tool itself."""


def _functions(flows: Sequence[Any]) -> list[Any]:
    """The functions in the `do` steps of flows in the core's form: they are the agent's actions."""
    steps = [step for flow in flows if is_core_flow(flow) for step in to_wire(flow).get("steps", ())]
    return list(dict.fromkeys(step["do"] for step in steps if callable(step.get("do"))))


def _fields(checked: Checked) -> dict[str, Any]:
    """The fields for the core; an opaque one is text there until the plan is made (D-5)."""
    return {slug: _field(field) for slug, field in checked.fields.items()}


def _field(field: Any) -> dict[str, Any]:
    plan = field.plan
    wire: dict[str, Any] = {"type": plan.type if plan else "string", "extract": field.extract, "ask": field.ask}
    wire["description"] = field.schema.get("description")
    if plan and plan.enum is not None:
        wire["enum"] = list(plan.enum)
    return wire


def _warnings(flows: Any) -> Iterator[str]:
    for flow in flows:
        for part in flow.steps.values():
            if part.is_first and "when" in part.wire:
                yield (
                    f'flow "{flow.id}", step "{part.own}": when of a step is not judged, it is a part of what the '
                    "model is told there. Put the condition on a branch of the step before"
                )


# --- flows and steps ----------------------------------------------------------------------------


def _flow_part(flow: Wire) -> FlowPart:
    parts = [part for step in flow.get("steps", ()) for part in _parts(step)]
    _check_ids(flow, parts)
    parts = parts or [StepPart("!", "", "auto", {}, is_first=True, asked={})]  # a flow without steps is done at once
    return FlowPart(flow, {part.id: part for part in parts})


def _check_ids(flow: Wire, parts: Sequence[StepPart]) -> None:
    """An author's step may have the id that another one's `requires` needs."""
    for id, count in Counter(part.id for part in parts).items():
        if count > 1:
            owner = id.removesuffix("!")
            what = f'the step "{owner}" has requires, which is asked for in a step "{id}", and that id is taken'
            place = f'flow "{flow["id"]}", step "{id}"'
            raise FlowConfigurationError(Problem("duplicate-step", place, what, "Choose another id"))


def _parts(step: Wire) -> Iterator[StepPart]:
    id = step["id"]
    kind: Kind = "auto" if step.get("auto") is True else "reply" if "reply" in step else "talk"
    asks_first = bool(step.get("requires")) and kind != "auto"
    if asks_first:
        yield StepPart(f"{id}!", id, "requires", step, is_first=True, asked={})
    whens = [place for place, branch in enumerate(step.get("branches", ())) if texts(branch.get("when"))]
    asked = {place: number for number, place in enumerate(whens)} if kind != "auto" else {}
    yield StepPart(id, id, kind, step, is_first=not asks_first, asked=asked)


def _flow(part: FlowPart) -> Flow:
    wire = part.wire
    return Flow(
        part.id,
        name=wire["title"],
        description=wire.get("description"),
        on=[OnMessage(*_phrases(wire), if_=partial(_is_open, part.id), repeat="always")],
        steps=[_step(part.id, step) for step in part.steps.values()],
        collect=part.owned,
    )


def _phrases(wire: Wire) -> list[str]:
    """The phrases; without one that fits anything, the description or the title is one (D-87)."""
    phrases = texts(wire.get("when"))
    if split_phrases(phrases).matches:
        return phrases
    return [wire.get("description") or wire["title"], *phrases]


def _is_open(flow_id: str, view: View[Any]) -> bool:  # noqa: ARG001  a predicate gets its view
    state = CURRENT.get()
    return state is None or flow_id not in state.closed


def _step(flow_id: str, part: StepPart) -> Step:
    wire = part.wire
    if part.kind == "auto":
        return Do(part.id, _ACTION)
    if part.kind == "requires":
        return Collect(part.id, wire["requires"], prompt=_ASK_FIRST, max_asks=_UNTIRING, tools=())
    branches = [_branch(flow_id, part, place) for place in part.asked] or None
    if wire.get("collect"):
        prompt = live(wire["prompt"], _only_when(wire)) if "prompt" in wire else None
        return Collect(part.id, wire["collect"], prompt=prompt, branches=branches)
    prompt = wire.get("reply", wire.get("prompt", wire.get("description"))) or "Go on with the conversation."
    return Prompt(part.id, live(prompt, _only_when(wire)), branches=branches)


def _only_when(wire: Wire) -> str:
    """A step's `when` as a part of its guideline (D-87)."""
    return f"This step is for: {_question(wire['when'])}\n" if "when" in wire else ""


def _branch(flow_id: str, part: StepPart, place: int) -> Branch:
    question = _question(part.branches[place]["when"])
    return Branch(question, if_=partial(_is_asked, (flow_id, part.id, place)), then="end")


def _question(when: Any) -> str:
    """Alternatives and exclusions as one question."""
    phrases = split_phrases(texts(when))
    excluded = f"none of these: {' / '.join(phrases.exclusions)}" if phrases.exclusions else ""
    return "; but ".join(filter(None, (" / ".join(phrases.matches), excluded)))


def _is_asked(place: tuple[str, str, int], view: View[Any]) -> bool:  # noqa: ARG001  a predicate gets its view
    state = CURRENT.get()
    return state is not None and place in state.asked
