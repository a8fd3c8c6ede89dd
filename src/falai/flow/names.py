"""The names and the sense of a flow whose shape is right (S-23 to S-43, F-17.2 N, C, T, S and W).

Everything comes in the order of 06-flowspec 5.4: problems and warnings as they are found. `Scope`
is what the checks of one flow look things up in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from falai.errors import Problem
from falai.flow.conditions import BUILT_IN
from falai.flow.durations import EXAMPLES, is_duration
from falai.flow.moves import check_moves
from falai.flow.nearest import instead, meant
from falai.flow.phrases import split_phrases
from falai.flow.places import Finding, Place, Wire, flow_place, is_list, is_object, listing, step_place, trigger_place
from falai.flow.registries import Registries
from falai.flow.unlisted import unlisted_in_flow, unlisted_in_step, unlisted_in_trigger
from falai.flow.wire import BRANCH, TRIGGER, TRIGGERS, action_name, body_kinds
from falai.flow.withs import allowed, check_with, fits, kind_of
from falai.session.jsontext import MISSING, json_text, quoted, show
from falai.session.keys import is_blank_id

__all__ = ["Scope", "check_condition", "check_instructions", "check_names", "check_tools"]

_SHOWN = 30
"""So many of the names that there are stand in a message: a flow of a thousand steps would fill the screen."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names of one flow resolve against; `steps` has the first position of each id."""

    names: Registries
    steps: Mapping[str, int]


def check_names(flow: Wire, names: Registries, base: str = "") -> Iterator[Finding]:
    """Every problem and warning of a flow whose shape is right."""
    place = flow_place(flow, base)
    steps: Sequence[Wire] = flow["steps"]
    scope = Scope(names, _positions(steps))
    yield from _ids(flow, place)
    yield from _flow(flow, place, scope)
    for index, trigger in enumerate(flow.get("on", ())):
        yield from _trigger(trigger, trigger_place(place, index), scope)
    for index, step in enumerate(steps):
        yield from _step(step, index, step_place(place, step, index), scope)


def _positions(steps: Sequence[Wire]) -> dict[str, int]:
    positions: dict[str, int] = {}
    for index, step in enumerate(steps):
        if not is_blank_id(step.get("id")):
            positions.setdefault(step["id"], index)
    return positions


def _ids(flow: Wire, place: Place) -> Iterator[Problem]:
    if is_blank_id(flow.get("id")):
        yield place.key("id").problem("no-flow-id", f"its id is {show(flow.get('id', MISSING))}", "Give the flow an id")
    seen: set[str] = set()
    for index, step in enumerate(flow["steps"]):
        yield from _step_id(step.get("id", MISSING), step_place(place, step, index).key("id"), seen)
    if flow.get("on") and not flow["steps"]:
        what = "a trigger starts it (on) and it has no steps"
        yield place.key("steps").problem("triggers-without-steps", what, "Add a step, or take the triggers out")


def _step_id(step_id: Any, place: Place, seen: set[str]) -> Iterator[Problem]:
    if is_blank_id(step_id):
        yield place.problem("no-step-id", f"its id is {show(step_id)}", "Give the step an id of its own")
    elif step_id == "end":
        yield place.problem("reserved-step-id", '"end" is reserved for the end of the flow', "Choose another id")
    elif step_id in seen:
        yield place.problem("duplicate-step-id", f"{quoted(step_id)} is used before in this flow", "Choose another id")
    else:
        seen.add(step_id)


def _flow(flow: Wire, place: Place, scope: Scope) -> Iterator[Finding]:
    for key in ("collect", "clearOnStart"):
        yield from _slugs(flow.get(key, ()), place.key(key), scope.names)
    yield from _never_asked(flow, place, scope)
    if "while" in flow:
        yield from check_condition(flow["while"], place.key("while"), scope.names)
    yield from check_tools(flow.get("tools", ()), place.key("tools"), scope.names)
    yield from check_instructions(flow.get("instructions", ()), place.key("instructions"), scope.names)
    yield from unlisted_in_flow(flow, place)


def _never_asked(flow: Wire, place: Place, scope: Scope) -> Iterator[Finding]:
    """W3: the flow needs a field that only a step that asks for it could read, and none does."""
    asked = {slug for step in flow["steps"] for slug in step.get("collect", ())}
    for slug in dict.fromkeys(flow.get("collect", ())):
        field = scope.names.fields.get(slug)
        if field is not None and field.mode == "asked" and slug not in asked:
            what = f"it collects {quoted(slug)}, which is read only where it is asked for, and no step asks for it"
            yield place.key("collect").notice("asked-nowhere", what, "List it in a step's collect")


