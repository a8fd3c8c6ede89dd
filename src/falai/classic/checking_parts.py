"""Checks that agents, flows, steps and signals share: conditions, instructions, tools, names of fields (D-4).

A check gives every finding; `place.where` names the owner for people, `place.name` the member.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from falai.classic.options import INSTRUCTION, TOOL
from falai.classic.schema import SchemaField, misfits
from falai.classic.tools import handler_of, tool_id
from falai.flow.places import Finding, Place, Wire, is_list, is_object, listing
from falai.flow.shape import INSTRUCTION_KINDS, texts_shape
from falai.flow.unlisted import unlisted
from falai.session.jsontext import MISSING, quoted, show

__all__ = [
    "Check", "Fields", "boolean", "called", "each", "fields_named", "functions", "hooks", "initial_data",
    "instructions", "joined", "objects", "template", "text", "tools", "when",
]  # fmt: skip

Check = Callable[[Any, Place], Iterator[Finding]]
Fields = Mapping[str, SchemaField]


def each(checks: Mapping[str, Check], value: Wire, place: Place) -> Iterator[Finding]:
    """The check of every member that is set, in the order of the table."""
    for key, check in checks.items():
        if key in value:
            yield from check(value[key], place.key(key))


def objects(value: Any, place: Place, check: Callable[[Wire, int], Iterator[Finding]]) -> Iterator[Finding]:
    """A list of objects, and the check of each."""
    if not is_list(value):
        yield place.problem("not-a-list", f"{place.name} is {show(value)}", "Write a list")
        return
    for index, entry in enumerate(value):
        if is_object(entry):
            yield from check(entry, index)
        else:
            there = place.item(index)
            yield there.problem("bad-entry", f"{there.name} is {show(entry)}", "Write an object")


def called(outer: Place, kind: str, value: Wire, place: Place) -> Place:
    """The place of a part that has an id: `flow "a", step "b"`, with the path that it stands at."""
    owner = "" if outer.where == "agent" else f"{outer.where}, "
    return Place(f"{owner}{kind} {quoted(str(value.get('id')))}", place.path)


def joined(names: Collection[str]) -> str:
    """`"a", "b" and "c"`, `none` of nothing."""
    return listing([quoted(name) for name in names], "and") if names else "none"


def text(value: Any, place: Place) -> Iterator[Finding]:
    """Text of any kind."""
    if not isinstance(value, str):
        yield place.problem("not-text", f"{place.name} is {show(value)}", "Write text")


def template(value: Any, place: Place) -> Iterator[Finding]:
    """Text or a callable (D-17)."""
    if not callable(value) and not isinstance(value, str):
        yield place.problem("not-text", f"{place.name} is {show(value)}", "Write text, or give a function that does")


def boolean(value: Any, place: Place) -> Iterator[Finding]:
    """True or false."""
    if not isinstance(value, bool):
        yield place.problem("not-a-boolean", f"{place.name} is {show(value)}", "Write true or false")


def when(value: Any, place: Place) -> Iterator[Finding]:
    """Text, or a list of texts: the model judges it, so a function has no place here."""
    entries = [(place.item(n), entry) for n, entry in enumerate(value)] if is_list(value) else [(place, value)]
    for here, entry in entries:
        if callable(entry):
            fix = "The model judges when, code judges if: move the function to if"
            yield here.problem("function-on-when", f"{here.name} is a function", fix)
        elif not isinstance(entry, str):
            yield here.problem("not-text", f"{here.name} is {show(entry)}", "Write text, or a list of texts")


def functions(value: Any, place: Place) -> Iterator[Finding]:
    """A predicate, or a list of them (D-12)."""
    entries = [(place.item(n), entry) for n, entry in enumerate(value)] if is_list(value) else [(place, value)]
    for here, entry in entries:
        if not callable(entry):
            yield here.problem("not-a-function", f"{here.name} is {show(entry)}", "Give a function, or a list of them")


def hooks(names: Collection[str]) -> Check:
    """Functions under these names (D-80)."""

    def check(value: Any, place: Place) -> Iterator[Finding]:
        if not is_object(value):
            fix = f"Write an object of functions: {joined(names)}"
            yield place.problem("not-an-object", f"{place.name} is {show(value)}", fix)
            return
        yield from unlisted(value, names, place)
        for name in names:
            if value.get(name) is not None and not callable(value[name]):
                here = place.key(name)
                yield here.problem("not-a-function", f"{here.name} is {show(value[name])}", "Give a function")

    return check


def instructions(value: Any, place: Place) -> Iterator[Finding]:
    """The instructions of one scope, each with an id of its own (D-40)."""
    seen: set[str] = set()

    def check(instruction: Wire, index: int) -> Iterator[Finding]:
        here = called(place, "instruction", instruction, place.item(index))
        id = instruction["id"]
        if id in seen:
            what = f"{quoted(id)} is the id of another instruction of this scope"
            yield here.key("id").problem("duplicate-instruction", what, "Choose another id")
        seen.add(id)
        yield from _instruction(instruction, here)

    yield from objects(value, place, check)


def _instruction(instruction: Wire, place: Place) -> Iterator[Finding]:
    kind = instruction.get("kind", "should")
    if not isinstance(kind, str) or kind not in INSTRUCTION_KINDS:
        fix = f"Write {listing([quoted(name) for name in INSTRUCTION_KINDS])}"
        yield place.key("kind").problem("bad-instruction-kind", f"kind is {show(kind)}", fix)
    yield from template(instruction.get("prompt", MISSING), place.key("prompt"))
    yield from each({"when": when, "if": functions, "enabled": boolean}, instruction, place)
    yield from unlisted(instruction, INSTRUCTION, place)


def tools(value: Any, place: Place, registered: Collection[str] | None) -> Iterator[Finding]:
    """Tools, or ids of those that are registered further out; at the agent (`None`) there are only tools (D-47)."""
    if not is_list(value):
        yield place.problem("not-a-list", f"{place.name} is {show(value)}", "Write a list of tools")
        return
    for index, tool in enumerate(value):
        yield from one_tool(tool, place.item(index), registered)


def one_tool(tool: Any, place: Place, registered: Collection[str] | None) -> Iterator[Finding]:
    """A tool with id and handler, or the id of a registered one."""
    if isinstance(tool, str) and registered is not None:
        if tool not in registered:
            what = f"{place.name} names the tool {quoted(tool)}, which is not registered"
            yield place.problem(
                "unknown-tool", what, f"Register it with the agent, or name one of: {joined(registered)}"
            )
        return
    id = tool_id(tool)
    if id is None:
        shown = f"a tool without an id: {show(tool.get('id', MISSING))}" if is_object(tool) else show(tool)
        yield place.problem("bad-tool", f"{place.name} is {shown}", "Give it an id and a handler")
    elif not callable(handler_of(tool)):
        what = f"the tool {quoted(id)} has as its handler: {show(handler_of(tool))}"
        yield place.problem("bad-tool", what, "Give it a function of (ctx, args)")
    if is_object(tool):
        yield from unlisted(tool, TOOL, place)


def fields_named(value: Any, place: Place, fields: Collection[str] | None, code: str, owner: str) -> Iterator[Finding]:
    """A list of names, each that of a field; `None` when a wrong schema keeps the fields from being known."""
    yield from texts_shape(value, place)
    for index, name in enumerate(value if is_list(value) and fields is not None else ()):
        if isinstance(name, str) and name not in (fields or ()):
            there = place.item(index)
            what = f"{there.name} of {owner} names the field {quoted(name)}, which the schema does not have"
            yield there.problem(code, what, f"Available fields: {joined(fields or ())}")


def initial_data(value: Any, place: Place, fields: Fields | None) -> Iterator[Finding]:
    """Data that fit the schema, when there is one (D-4)."""
    code = "bad-initial-data"
    if not is_object(value):
        yield place.problem(code, f"{place.name} is {show(value)}", 'Write an object: {"<field>": <value>}')
        return
    for wrong in misfits(value, fields) if fields is not None else ():
        here = place.key(wrong.field)
        yield here.problem(code, f"the field {quoted(wrong.field)} {wrong.message}", "Write what the schema allows")
