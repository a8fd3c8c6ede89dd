"""The JSON Schema (2020-12) of flow documents, by which an editor completes, explains and checks what is typed.

It is open where `flow_spec_schema` is closed: a property that nobody reads is allowed (S-43), and
`null` is the same as nothing (F-1.2). So whatever `validate_flow` accepts, it accepts; names, ids and
targets are `validate_flow`'s own matter. With an agent's names it offers those, and no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from falai.flow.durations import EXAMPLES
from falai.flow.plan import ParamPlan
from falai.flow.registries import Registries
from falai.flow.schemadefinitions import action, business_hours, event, field, parameter
from falai.flow.schemaparts import (
    BOOLEAN,
    NOTHING,
    Schema,
    listed,
    mapped,
    named_id,
    nullable,
    object_of,
    one_of,
    ref,
    said,
    text,
    variants,
    with_set,
)
from falai.flow.shape import INSTRUCTION_KINDS, ON_END

__all__ = ["DIALECT", "document_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_OF_AGENT = ("flows", "fields", "actions", "events", "conditions")
_ANYTHING: Schema = {}
_KINDS = ("collect", "prompt", "say", "do", "wait", "if")
_TALK_KINDS = ("collect", "prompt")


def document_schema(names: Registries | None = None) -> Schema:
    """The schema of a document: a flow, a list of flows, or an agent with its flows.

    With `names`, those of an agent, each place where a name stands lists the ones that there are.
    """
    parts = _Parts(names)
    return {
        "$schema": DIALECT,
        "title": "Flows of falai",
        "if": {"type": "array"},
        "then": {"items": ref("flow")},
        "else": {
            "if": {
                "type": "object",
                "not": {"required": ["steps"]},
                "anyOf": [{"required": [key]} for key in _OF_AGENT],
            },
            "then": ref("agent"),
            "else": ref("flow"),
        },
        "$defs": parts.all(),
    }


class _Parts:
    """The named parts of the schema."""

    def __init__(self, names: Registries | None) -> None:
        self._names = names

    def all(self) -> dict[str, Schema]:
        return {
            "flow": self._flow(),
            "agent": self._agent(),
            "trigger": self._trigger(),
            "step": self._step(),
            "target": self._target(),
            "branch": self._branch(),
            "condition": self._condition(),
            "instruction": self._instruction(),
            "repeat": _repeat(),
            "duration": said(text(pattern=r"^[0-9]+(\.[0-9]+)?[smhd]$"), f"How long: {EXAMPLES}."),
            "field": field(),
            "parameter": parameter(),
            "slugs": listed(self._slug()),
            "tools": listed(self._tool()),
        }

    # --- names ---

    def _slug(self) -> Schema:
        return text() if self._names is None else one_of(self._names.fields)

    def _tool(self) -> Schema:
        return text() if self._names is None else one_of(self._names.tools)

    def _event(self) -> Schema:
        return text() if self._names is None else one_of(self._names.events)

    def _flow_id(self) -> Schema:
        """An id, or a template; one that names no flow is a warning, so it is offered and not demanded (S-29)."""
        known = None if self._names is None else self._names.flows
        return {"anyOf": [one_of(known), text()]} if known else text()

    # --- flows ---

    def _flow(self) -> Schema:
        schema = object_of(
            {
                "id": said(
                    named_id(), "What the flow is known by: in targets, in sessions. Keep it when the flow is live."
                ),
                "name": said(text(minLength=1), "What people and the model read; the id, if it is left out."),
                "description": said(text(), "When to use the flow. The model reads it."),
                "on": said(listed(ref("trigger")), "What starts it; without triggers, only a host or another flow."),
                "anchor": said(text(), "What a run belongs to: session, or a name that the host uses."),
                "while": said(ref("condition"), "Must hold whenever the flow goes on; else the run is over."),
                "collect": said(ref("slugs"), "Fields that the flow needs, noted whenever a message has them."),
                "clearOnStart": said(ref("slugs"), "Fields that are forgotten when the flow starts."),
                "steps": said(listed(ref("step")), "What it does, in order; each step leads to the next one."),
                "onEnd": said(one_of(ON_END), "After the last step: finish, keep talking, or start again."),
                "instructions": said(listed(ref("instruction")), "Rules for the wording while this flow talks."),
                "tools": said(ref("tools"), "Tools that the model may use here; absent: all, []: none."),
            },
            required=("id", "steps"),
        )
        return said(schema, "A flow: what starts it, and its steps.")

    def _trigger(self) -> Schema:
        starts = {
            "if": said(ref("condition"), "Must hold for the flow to start."),
            "repeat": said(ref("repeat"), "How often it may start."),
        }
        hours = said(BOOLEAN, "Whether the time is moved into business hours.")
        phrases = "in a few phrases; one that begins with ! rules it out"
        own: Mapping[str, Mapping[str, Schema]] = {
            "message": {"message": said(listed(text()), f"What the customer may want, {phrases}. []: any message.")},
            "mention": {
                "mention": said(listed(text()), f"What the customer may touch on, {phrases}."),
                "extract": said(mapped(ref("parameter")), "What is read from the message, as the run's input."),
            },
            "silence": {"silence": ref("duration"), "businessHours": hours},
            "event": {
                "event": said(self._event(), "The event that starts it."),
                "after": said(ref("duration"), "How long after the event."),
                "businessHours": hours,
            },
        }
        return variants({kind: {**parts, **starts} for kind, parts in own.items()}, tuple(own))

    # --- steps ---

    def _step(self) -> Schema:
        common = {
            "id": said(named_id({"not": {"const": "end"}}), "What targets and sessions know the step by."),
            "label": said(text(), "What people read in drawings."),
            "then": said(ref("target"), "Where it leads when all goes well; the next step, if left out."),
            "ui": said(object_of({}), "What an editor keeps; it is never read."),
        }
        kinds = variants({kind: self._own(kind) for kind in _KINDS}, _KINDS, together=_TALK_KINDS)
        return object_of(common, required=("id",)) | kinds

    def _own(self, kind: str) -> Mapping[str, Schema]:
        """What a kind of step has beside the common properties."""
        match kind:
            case "collect" | "prompt":
                return self._talk(kind)
            case "say":
                return {
                    "kind": one_of(["say"]),
                    "say": said(text(), "A fixed text, sent word for word; {{data.<field>}} is filled in."),
                    "media": object_of({"slug": text()}, required=("slug",)),
                    "once": said(BOOLEAN, "Whether it is said once per conversation only."),
                }
            case "do":
                return self._do()
            case "wait":
                return self._wait()
            case _:
                return {
                    "kind": one_of(["if"]),
                    "if": said(ref("condition"), "What decides: then where it holds, else where it does not."),
                    "else": said(
                        ref("target"), "Where it leads when the condition does not hold; the end, if left out."
                    ),
                }

    def _talk(self, kind: str) -> Mapping[str, Schema]:
        asking = {
            "collect": said(ref("slugs"), "Fields to ask for now."),
            "question": said(text(), "A fixed first question, sent word for word."),
        }
        return {
            "kind": one_of([kind]),
            **(asking if kind == "collect" else {}),
            "prompt": said(text(), "What to say, as a guideline for the model."),
            "ask": said(self._asks(), "How to ask for a field here: field to guideline."),
            "maxAsks": said({"type": "integer", "minimum": 1}, "How often a field may be asked for; 3, if left out."),
            "branches": said(listed(ref("branch")), "Ways out, judged on the customer's next message."),
            "tools": ref("tools"),
            "instructions": listed(ref("instruction")),
        }

    def _asks(self) -> Schema:
        if self._names is None:
            return mapped(text())
        return {**object_of(dict.fromkeys(self._names.fields, text())), "additionalProperties": NOTHING}

    def _do(self) -> Mapping[str, Schema]:
        return {
            "kind": one_of(["do"]),
            "do": said(text() if self._names is None else one_of(self._names.actions), "The action that is run."),
            "with": said(object_of({}), "What the action is given; texts may have {{placeholders}}."),
            "onFail": said(ref("target"), "Where it leads when the action fails; as then, if left out."),
            **({} if self._names is None else {"*": {"oneOf": list(map(self._action, self._names.actions))}}),
        }

    def _action(self, name: str) -> Schema:
        assert self._names is not None
        parameters = {key: one for key, one in (self._names.actions[name] or {}).items() if one is not None}
        needed = [key for key, one in parameters.items() if not one.optional]
        given = object_of({key: _value(one) for key, one in parameters.items()}, required=needed)
        closed = {**given, "additionalProperties": NOTHING}
        schema = {"properties": {"do": {"const": name}, "with": closed if needed else nullable(closed)}}
        about = self._names.descriptions.get(name)
        return said(schema | ({"required": ["with"]} if needed else {}), about or "")

    def _wait(self) -> Mapping[str, Schema]:
        up_to = said(ref("duration"), "How long at most; 30d, if left out.")
        event = object_of({"event": said(self._event(), "What it waits for."), "upTo": up_to}, required=("event",))
        return {
            "kind": one_of(["wait", "waitEvent"]),
            "wait": said({"anyOf": [ref("duration"), event]}, f"A duration ({EXAMPLES}), or an event to wait for."),
            "businessHours": said(BOOLEAN, "Whether the time is moved into business hours."),
            "else": said(ref("target"), "Where it leads when the customer writes first, or the event does not come."),
            "branches": said(listed(ref("branch")), "Ways out when the customer writes first, decided by code."),
        }

    # --- targets, conditions, instructions ---

    def _target(self) -> Schema:
        step = {
            "step": said(text(), "The id of a step of this flow."),
            "clear": said(ref("slugs"), "Fields to forget on the way, so that they are asked again."),
        }
        flow = {
            "flow": said(self._flow_id(), "The id of another flow, which takes over; a template may name it."),
            "input": said(_ANYTHING, "What that run gets as its input."),
        }
        objects = {"type": "object"} | variants({"step": step, "flow": flow}, ("step", "flow"))
        return {"anyOf": [said(text(), 'The id of a step of this flow, or "end".'), objects]}

    def _branch(self) -> Schema:
        branch = object_of(
            {
                "when": said(text(), "What the model judges the customer's message by."),
                "if": said(ref("condition"), "What code decides."),
                "then": said(ref("target"), "Where it leads."),
            },
            required=("then",),
        )
        return branch | {"anyOf": [with_set("when"), with_set("if")]}

    def _condition(self) -> Schema:
        hosts = {} if self._names is None else dict.fromkeys(self._names.conditions, said(_ANYTHING, "A host's own."))
        schema = object_of(
            {
                "equals": said(self._equals(), "Fields that have this very value."),
                "known": said(ref("slugs"), "Fields that have a value."),
                "silenced": said(BOOLEAN, "Whether the assistant must not speak right now."),
                **hosts,
            }
        )
        return schema if self._names is None else {**schema, "additionalProperties": NOTHING}

    def _equals(self) -> Schema:
        if self._names is None:
            return object_of({})
        fields = {
            slug: _ANYTHING if plan is None else _scalar(plan.type, plan.enum, plan.description)
            for slug, plan in self._names.fields.items()
        }
        return {**object_of(fields), "additionalProperties": NOTHING}

    def _instruction(self) -> Schema:
        when = {"anyOf": [text(), listed(text())]}
        return object_of(
            {
                "id": _ANYTHING,
                "kind": one_of(INSTRUCTION_KINDS),
                "prompt": said(text(), "The rule, in words for the model."),
                "when": said(when, "When it applies, in phrases; one that begins with ! rules it out."),
                "if": ref("condition"),
            },
            required=("prompt",),
        )

    # --- an agent ---

    def _agent(self) -> Schema:
        named = {"anyOf": [listed(text()), object_of({})]}
        texts = {key: text() for key in ("persona", "goal", "timezone", "language")}
        return object_of(
            {
                "name": said(text(), "What the assistant is called."),
                **texts,
                "fields": said(mapped(ref("field")), "What the flows may ask for and know."),
                "actions": said(mapped(action()), "What the flows may do, with its parameters."),
                "events": said(mapped(event()), "What may happen outside the conversation."),
                "conditions": said(named, "Conditions of the host's, by name."),
                "tools": said(named, "Tools that the model may use, by id."),
                "flows": listed(ref("flow")),
                "instructions": said(listed(ref("instruction")), "Rules for the wording of all that is said."),
                "idle": said({"anyOf": [one_of(["silent"]), self._idle()]}, "Who answers while no flow talks."),
                "businessHours": said(business_hours(), "When waits and silences with businessHours may end."),
                "knowledgeBase": said(_ANYTHING, "What the model may use as facts."),
                "ignore": said(listed(text()), "Warnings that are accepted: CODE, CODE:FLOW, CODE:FLOW.STEP."),
            }
        )

    def _idle(self) -> Schema:
        return object_of(
            {
                "prompt": said(text(), "What to say then, as a guideline for the model."),
                "tools": ref("tools"),
                "instructions": listed(ref("instruction")),
            }
        )


# --- values ------------------------------------------------------------------------------------


def _value(parameter: ParamPlan) -> Schema:
    if parameter.items is not None:
        items = _scalar(parameter.items.type, parameter.items.enum, None)
        return said({"type": "array", "items": items}, parameter.description or "")
    return _scalar(parameter.type, parameter.enum, parameter.description)


def _scalar(kind: str, enum: Sequence[Any] | None, description: str | None) -> Schema:
    """A value of a type; a text that has a placeholder is judged when it is filled in (S-33)."""
    plain: Schema = {"type": kind}
    if enum is not None:
        plain = {"anyOf": [{"type": kind, "enum": list(enum)}, {"type": "string", "pattern": r"\{\{"}]}
        plain = plain if kind == "string" else {"type": kind, "enum": list(enum)}
    return said(plain, description or "")


def _repeat() -> Schema:
    cooldown = object_of({"cooldown": ref("duration")}, required=("cooldown",))
    return {"anyOf": [one_of(["once", "always"]), cooldown]}