# --- names that stand anywhere -----------------------------------------------------------------


def check_tools(tools: Sequence[Any], place: Place, names: Registries) -> Iterator[Problem]:
    """N8, S9: every tool id is one of the agent's."""
    for index, tool in enumerate(tools):
        if tool not in names.tools:
            what = f"{place.name} names no tool: {quoted(tool)}"
            yield place.item(index).problem("unknown-tool", what, _known(tool, names.tools))


def check_instructions(instructions: Sequence[Wire], place: Place, names: Registries) -> Iterator[Problem]:
    """A2, N9, S8: the conditions of a list of instructions."""
    for index, instruction in enumerate(instructions):
        if "if" in instruction:
            yield from check_condition(instruction["if"], place.item(index).key("if"), names)


def check_condition(condition: Any, place: Place, names: Registries) -> Iterator[Problem]:
    """C1 to C6, entry by entry in the order written; a function is not looked at (S-27)."""
    for key, argument in condition.items() if is_object(condition) else ():
        if key == "equals":
            yield from _equals(argument, place.key(key), names)
        elif key == "known":
            yield from _known_fields(argument, place.key(key), names)
        elif key == "silenced":
            if not isinstance(argument, bool):
                here = place.key(key)
                yield here.problem("silenced-not-a-boolean", f"{here.name} is {show(argument)}", "Write true or false")
        elif key not in names.conditions:
            built_in = listing([quoted(name) for name in BUILT_IN], "and")
            what = f"{place.name} asks for a condition that the agent lacks: {_name(key)}"
            near = meant(_plain_name(key), [*BUILT_IN, *names.conditions])
            yield place.key(str(key)).problem("unknown-condition", what, f"{near}Register it; built in are {built_in}")


def _equals(argument: Any, place: Place, names: Registries) -> Iterator[Problem]:
    if not is_object(argument):
        yield place.problem("equals-not-an-object", f"{place.name} is {show(argument)}", 'Write {"<field>": value}')
        return
    for slug, value in argument.items():
        here = place.key(str(slug))
        field = names.fields.get(slug)
        if slug not in names.fields:
            yield _unknown_field(slug, here, place.name, names)
        elif field is not None and not fits(value, field.type):
            what = f"{place.name} compares {_name(slug)} with {kind_of(value)}, and the field is of type {field.type}"
            yield here.problem("equals-type", what, "Write a value of the field's type; it is not converted")
        elif field is not None and field.enum is not None and not allowed(value, field.enum):
            what = f"{place.name} compares {_name(slug)} with {show(value)}, which is not one of its values"
            yield here.problem("equals-not-in-enum", what, f"Write {listing([json_text(v) for v in field.enum])}")


def _known_fields(argument: Any, place: Place, names: Registries) -> Iterator[Problem]:
    if not is_list(argument):
        yield place.problem("known-not-a-list", f"{place.name} is {show(argument)}", 'Write ["<field>"]')
        return
    yield from _slugs(argument, place, names)


def _slugs(slugs: Sequence[Any], place: Place, names: Registries) -> Iterator[Problem]:
    for index, slug in enumerate(slugs):
        if _plain_name(slug) not in names.fields:
            yield _unknown_field(slug, place.item(index), place.name, names)


def _unknown_field(slug: Any, place: Place, path: str, names: Registries) -> Problem:
    return place.problem(
        "unknown-field", f"{path} names no field of the agent: {_name(slug)}", _known(slug, names.fields)
    )


def _plain_name(value: Any) -> str:
    """S-25: what is no text is looked up by its JSON text."""
    try:
        return value if isinstance(value, str) else json_text(value)
    except TypeError:
        return show(value)


def _name(value: Any) -> str:
    return quoted(_plain_name(value))


def _shown(value: Any) -> str:
    """A name whole, and what is no text like any wrong value (S-21)."""
    return quoted(value) if isinstance(value, str) else show(value)


def _known(name: Any, names: Collection[str]) -> str:
    there = listing(_few(names) or ["none"], "and")
    return f"{meant(_plain_name(name), names)}Add it to the agent, or use one that is there: {there}"


