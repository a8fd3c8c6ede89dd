"""Is a 3.x flow one that can run: its fields, its steps, and where their branches lead (D-4, D-10, D-11, D-82)?"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from falai.classic.checking_parts import (
    Check,
    Fields,
    boolean,
    called,
    each,
    fields_named,
    functions,
    hooks,
    initial_data,
    instructions,
    objects,
    one_tool,
    template,
    text,
    tools,
    when,
)  # fmt: skip
from falai.classic.directive import is_directive
from falai.classic.options import BRANCH, FLOW, FLOW_HOOKS, STEP, STEP_HOOKS
from falai.classic.tools import is_tool, tool_id
from falai.classic.validating import directive_problems
from falai.flow.places import Finding, Place, Wire, is_list, is_object, listing
from falai.flow.unlisted import unlisted
from falai.session.jsontext import MISSING, quoted, show
from falai.session.keys import is_blank_id

__all__ = ["Known", "check_flow", "flow_place"]


_OF_TALK: tuple[str, ...] = ("prompt", "collect", "tools", "finalize")


@dataclass(frozen=True, slots=True)
class Known:
    """What the names in flows resolve against; `flows` have `id` and `title`.

    `fields` is `None` without a schema, and where it is wrong; `names`, those of its fields, only then.
    """

    fields: Fields | None
    names: Collection[str] | None
    flows: Sequence[Wire]
    tools: Collection[str]


def flow_place(flow: Wire, index: int) -> Place:
    """The place of the flow that stands there in the agent's list."""
    return Place(f"flow {quoted(str(flow.get('id')))}", f"flows[{index}]")


def check_flow(flow: Wire, place: Place, known: Known) -> Iterator[Finding]:
    """Every finding of one flow in wire form, its steps included."""
    title = flow.get("title", MISSING)
    if is_blank_id(title):
        yield place.key("title").problem("not-text", f"title is {show(title)}", "Give the flow a title")
    owner = f"the flow {show(title)}"
    inner = replace(known, tools={*known.tools, *_ids(flow.get("tools"))})
    checks: dict[str, Check] = {
        "description": text,
        "when": when,
        "if": functions,
        "requiredFields": lambda value, here: fields_named(value, here, known.names, "unknown-flow-field", owner),
        "optionalFields": lambda value, here: fields_named(value, here, known.names, "unknown-flow-field", owner),
        "initialData": lambda value, here: initial_data(value, here, known.fields),
        "instructions": instructions,
        "tools": lambda value, here: tools(value, here, known.tools),
        "onComplete": text,
        "reentrant": boolean,
        "hooks": hooks(FLOW_HOOKS),
    }
    yield from each(checks, flow, place)
    yield from _completions(flow, place, owner)
    yield from unlisted(flow, FLOW, place)
    yield from _steps(flow, place, inner, owner)


def _completions(flow: Wire, place: Place, owner: str) -> Iterator[Finding]:
    own = flow.get("hooks")
    if "onComplete" in flow and is_object(own) and own.get("onComplete") is not None:
        what = f"{owner} has both onComplete and hooks.onComplete"
        yield place.key("onComplete").problem("two-completions", what, "Keep one of them")


def _ids(given: Any) -> list[str]:
    """The ids of the tools of a scope."""
    found = [tool_id(tool) for tool in given] if is_list(given) else []
    return [id for id in found if id is not None]


def _steps(flow: Wire, place: Place, known: Known, owner: str) -> Iterator[Finding]:
    steps = flow.get("steps", [])
    ids = [step["id"] for step in steps if is_object(step)] if is_list(steps) else []
    seen: set[str] = set()

    def check(step: Wire, index: int) -> Iterator[Finding]:
        here = called(place, "step", step, place.key("steps").item(index))
        yield from _id(step["id"], here, seen)
        yield from _Step(step, here, known, f"the step {quoted(step['id'])} of {owner}", flow, ids).findings()

    yield from objects(steps, place.key("steps"), check)


def _id(id: str, place: Place, seen: set[str]) -> Iterator[Finding]:
    if id == "end":
        yield place.key("id").problem("reserved-step-id", '"end" is the end of the flow', "Choose another id")
    elif id in seen:
        what = f"{quoted(id)} is the id of another step of this flow"
        yield place.key("id").problem("duplicate-step", what, "Choose another id")
    seen.add(id)


