"""An agent's options become its plan, or one error that names everything that is wrong (F-17.2, F-19.5).

The order of the checks is that of the specification: definitions, conditions, the agent's
instructions, each flow, tools, the idle speaker, the other options. Nothing an author wrote is
called (F-16.6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from falai.errors import FlowConfigurationError, Problem
from falai.flow.advice import advice
from falai.flow.definition import Condition, EventDefinition, Idle
from falai.flow.fields import FIELD, read_events, read_fields
from falai.flow.hours import BusinessHours
from falai.flow.moves import check_moves
from falai.flow.named import Functions, read_actions, read_conditions, read_tools
from falai.flow.names import check_instructions, check_tools
from falai.flow.options import check_compaction, check_options
from falai.flow.places import Finding, Notice, Place, Wire, flow_place, is_list, is_object
from falai.flow.plan import ActionPlan, AgentPlan, EventPlan, FieldPlan, FlowPlan, IdlePlan, ParamPlan, ToolPlan
from falai.flow.registries import Registries
from falai.flow.shape import instructions_shape, texts_shape
from falai.flow.spec import check_flow
from falai.flow.unlisted import unlisted, unlisted_in_instructions
from falai.flow.wire import flow_from_wire, instruction_from_wire, to_wire
from falai.session.jsontext import quoted, show
from falai.session.keys import is_blank_id

__all__ = ["AgentOptions", "EventDefinition", "Idle", "build_plan", "examine"]

_AGENT = Place("agent")
_EVENT = ("direction",)
_IDLE = ("prompt", "tools", "instructions")


@dataclass(frozen=True, kw_only=True)
class AgentOptions:
    """What `Agent` was given, unchecked (F-16.1). `problems` are those that it found itself."""

    name: Any
    persona: Any = None
    goal: Any = None
    knowledge_base: Any = None
    timezone: Any = None
    language: Any = None
    fields: Any = None
    flows: Any = ()
    actions: Any = None
    events: Any = None
    conditions: Any = None
    tools: Any = ()
    instructions: Any = ()
    idle: Any = None
    business_hours: Any = None
    clock: Any = None
    max_tool_loops: Any = 5
    compaction: Any = None
    problems: tuple[Problem, ...] = ()


def build_plan(options: AgentOptions) -> tuple[AgentPlan, tuple[str, ...]]:
    """The plan of an agent, and the warnings: the flows' own (S-37), then the agent's (`advice`).

    Raises FlowConfigurationError with every problem, and ValueError for compaction options (F-16.4).
    """
    plan, findings = examine(options)
    if plan is None:
        raise FlowConfigurationError([finding for finding in findings if isinstance(finding, Problem)])
    check_compaction(options.compaction)
    return plan, tuple(finding.text for finding in (*findings, *advice(plan)) if isinstance(finding, Notice))


def examine(options: AgentOptions) -> tuple[AgentPlan | None, list[Finding]]:
    """The plan of an agent, `None` if there is any problem, and everything that was found but for advice."""
    parts = _read(options)
    findings = list(_findings(parts, options))
    if any(isinstance(finding, Problem) for finding in findings):
        return None, findings
    return _plan(parts, options), findings


@dataclass(frozen=True, slots=True)
class _Parts:
    """The options as they were read: plans where one could be made, wire forms, and the findings."""

    fields: Mapping[str, FieldPlan | None]
    actions: Mapping[str, ActionPlan | None]
    events: Mapping[str, EventPlan]
    conditions: Mapping[str, Condition]
    tools: Mapping[str, ToolPlan | None]
    functions: Functions
    flows: Any
    instructions: Any
    idle: Any
    definitions: Sequence[Finding]
    shadowed: Sequence[Finding]
    in_tools: Sequence[Finding]


def _read(options: AgentOptions) -> _Parts:
    fields, in_fields = read_fields({} if options.fields is None else options.fields)
    actions, functions, in_actions = read_actions(options.actions)
    events, in_events = read_events({} if options.events is None else options.events)
    conditions, shadowed = read_conditions(options.conditions)
    tools, in_tools = read_tools(options.tools)
    return _Parts(
        fields=fields,
        actions=actions,
        events=events,
        conditions=conditions,
        tools=tools,
        functions=functions,
        flows=to_wire(options.flows),
        instructions=to_wire(options.instructions),
        idle=to_wire({} if options.idle is None else options.idle),
        definitions=[*in_fields, *in_actions, *in_events, *_unlisted_definitions(options)],
        shadowed=shadowed,
        in_tools=in_tools,
    )


def _findings(parts: _Parts, options: AgentOptions) -> Iterator[Finding]:
    """Everything that is wrong or odd, in the order of F-17.2 and S-45."""
    flow_ids = [flow["id"] for flow in _listed(parts.flows) if _has_id(flow)]
    names = Registries(
        fields=parts.fields,
        actions={name: _parameters(action) for name, action in parts.actions.items()},
        events=tuple(parts.events),
        conditions=tuple(parts.conditions),
        tools=tuple(parts.tools),
        flows=tuple(flow_ids),
        functions=parts.functions,
        action_moves={name: action.moves for name, action in parts.actions.items() if action},
        tool_moves={name: tool.moves for name, tool in parts.tools.items() if tool},
    )
    yield from parts.definitions
    yield from parts.shadowed
    yield from _in_instructions(parts.instructions, _AGENT, names)
    yield from _in_flows(parts.flows, names)
    yield from parts.in_tools
    yield from _in_tool_moves(parts.flows, names)
    yield from _in_idle(parts.idle, names)
    yield from check_options(options)


def _parameters(action: ActionPlan | None) -> Mapping[str, ParamPlan] | None:
    return None if action is None else {parameter.name: parameter for parameter in action.parameters}


def _plan(parts: _Parts, options: AgentOptions) -> AgentPlan:
    return AgentPlan(
        name=options.name,
        persona=options.persona,
        goal=options.goal,
        knowledge_base=options.knowledge_base,
        timezone=options.timezone,
        language=(options.language or "").strip() or None,
        fields={slug: field for slug, field in parts.fields.items() if field},
        flows={flow["id"]: FlowPlan(flow_from_wire(_named(flow, parts.functions))) for flow in parts.flows},
        actions={name: action for name, action in parts.actions.items() if action},
        events=parts.events,
        conditions=parts.conditions,
        tools=tuple(tool for tool in parts.tools.values() if tool),
        instructions=tuple(instruction_from_wire(wire) for wire in parts.instructions),
        idle=_idle_plan(parts.idle),
        business_hours=_hours(options),
        clock=options.clock,
        max_tool_loops=int(options.max_tool_loops),
        compaction=options.compaction,
    )


# --- flows -------------------------------------------------------------------------------------


def _named(flow: Wire, functions: Functions) -> Wire:
    """The flow with every function in a `do` replaced by the name under which the agent has it."""
    return {**flow, "steps": [_named_step(step, functions) for step in flow["steps"]]}


def _named_step(step: Wire, functions: Functions) -> Wire:
    names = [name for function, name in functions if function == step.get("do")]
    return {**step, "do": names[0]} if names else step


def _in_flows(flows: Any, names: Registries) -> Iterator[Finding]:
    """A3 before each flow, then its own checks."""
    if not is_list(flows):
        yield _AGENT.key("flows").problem("not-a-list", f"flows is {show(flows)}", "Write a list of flows")
        return
    seen: set[str] = set()
    for index, flow in enumerate(flows):
        base = f"flows[{index}]"
        if _has_id(flow) and flow["id"] in seen:
            what = f"an earlier flow has the id {quoted(flow['id'])} as well"
            yield flow_place(flow, base).key("id").problem("duplicate-flow-id", what, "Give each flow an id of its own")
        seen |= {flow["id"]} if _has_id(flow) else set()
        yield from check_flow(flow, names, base)


def _in_tool_moves(flows: Any, names: Registries) -> Iterator[Finding]:
    """A step to which a tool may move is one of some flow: the tool may be offered in each."""
    listed = [step for flow in _listed(flows) if is_object(flow) for step in _listed(flow.get("steps"))]
    steps = {str(step.get("id")) for step in listed if is_object(step)}
    for name, moves in names.tool_moves.items():
        place = Place(f"tool {quoted(name)}", f"tools.{name}", "moves")
        yield from check_moves(moves, "it", place, steps, names.flows)


def _listed(value: Any) -> Sequence[Any]:
    return value if is_list(value) else ()


def _has_id(flow: Any) -> bool:
    return is_object(flow) and not is_blank_id(flow.get("id"))


# --- instructions and the idle speaker ---------------------------------------------------------


def _in_instructions(instructions: Any, owner: Place, names: Registries) -> Iterator[Finding]:
    """A2, A5: their shape, then the names in their conditions."""
    place = owner.key("instructions")
    problems = list(instructions_shape(instructions, place))
    yield from problems
    if not problems:
        yield from check_instructions(instructions, place, names)
        yield from unlisted_in_instructions(instructions, place)


def _in_idle(idle: Any, names: Registries) -> Iterator[Finding]:
    place = Place("idle", "idle")
    if idle == "silent":
        return
    if not is_object(idle):
        yield place.problem("not-an-object", f"idle is {show(idle)}", 'Write Idle("…") or "silent"')
        return
    yield from _in_instructions(idle.get("instructions", []), place, names)
    prompt, tools = idle.get("prompt", ""), idle.get("tools", [])
    if not isinstance(prompt, str):
        yield place.key("prompt").problem("not-text", f"prompt is {show(prompt)}", "Write text")
    problems = list(texts_shape(tools, place.key("tools")))
    yield from problems or check_tools(tools, place.key("tools"), names)
    yield from unlisted(idle, _IDLE, place)


def _idle_plan(idle: Any) -> IdlePlan | None:
    if idle == "silent":
        return None
    tools = tuple(idle["tools"]) if "tools" in idle else None
    instructions = tuple(instruction_from_wire(wire) for wire in idle.get("instructions", ()))
    return IdlePlan(idle.get("prompt", ""), tools, instructions)


# --- the rest ----------------------------------------------------------------------------------


def _hours(options: AgentOptions) -> Any:
    """Ready-made hours without a zone of their own are those of the agent's zone."""
    hours = options.business_hours
    return hours.in_zone(options.timezone) if isinstance(hours, BusinessHours) and options.timezone else hours


def _unlisted_definitions(options: AgentOptions) -> Iterator[Finding]:
    """Properties that have no meaning in a definition written as a mapping: most often a name in snake case."""
    for option, listed, where in (("fields", FIELD, "field"), ("events", _EVENT, "event")):
        given = getattr(options, option)
        for name, definition in given.items() if is_object(given) else ():
            if is_object(definition):
                yield from unlisted(definition, listed, Place(f"{where} {quoted(str(name))}", f"{option}.{name}"))