def _few(names: Collection[str]) -> list[str]:
    """The names as messages show them; of very many, the first."""
    shown = [quoted(name) for name in islice(names, _SHOWN)]
    return [*shown, f"{len(names) - _SHOWN} more"] if len(names) > _SHOWN else shown


def _duration(value: Any, place: Place) -> Iterator[Problem]:
    if not is_duration(value):
        yield place.problem("bad-duration", f"{place.name} is no duration: {show(value)}", f"Write {EXAMPLES}")


def _event(value: Any, place: Place, names: Registries) -> Iterator[Problem]:
    if not isinstance(value, str) or value not in names.events:
        yield place.problem(
            "unknown-event", f"{place.name} names no event: {_shown(value)}", _known(value, names.events)
        )


# --- triggers ----------------------------------------------------------------------------------


def _trigger(trigger: Wire, place: Place, scope: Scope) -> Iterator[Finding]:
    yield from _trigger_kind(trigger, place)
    if "event" in trigger:
        yield from _event(trigger["event"], place.key("event"), scope.names)
    for key in ("silence", "after"):
        if key in trigger:
            yield from _duration(trigger[key], place.key(key))
    if is_object(trigger.get("repeat")):
        yield from _duration(trigger["repeat"]["cooldown"], place.key("repeat.cooldown"))
    if "if" in trigger:
        yield from check_condition(trigger["if"], place.key("if"), scope.names)
    for key in ("message", "mention"):
        if trigger.get(key) and not split_phrases(trigger[key]).matches:
            what = f"every phrase of {key} is an exclusion (!) or blank, so nothing can match"
            yield place.key(key).problem("only-exclusions", what, "Add a phrase without ! in front")
    yield from unlisted_in_trigger(trigger, place)


def _trigger_kind(trigger: Wire, place: Place) -> Iterator[Problem]:
    kinds = [f"`{kind}`" for kind in TRIGGERS if kind in trigger]
    if not kinds:
        what = f"none of {listing([f'`{kind}`' for kind in TRIGGERS])} is set"
        yield place.problem("no-trigger-kind", what, instead(trigger, TRIGGERS, TRIGGER, "Set exactly one of them"))
    elif len(kinds) > 1:
        yield place.problem("mixed-trigger", f"{listing(kinds, 'and')} are set", "Make a trigger of each")


# --- steps -------------------------------------------------------------------------------------


def _step(step: Wire, index: int, place: Place, scope: Scope) -> Iterator[Finding]:
    for key in ("then", "else"):
        if key in step:
            yield from _target(step[key], index, place.key(key), scope)
    yield from _slugs(step.get("collect", ()), place.key("collect"), scope.names)
    yield from _asks(step, place, scope)
    for number, branch in enumerate(step.get("branches", ())):
        yield from _branch(branch, step, index, place.key("branches").item(number), scope)
    yield from check_instructions(step.get("instructions", ()), place.key("instructions"), scope.names)
    yield from check_tools(step.get("tools", ()), place.key("tools"), scope.names)
    if "do" in step:
        yield from _do(step, index, place, scope)
    if "wait" in step:
        yield from _wait(step["wait"], place.key("wait"), scope)
    if "if" in step:
        yield from check_condition(step["if"], place.key("if"), scope.names)
        yield from _backward_if(step, index, place, scope)
    yield from unlisted_in_step(step, place)


def _asks(step: Wire, place: Place, scope: Scope) -> Iterator[Finding]:
    asks: Wire = step.get("ask", {})
    for slug in asks:
        if slug not in scope.names.fields:
            yield _unknown_field(slug, place.key("ask").key(str(slug)), "ask", scope.names)
    collect: Sequence[str] = step.get("collect", ())
    if "question" in step and not collect:
        what = "question asks for nothing: collect is empty or not set"
        yield place.key("question").problem("question-without-collect", what, "List what it asks for in collect")
    fields = [scope.names.fields.get(slug) for slug in collect]
    wordings = [asks.get(slug) for slug in collect] + [field.ask for field in fields if field]
    silent = not any(wording and wording.strip() for wording in wordings)
    if collect and silent and "prompt" not in step and "question" not in step:
        what = f"nothing says how to ask for {listing([quoted(slug) for slug in collect], 'and')}"
        yield place.key("collect").notice("ask-missing", what, "Give the step a prompt, or a field an ask")