@dataclass(frozen=True, slots=True)
class _Step:
    """One step, and what its checks look things up in."""

    step: Wire
    place: Place
    known: Known
    owner: str
    flow: Wire
    ids: Sequence[str]

    def findings(self) -> Iterator[Finding]:
        yield from self._shape()
        yield from each(self._checks(), self.step, self.place)
        for name in ("prepare", "finalize"):
            yield from self._shorthand(name)
        yield from unlisted(self.step, STEP, self.place)

    def _checks(self) -> dict[str, Check]:
        return {
            "description": text,
            "prompt": template,
            "reply": template,
            "auto": boolean,
            "collect": self._fields,
            "requires": self._fields,
            "when": when,
            "if": functions,
            "skip": functions,
            "instructions": instructions,
            "tools": lambda value, here: tools(value, here, self.known.tools),
            "hooks": hooks(STEP_HOOKS),
            "branches": self._branches,
        }

    def _fields(self, value: Any, place: Place) -> Iterator[Finding]:
        return fields_named(value, place, self.known.names, "unknown-collect-field", self.owner)

    def _shape(self) -> Iterator[Finding]:
        """An auto step and a reply step have nothing of a talk step (D-11)."""
        if "reply" in self.step:
            code, kind, barred = "reply-step-shape", "a reply step", (*_OF_TALK, "auto")
        elif self.step.get("auto") is True:
            code, kind, barred = "auto-step-shape", "an auto step", _OF_TALK
        else:
            return
        own = self.step.get("hooks")
        found = [name for name in barred if name in self.step and self.step[name] is not False]
        found += ["hooks.finalize"] if is_object(own) and own.get("finalize") is not None else []
        if found:
            what = f"{self.owner} is {kind} with {listing(found, 'and')}"
            yield self.place.problem(code, what, "Take these out, or put them on a step of their own")

    def _shorthand(self, name: str) -> Iterator[Finding]:
        """A function, a tool or a tool's id; a tool not beside a function hook of the same place (D-80)."""
        given, place = self.step.get(name), self.place.key(name)
        if given is None:
            return
        yield from one_tool(given, place, {*self.known.tools, *_ids(self.step.get("tools"))})
        own = self.step.get("hooks")
        if is_tool(given) and is_object(own) and callable(own.get(name)):
            what = f"{self.owner} has a tool as {name} and a function as hooks.{name}"
            yield place.problem("mixed-hook", what, "Keep one of them")

    def _branches(self, value: Any, place: Place) -> Iterator[Finding]:
        if is_list(value) and not value:
            what = f"{place.name} of {self.owner} is empty"
            yield place.problem("empty-branches", what, "Leave it out: the next step follows anyway")
        yield from objects(value, place, self._branch_of(value, place))

    def _branch_of(self, branches: Any, place: Place) -> Callable[[Wire, int], Iterator[Finding]]:
        def check(branch: Wire, index: int) -> Iterator[Finding]:
            here = place.item(index)
            if not _conditions(branch) and index < len(branches) - 1:
                what = f"{here.name} of {self.owner} has neither when nor if, so no entry after it is ever looked at"
                yield here.problem("dead-branch", what, "Make it the last one, or give it a condition")
            yield from each({"when": when, "if": functions, "label": text}, branch, here)
            yield from self._target(branch.get("then", MISSING), here.key("then"))
            yield from unlisted(branch, BRANCH, here)

        return check

    def _target(self, target: Any, place: Place) -> Iterator[Finding]:
        if is_directive(target):
            for problem in directive_problems(target, place):
                yield replace(problem, code="bad-directive", what=f"the directive is invalid: {problem.what}")
        elif not isinstance(target, str) or not self._is_place(target):
            where = quoted(f"{self.flow['id']}.{self.step['id']}")
            what = f"{place.name} of {where} is {_named(target)}, which is neither a step of this flow nor a flow"
            yield place.problem("bad-branch-target", what, f"Steps of this flow: {listing([*map(quoted, self.ids)])}")

    def _is_place(self, name: str) -> bool:
        return name in self.ids or any(name in (flow.get("id"), flow.get("title")) for flow in self.known.flows)


def _conditions(branch: Wire) -> bool:
    """Whether a branch has any; empty lists are none."""
    return any(branch.get(key) not in (None, [], ()) for key in ("when", "if"))


def _named(target: Any) -> str:
    return quoted(target) if isinstance(target, str) else show(target)
