"""All that is wrong with the options of an agent, at once (D-1, D-4, D-7, D-9).

`checked_options` is the one way in. It takes options in any spelling and calls no provider; the
checks below it look at the wire form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from falai.classic.checking_flows import Known, check_flow, flow_place
from falai.classic.checking_parts import (
    Check,
    boolean,
    called,
    each,
    functions,
    hooks,
    initial_data,
    instructions,
    objects,
    template,
    text,
    tools,
    when,
)
from falai.classic.errors import UnsupportedOptionError
from falai.classic.options import AGENT, HOOKS, PERSISTENCE, SIGNAL, TERM, is_core_flow, wire_options
from falai.classic.schema import SchemaField, read_schema
from falai.classic.tools import tool_id
from falai.errors import FlowConfigurationError, Problem
from falai.flow.options import check_compaction
from falai.flow.places import Finding, Notice, Place, Wire, is_list, is_object, listing
from falai.flow.unlisted import unlisted
from falai.flow.values import is_number
from falai.flow.wire import to_wire
from falai.session.jsontext import MISSING, quoted, show
from falai.session.keys import is_blank_id

__all__ = ["Checked", "checked_options", "option_findings"]

_AGENT = Place("agent")


@dataclass(frozen=True, slots=True)
class Checked:
    """Options without a problem: in wire form, with every id; `fields` are those of the schema.

    `warnings` tell of what has no meaning where it stands, such as a misspelt name.
    """

    options: Mapping[str, Any]
    fields: Mapping[str, SchemaField]
    warnings: tuple[Notice, ...]
    signals: Mapping[str, Wire]
    """The signals by id as their author gave them."""

    def is_enabled(self, signal_id: str) -> bool:
        """Whether the author has the signal switched on now: this is looked at in each turn (D-69)."""
        return self.signals[signal_id].get("enabled") is not False


def checked_options(options: Wire) -> Checked:
    """The options of `create_agent`, by wire names or snake_case, checked as one.

    Raises UnsupportedOptionError for a `routerMode` other than `"ai"` (D-9), `ValueError` for a
    compaction option out of its range (D-7), and FlowConfigurationError with every other problem.
    """
    wire = wire_options(options)
    mode = wire.get("routerMode", "ai")
    if mode != "ai":
        raise UnsupportedOptionError("routerMode", mode, '"ai"')
    check_compaction(wire.get("compaction"))
    findings = list(option_findings(wire))
    problems = [finding for finding in findings if isinstance(finding, Problem)]
    if problems:
        raise FlowConfigurationError(problems)
    notices = tuple(finding for finding in findings if isinstance(finding, Notice))
    signals = {
        wired["id"]: given for wired, given in zip(wire.get("signals", ()), options.get("signals") or (), strict=True)
    }
    return Checked(wire, read_schema(wire.get("schema"))[0], notices, signals)


def option_findings(options: Wire) -> Iterator[Finding]:
    """Every problem and warning of options in wire form, in the order of D-4 as far as one reads it."""
    fields, in_schema = read_schema(options.get("schema"))
    if is_blank_id(options.get("name")):
        what = f"name is {show(options.get('name', MISSING))}"
        yield _AGENT.key("name").problem("not-text", what, "Write the agent's name")
    if "provider" not in options:
        yield _AGENT.key("provider").problem("bad-model", "provider is missing", 'Name a model: "openai:gpt-5-mini"')
    if "context" in options and "contextProvider" in options:
        what = "both context and contextProvider are given"
        yield _AGENT.key("context").problem("context-and-provider", what, "Keep one of them")
    yield from in_schema
    yield from each(_checks(fields if "schema" in options and not in_schema else None), options, _AGENT)
    yield from unlisted(options, AGENT, _AGENT)
    yield from _flows(options, fields, schema_is_wrong=bool(in_schema))


def _checks(fields: Mapping[str, SchemaField] | None) -> dict[str, Check]:
    return {
        "goal": text,
        "persona": template,
        "initialData": lambda value, here: initial_data(value, here, fields),
        "tools": _agent_tools,
        "instructions": instructions,
        "terms": _terms,
        "signals": _signals,
        "contextProvider": functions,
        "hooks": hooks(HOOKS),
        "knowledgeBase": _object,
        "persistence": _persistence,
        "debug": boolean,
        "sessionId": _id,
        **_LIMITS,
    }


def _whole(least: int, code: str = "bad-limit") -> Check:
    def check(value: Any, place: Place) -> Iterator[Finding]:
        if not is_number(value) or value < least or value % 1:
            fix = f"Write a whole number of {least} or more"
            yield place.problem(code, f"{place.name} is {show(value)}", fix)

    return check


def _margin(value: Any, place: Place) -> Iterator[Finding]:
    if not is_number(value) or not 0 <= value <= 100:
        yield place.problem("bad-limit", f"{place.name} is {show(value)}", "Write a number from 0 to 100")


_LIMITS: Mapping[str, Check] = {
    "signalBatchSize": _whole(1, "bad-signal-batch-size"),
    "flowSwitchMargin": _margin,
    "maxHistoryMessages": _whole(0),
    "maxAutoStepsPerTurn": _whole(1),
    "maxDirectiveChain": _whole(1),
    "maxToolLoops": _whole(0),
}


def _twice(values: Iterable[Any], code: str, place: Place, words: str) -> Iterator[Finding]:
    """One problem for each text that is there more than once."""
    for value, count in Counter(value for value in values if isinstance(value, str)).items():
        if count > 1:
            yield place.problem(code, f"{count} {words} {quoted(value)}", "Let each have one of its own")


def _agent_tools(value: Any, place: Place) -> Iterator[Finding]:
    yield from tools(value, place, None)
    yield from _twice(map(tool_id, value if is_list(value) else ()), "duplicate-tool", place, "tools have the id")


def _terms(value: Any, place: Place) -> Iterator[Finding]:
    def check(term: Wire, index: int) -> Iterator[Finding]:
        here = place.item(index)
        yield from text(term.get("name", MISSING), here.key("name"))
        yield from template(term.get("description", MISSING), here.key("description"))
        yield from each({"synonyms": when}, term, here)
        yield from unlisted(term, TERM, here)

    yield from objects(value, place, check)


def _object(value: Any, place: Place) -> Iterator[Finding]:
    if not is_object(value):
        yield place.problem("not-an-object", f"{place.name} is {show(value)}", "Write an object")


def _id(value: Any, place: Place) -> Iterator[Finding]:
    if is_blank_id(value):
        yield place.problem("not-text", f"{place.name} is {show(value)}", "Write text that is not blank")


def _persistence(value: Any, place: Place) -> Iterator[Finding]:
    if not is_object(value):
        yield place.problem("not-an-object", f"{place.name} is {show(value)}", 'Write {"adapter": <a store>}')
        return
    adapter = value.get("adapter", MISSING)
    if not all(callable(getattr(adapter, method, None)) for method in ("load", "save")):
        here = place.key("adapter")
        yield here.problem("not-a-store", f"{here.name} is {show(adapter)}", "Give a store, such as SQLiteStore")
    yield from each({"autoSave": boolean, "userId": text, "migrateSession": functions}, value, place)
    yield from unlisted(value, PERSISTENCE, place)


# --- signals -----------------------------------------------------------------------------------


def _signals(value: Any, place: Place) -> Iterator[Finding]:
    def check(signal: Wire, index: int) -> Iterator[Finding]:
        here = called(_AGENT, "signal", signal, place.item(index))
        yield from each(_SIGNAL, {"phase": MISSING, "handler": MISSING, **signal}, here)
        yield from unlisted(signal, SIGNAL, here)

    yield from objects(value, place, check)
    ids = [signal["id"] for signal in value if is_object(signal)] if is_list(value) else []
    yield from _twice(ids, "duplicate-signal", place, "signals have the id")


def _one_of(code: str, *allowed: str) -> Check:
    def check(value: Any, place: Place) -> Iterator[Finding]:
        if not isinstance(value, str) or value not in allowed:
            yield place.problem(code, f"{place.name} is {show(value)}", f"Write {listing([*map(quoted, allowed)])}")

    return check


def _extract(value: Any, place: Place) -> Iterator[Finding]:
    if not is_object(value):
        fix = 'Write {"type": "object", "properties": {"<name>": {"type": "string"}}}'
        yield place.problem("bad-signal-extract", f"{place.name} is {show(value)}", fix)


def _handler(value: Any, place: Place) -> Iterator[Finding]:
    if not callable(value):
        yield place.problem("not-a-function", f"{place.name} is {show(value)}", "Give a function of the context")


def _number(value: Any, place: Place) -> Iterator[Finding]:
    if not is_number(value):
        yield place.problem("not-a-number", f"{place.name} is {show(value)}", "Write a number")


_SIGNAL: Mapping[str, Check] = {
    "title": text,
    "description": text,
    "when": when,
    "if": functions,
    "extract": _extract,
    "phase": _one_of("bad-signal-phase", "pre", "post", "both"),
    "handler": _handler,
    "behavior": _one_of("not-one-of", "once", "always", "cooldown"),
    "cooldownMs": _number,
    "enabled": boolean,
    "priority": _number,
}


# --- flows -------------------------------------------------------------------------------------


def _flows(options: Wire, fields: Mapping[str, SchemaField], *, schema_is_wrong: bool) -> Iterator[Finding]:
    """The flows, and what they share with the signals: the space of ids."""
    flows, place = options.get("flows", []), _AGENT.key("flows")
    if not is_list(flows):
        yield place.problem("not-a-list", f"flows is {show(flows)}", "Write a list of flows")
        return
    listed = [_identity(flow) for flow in flows]
    yield from _twice((flow.get("id") for flow in listed), "duplicate-flow", place, "flows have the id")
    yield from _twice((flow.get("title") for flow in listed), "duplicate-flow", place, "flows have the title")
    yield from _clashes(options.get("signals"), listed)
    registered = [id for tool in _items(options.get("tools")) if (id := tool_id(tool)) is not None]
    usable = "schema" in options and not schema_is_wrong
    known = Known(fields if usable else None, _field_names(options.get("schema")), listed, registered)
    for index, flow in enumerate(flows):
        if is_object(flow) and not is_core_flow(flow):
            yield from check_flow(flow, flow_place(flow, index), known)
        elif not is_core_flow(flow):
            there = place.item(index)
            yield there.problem("bad-entry", f"{there.name} is {show(flow)}", "Write an object, or give a Flow")


def _field_names(schema: Any) -> Sequence[str] | None:
    """The names in the schema, those of wrong properties too; `None` when it has no properties to name."""
    if schema is None:
        return ()
    properties = schema.get("properties") if is_object(schema) else None
    return [str(name) for name in properties] if is_object(properties) else None


def _clashes(signals: Any, flows: Sequence[Wire]) -> Iterator[Finding]:
    taken = [flow.get("id") for flow in flows]
    for index, signal in enumerate(_items(signals)):
        id: Any = signal["id"] if is_object(signal) else ""
        if taken.count(id):
            what = f"{quoted(id)} is the id of a signal and of a flow"
            place = _AGENT.key("signals").item(index).key("id")
            yield place.problem("id-clash", what, "Rename one of them: both become flows")


def _identity(flow: Any) -> Wire:
    """Id and title of a flow of either kind; nothing of what is none."""
    wire = to_wire(flow) if is_core_flow(flow) else flow
    if not is_object(wire):
        return {}
    return {"id": wire.get("id"), "title": wire.get("title", wire.get("name"))}


def _items(value: Any) -> Sequence[Any]:
    return value if is_list(value) else ()