def _branch(branch: Wire, step: Wire, index: int, place: Place, scope: Scope) -> Iterator[Finding]:
    if "when" not in branch and "if" not in branch:
        what = f"{place.name} has neither when nor if, so nothing decides it"
        fix = instead(branch, ("when", "if"), BRANCH, "Write when for the model, or if for code")
        yield place.problem("branch-without-test", what, fix)
    if "when" in branch and "wait" in step:
        what = f"{place.name} has a when, and nothing judges it while the run waits"
        yield place.notice("unjudged-branch", what, "Write an if, or move the branch to a talk step")
    if "if" in branch:
        yield from check_condition(branch["if"], place.key("if"), scope.names)
    yield from _target(branch["then"], index, place.key("then"), scope)


def _target(target: Any, index: int, place: Place, scope: Scope) -> Iterator[Finding]:
    if target == "end":
        return
    clear: Sequence[Any] = target.get("clear", ()) if is_object(target) else ()
    if is_object(target) and "flow" in target:
        yield from _flow_target(target["flow"], place, scope.names.flows)
    else:
        yield from _step_target(_step_of(target), index, place, scope, clears=bool(clear))
    yield from _slugs(clear, place.key("clear"), scope.names)


def _step_of(target: Any) -> Any:
    return target.get("step") if is_object(target) else target


def _step_target(step_id: str, index: int, place: Place, scope: Scope, *, clears: bool) -> Iterator[Finding]:
    position = scope.steps.get(step_id)
    if position is None:
        what = f"{place.name} leads to {quoted(step_id)}, and the flow has no step of that id"
        there = f" or one of its steps: {listing(_few(scope.steps))}" if scope.steps else ""
        fix = f'{meant(step_id, ["end", *scope.steps])}Write "end"{there}'
        yield place.problem("unknown-step", what, fix)
    elif position <= index and not clears:
        what = f"{place.name} leads back to {quoted(step_id)} and clears nothing, so known fields are not asked again"
        yield place.notice(
            "backward-without-clear",
            what,
            f'Write {{"step": {quoted(step_id)}, "clear": ["<field>"]}} where they should be',
        )


def _flow_target(flow_id: str, place: Place, flows: Sequence[str] | None) -> Iterator[Finding]:
    if flows is None or "{{" in flow_id or flow_id in flows:
        return
    there = listing([quoted(name) for name in flows], "and") if flows else "none"
    what = f"{place.name} starts the flow {quoted(flow_id)}, and there is no such flow"
    yield place.notice("unknown-flow", what, meant(flow_id, flows) + f"The flows are: {there}")


def _do(step: Wire, index: int, place: Place, scope: Scope) -> Iterator[Finding]:
    action = step["do"]
    name = scope.names.called(action)
    if name is None and callable(action):
        what = f"the function {quoted(action_name(action))} is not among the agent's actions"
        yield place.key("do").problem("unknown-action", what, "Add it to the agent's actions")
    elif name is None or name not in scope.names.actions:
        what = f"the agent has no action called {_shown(action if name is None else name)}"
        yield place.key("do").problem("unknown-action", what, _known(name, scope.names.actions))
    else:
        parameters = scope.names.actions[name]
        yield from check_with(step.get("with", {}), name, parameters, place.key("with"))
        moves = scope.names.action_moves.get(name, ())
        yield from check_moves(moves, f"the action {quoted(name)}", place.key("do"), scope.steps, scope.names.flows)
    if "onFail" in step:
        yield from _target(step["onFail"], index, place.key("onFail"), scope)


def _wait(wait: Any, place: Place, scope: Scope) -> Iterator[Problem]:
    if not is_object(wait):
        yield from _duration(wait, place)
        return
    yield from _event(wait["event"], place, scope.names)
    if "upTo" in wait:
        yield from _duration(wait["upTo"], place.key("upTo"))


def _backward_if(step: Wire, index: int, place: Place, scope: Scope) -> Iterator[Problem]:
    """S18: when the condition fails the flow would end, and while it holds it would never go on."""
    target = _step_of(step.get("then"))
    if body_kinds(step) == ["if"] and "else" not in step and scope.steps.get(target, index + 1) <= index:
        what = f"then leads back to {quoted(target)}, and without an else the flow ends when the condition fails"
        yield place.key("then").problem("backward-if-without-else", what, "Write else, such as the next step or end")
