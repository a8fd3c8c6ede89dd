"""The JSON schema by which a model writes a flow that names only what the agent has (S-49 to S-59).

Every object is closed and requires all of its properties; what is optional may be null. The schema
shapes the answer; `validate_flow` proves it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from falai.errors import FlowConfigurationError
from falai.flow.conditions import BUILT_IN
from falai.flow.durations import EXAMPLES
from falai.flow.registries import Registries, read_registries
from falai.flow.schema import to_wire_schema
from falai.flow.shape import INSTRUCTION_KINDS, ON_END

__all__ = ["flow_spec_schema"]

Schema = dict[str, Any]

_BOOLEAN: Schema = {"type": "boolean"}
_DURATION = f"How long: {EXAMPLES}."


def flow_spec_schema(registries: Registries | Mapping[str, Any]) -> Schema:
    """The response schema for a generation call that writes a flow spec (S-49).

    `registries` is what `validate_flow` takes. Raises FlowConfigurationError when its definitions are wrong.
    """
    names, problems = (registries, []) if isinstance(registries, Registries) else read_registries(registries)
    if problems:
        raise FlowConfigurationError(problems)
    return _Writer(names).flow()


class _Writer:
    """The parts of the schema for one set of names, each made afresh where it is used (S-51: no `$ref`)."""

    def __init__(self, names: Registries) -> None:
        self._names = names
        self._slugs = list(names.fields)

    def flow(self) -> Schema:
        needed = "Fields that the flow needs; noted whenever the customer mentions them."
        return _object(
            id=_text("A short id of its own, in kebab case."),
            name=_text(),
            description=_nullable(_text("What the flow is for, and when to use it.")),
            on=_nullable(_list(self._trigger(), "What starts the flow; null when only another flow or the host does.")),
            anchor=_nullable(_text("What a run belongs to: null for the conversation, or a name that the host uses.")),
            **{"while": _nullable({**self._condition(), "description": "Must hold whenever the flow goes on."})},
            collect=self._fields(needed),
            clearOnStart=self._fields("Fields that are forgotten when the flow starts."),
            steps=_list(self._step(), "What the flow does, in order; each step leads to the next one."),
            onEnd=_nullable(
                {**_enum(*ON_END), "description": "After the last step: finish, keep talking, or start again."}
            ),
            instructions=_nullable(_list(self._instruction(), "Rules for the wording while this flow talks.")),
        )

    def _fields(self, description: str, *, required: bool = False) -> Schema | None:
        """A list of slugs; `None` where there are none, so the property is left out."""
        if not self._slugs:
            return None
        slugs = {"type": "array", "items": _enum(*self._slugs), "description": description}
        return slugs if required else _nullable(slugs)

    # --- triggers and conditions ---

    def _trigger(self) -> Schema:
        starts = {"if": _nullable(self._condition()), "repeat": _repeat()}
        hours = _nullable(_BOOLEAN)
        message = _list(_text(), "What the customer may want, in a few phrases; one that begins with ! rules it out.")
        mention = _list(_text(), "What the customer may touch on while talking of something else; ! rules it out.")
        silence = _text(f"How long the customer has not answered: {EXAMPLES}.")
        kinds = [
            _object(message=message, **starts),
            _object(mention=mention, **starts),
            _object(silence=silence, businessHours=hours, **starts),
        ]
        if self._names.events:
            event = _enum(*self._names.events)
            kinds.append(_object(event=event, after=_nullable(_text(_DURATION)), businessHours=hours, **starts))
        return {"anyOf": kinds}

    def _condition(self) -> Schema:
        argument = [_text(), {"type": "number"}, _BOOLEAN, _list(_text())]
        hosts = {
            name: _nullable({"anyOf": argument, "description": "A condition of the host's; null: not asked."})
            for name in self._names.conditions
            if name not in BUILT_IN  # an agent refuses such a name (A1)
        }
        equals = {
            **to_wire_schema(self._known_fields(), nullable=True),
            "description": "Fields that have this very value.",
        }
        return _object(
            equals=_nullable(equals) if self._slugs else None,
            known=self._fields("Fields that have a value."),
            silenced=_nullable({**_BOOLEAN, "description": "Whether the assistant must not speak right now."}),
            **hosts,
        )

    def _known_fields(self) -> dict[str, Any]:
        return {slug: field for slug, field in self._names.fields.items() if field is not None}

    # --- steps ---

    def _step(self) -> Schema:
        variants = [self._prompt(), self._collect(), self._say(), *self._actions(), self._wait(), self._wait_event()]
        return {"anyOf": [variant for variant in (*variants, self._if()) if variant is not None]}

    def _kind(self, kind: str, **own: Schema | None) -> Schema:
        base = {
            "id": _text("Of its own in this flow."),
            "label": _nullable(_text()),
            "then": _nullable(self._target()),
            "kind": _enum(kind),
        }
        return _object(**base, **own)

    def _prompt(self) -> Schema:
        return self._kind("prompt", prompt=_text("What to say, as a guideline."), branches=self._branches())

    def _collect(self) -> Schema | None:
        slugs = self._fields("Fields to ask for now.", required=True)
        if slugs is None:
            return None
        return self._kind(
            "collect",
            collect=slugs,
            prompt=_nullable(_text("A guideline for asking.")),
            question=_nullable(_text("A fixed first question, sent word for word.")),
            maxAsks=_nullable({"type": "integer", "description": "How often each field may be asked for; null: 3."}),
            branches=self._branches(),
        )

    def _say(self) -> Schema:
        return self._kind(
            "say",
            say=_text("A fixed text, sent word for word; {{data.<field>}} is filled in."),
            media=_nullable(_object(slug=_text())),
            once=_nullable(_BOOLEAN),
        )

    def _actions(self) -> list[Schema]:
        return [self._action(name) for name in self._names.actions]

    def _action(self, name: str) -> Schema:
        parameters = {key: p for key, p in (self._names.actions[name] or {}).items() if p is not None}
        nullable = to_wire_schema(parameters, nullable=True)["properties"]
        schema = to_wire_schema(parameters)
        schema["properties"] |= {key: nullable[key] for key, p in parameters.items() if p.optional}
        description = self._names.descriptions.get(name)
        named = _enum(name) | ({"description": description} if description else {})
        return self._kind(
            "do",
            do=named,
            **{"with": {**schema, "required": list(parameters)} if parameters else None},
            onFail=_nullable(self._target()),
        )

    def _wait(self) -> Schema:
        branch = _object(**{"if": self._condition()}, then=self._target())
        return self._kind(
            "wait",
            wait=_text(_DURATION),
            businessHours=_nullable(_BOOLEAN),
            **{"else": _nullable(self._target())},
            branches=_nullable(_list(branch, "Where to go instead when the customer writes first.")),
        )

    def _wait_event(self) -> Schema | None:
        if not self._names.events:
            return None
        wait = _object(event=_enum(*self._names.events), upTo=_nullable(_text(_DURATION)))
        wait["description"] = "The event that the flow waits for."
        return self._kind("waitEvent", wait=wait, **{"else": _nullable(self._target())})

    def _if(self) -> Schema:
        return self._kind("if", **{"if": self._condition(), "else": _nullable(self._target())})

    def _branches(self) -> Schema:
        then = self._target()
        kinds = [_object(when=_text(), then=then), _object(**{"if": self._condition()}, then=then)]
        return _nullable(_list({"anyOf": kinds}, "Ways out, judged on the customer's next message."))

    def _target(self) -> Schema:
        to_step = _object(step=_text(), clear=self._fields("Fields to forget, so that they are asked again."))
        to_flow = _object(flow=_text("The id of another flow."))
        return {"anyOf": [_text('The id of a step of this flow, or "end".'), to_step, to_flow]}

    def _instruction(self) -> Schema:
        return _object(
            kind=_nullable(_enum(*INSTRUCTION_KINDS)),
            when=_nullable(_list(_text(), "When the rule applies, in phrases; one that begins with ! rules it out.")),
            **{"if": _nullable(self._condition())},
            prompt=_text(),
        )


def _object(**properties: Schema | None) -> Schema:
    """A closed object that requires everything (S-50); a property that is `None` is left out."""
    present = {name: schema for name, schema in properties.items() if schema is not None}
    return {"type": "object", "properties": present, "required": list(present), "additionalProperties": False}


def _text(description: str = "") -> Schema:
    return {"type": "string", "description": description} if description else {"type": "string"}


def _list(items: Schema, description: str = "") -> Schema:
    schema: Schema = {"type": "array", "items": items}
    return {**schema, "description": description} if description else schema


def _enum(*values: str) -> Schema:
    return {"type": "string", "enum": list(values)}


def _nullable(schema: Schema) -> Schema:
    """The same, or null (S-52)."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def _repeat() -> Schema:
    kinds = [_enum("once", "always"), _object(cooldown=_text(_DURATION))]
    return _nullable({"anyOf": kinds, "description": "How often it may start: once, always, or after a pause."})
