"""Actions and tools made of functions (F-12, F-14)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

import pytest

from falai.flow.definition import Param
from falai.flow.functions import Action, Tool, action, as_action, as_tool, plan_action, plan_tool, tool
from falai.flow.handlers import ActionContext, ActionResult, ToolContext, ToolResult, ok
from falai.flow.places import Place
from falai.flow.plan import ActionPlan, ParamPlan, ToolPlan

if TYPE_CHECKING:
    from somewhere import Desk  # type: ignore[import-not-found]  # pyright: ignore[reportMissingImports]  # as hosts do

PLACE = Place('action "a"', "actions.a")


class Mood(Enum):
    GOOD = "good"


def book(
    ctx: ActionContext[Desk],
    slot: Annotated[str, Param("slotId", "The slot's id.")],
    day: date,
    size: Literal["s", "l"] = "s",
    *,
    people: int = 2,
    tags: list[str] | None = None,
    days: Sequence[date] = (),
    mood: Mood = Mood.GOOD,
    note: str | None,
) -> ActionResult:
    """Books a slot.

    Twice is once.
    """
    return ok(repr((slot, day, size, people, tags, days, mood, note)))


def planned(function: Any) -> ActionPlan:
    made = as_action(function)
    assert made is not None
    found, problems = plan_action(made, PLACE)
    assert problems == []
    assert found is not None
    return found


def tool_plan(function: Any) -> ToolPlan:
    made = as_tool(function)
    assert made is not None
    found, problems = plan_tool(made, PLACE)
    assert problems == []
    assert found is not None
    return found


def refused(function: Any) -> list[str]:
    made = as_action(function)
    assert made is not None
    return [problem.what for problem in plan_action(made, PLACE)[1]]


def test_a_signature_is_read_as_parameters() -> None:
    """The first parameter is the context, whose type need not be there; defaults and None are optional."""
    found = planned(book)
    assert found.name == "book"
    assert found.description == "Books a slot.\n\nTwice is once."
    assert found.parameters == (
        ParamPlan("slotId", "string", description="The slot's id."),
        ParamPlan("day", "string"),
        ParamPlan("size", "string", ("s", "l"), optional=True),
        ParamPlan("people", "integer", optional=True),
        ParamPlan("tags", "array", optional=True, items=ParamPlan("items", "string")),
        ParamPlan("days", "array", optional=True, items=ParamPlan("items", "string")),
        ParamPlan("mood", "string", ("good",), optional=True),
        ParamPlan("note", "string", optional=True),
    )


def test_a_call_passes_values_by_name_in_the_functions_own_types() -> None:
    """Dates are dates, whole floats are ints, an absent value is its default or None."""
    given = {"slotId": "7", "day": "2026-09-20", "people": 3.0, "days": ["2026-01-01"], "mood": "good"}
    expected = ("7", date(2026, 9, 20), "s", 3, None, [date(2026, 1, 1)], Mood.GOOD, None)
    assert planned(book).run(None, given) == ok(repr(expected))
    assert planned(book).run(None, {"slotId": "7", "day": "2026-09-20", "size": None}).ok


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ['"slotId": it is missing', '"day": it is missing']),
        ({"slotId": 7, "day": "3"}, ['"slotId": it must be a string, and is a number', '"day": it must be written as']),
        ({"slotId": "7", "day": "2026-09-20", "size": "m"}, ['"size": it must be "s" or "l", and is "m"']),
        ({"slotId": "7", "day": "2026-09-20", "people": True}, ['"people": it must be an integer, and is a boolean']),
        ({"slotId": "7", "day": "2026-09-20", "tags": "x"}, ['"tags": it must be a list of strings, and is a string']),
        ({"slotId": "7", "day": "2026-09-20", "tags": [None]}, ['"tags": it must be a string, and is null']),
        ({"slotId": "7", "day": "2026-09-20", "slot": "7"}, ['there is no parameter "slot"']),
    ],
)
def test_what_the_types_refuse_is_a_failed_action(given: dict[str, Any], words: list[str]) -> None:
    """Everything that does not match, in the words of the failure; the function is not called."""
    result = planned(book).run(None, given)
    assert result.ok is None
    assert all(word in result.failed for word in words)


def test_alternatives_without_none_are_required() -> None:
    """Only None among a type's alternatives, or a default, makes a parameter optional."""

    def pay(ctx: Any, amount: Decimal | date) -> ActionResult:
        return ok(repr(amount))

    assert planned(pay).parameters == (ParamPlan("amount", "string"),)
    assert planned(pay).run(None, {"amount": "1.50"}) == ok("Decimal('1.50')")


def test_data_wins_over_the_signature() -> None:
    """F-12.2: with `parameters` the function gets what it is given, unlooked at."""

    def run(ctx: Any, /, **parameters: Any) -> ActionResult:
        return ok(repr((ctx, parameters)))

    found = planned(Action("a b", run, parameters={"to": {"type": "string"}}, description="Tells."))
    assert (found.name, found.description, found.parameters) == ("a b", "Tells.", (ParamPlan("to", "string"),))
    assert found.run("ctx", {"ctx": 1, "other": 2}) == ok("('ctx', {'ctx': 1, 'other': 2})")


def test_decorators_say_what_a_signature_cannot() -> None:
    """The function stays itself; what was said of it is kept beside it."""

    @action(name="bookSlot", description="Books.")
    def book_slot(ctx: Any, day: str) -> ActionResult:
        return ok(day)

    @tool(id="lookUp", read_only=True, destructive=lambda arguments: "x" in arguments, max_result_size_chars=9)
    def look_up(ctx: ToolContext[Any], query: str) -> ToolResult:
        """Looks things up."""
        return ToolResult(query)

    assert book_slot(None, "monday") == ok("monday")
    assert (planned(book_slot).name, planned(book_slot).description) == ("bookSlot", "Books.")
    found = tool_plan(look_up)
    assert (found.id, found.description, found.max_result_size_chars) == ("lookUp", "Looks things up.", 9)
    assert found.is_read_only is not None
    assert found.is_read_only({})
    assert found.is_destructive is not None
    assert found.is_destructive({"x": 1})
    assert found.is_concurrency_safe is None


def test_methods_partials_and_callable_objects_are_functions() -> None:
    """Whatever can be called with a context can be an action."""

    class Crm:
        def tell(self, ctx: Any, to: str) -> ActionResult:
            """Tells."""
            return ok(to)

        def __call__(self, ctx: Any, to: int) -> ActionResult:
            return ok(str(to))

    def tell(channel: str, ctx: Any, to: Literal["a"]) -> ActionResult:
        return ok(channel + to)

    crm = Crm()
    assert (planned(crm.tell).name, planned(crm.tell).description) == ("tell", "Tells.")
    assert planned(crm.tell).run(None, {"to": "x"}) == ok("x")
    assert planned(crm).name == "Crm"
    assert planned(crm).run(None, {"to": 1}) == ok("1")
    partial = planned(Action("tell", functools.partial(tell, "sms:")))
    assert partial.parameters == (ParamPlan("to", "string", ("a",)),)
    assert partial.run(None, {"to": "a"}) == ok("sms:a")


async def test_an_async_action_gives_its_awaitable() -> None:
    """F-12.1: the driver awaits it."""

    async def tell(ctx: Any, to: str) -> ActionResult:
        return ok(to)

    assert await planned(tell).run(None, {"to": "x"}) == ok("x")


def no_context() -> ActionResult:
    return ok()


def several(
    ctx: Any,
    bare,
    *more: str,
    other: list,
    unknown: Nowhere,  # noqa: F821  # what only a type checker sees
    mixed: Literal[1, "a"],
    **rest: int,
) -> ActionResult:
    return ok()


class NoSignature:
    __signature__ = "none"

    def __call__(self, ctx: Any) -> ActionResult:
        return ok()


def star_context(*ctx: Any) -> ActionResult:
    return ok()


def test_every_parameter_that_cannot_be_one_is_named() -> None:
    """All at once, each with its reason."""
    assert "context" in refused(no_context)[0]
    assert "context" in refused(star_context)[0]
    assert "signature" in refused(NoSignature())[0]
    found = refused(several)
    for name in ("bare", "more", "other", "unknown", "mixed", "rest"):
        assert len([what for what in found if f'"{name}"' in what]) == 1, name


@pytest.mark.parametrize(
    ("made", "path"),
    [
        (Action("a", 5), "actions.a.run"),  # type: ignore[arg-type]
        (Action("a", book, description=5), "actions.a.description"),  # type: ignore[arg-type]
        (Action("a", book, parameters={"x": {}}), "actions.a.parameters.x.type"),
        (Action("a", book, parameters=[]), "actions.a.parameters"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_action_is_named(made: Action, path: str) -> None:
    """F-12.2: with its path."""
    found, problems = plan_action(made, PLACE)
    assert found is None
    assert [problem.path for problem in problems] == [path]


def search(
    ctx: ToolContext[Any],
    query: str,
    after: date | None = None,
    kinds: Sequence[Literal["a", "b"]] = ("a",),
) -> ToolResult:
    """Searches."""
    return ToolResult([query, after, kinds])


def test_a_tools_schema_comes_from_its_signature() -> None:
    """F-14.1: a JSON schema, with the format of a richer type."""
    assert tool_plan(search).parameters == {
        "type": "object",
        "properties": {
            "query": {"type": "string"},
            "after": {"type": "string", "format": "date"},
            "kinds": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
        },
        "required": ["query"],
        "additionalProperties": False,
    }


def test_a_tools_arguments_are_validated_by_its_types() -> None:
    """A wrong argument is an answer to the model; the tool's own gate is asked after that."""
    seen: list[Any] = []
    made = Tool("search", search, validate_input=lambda arguments, context: seen.append((arguments, context)))
    found = tool_plan(made)
    assert found.validate_input is not None
    verdict = found.validate_input({"query": 5, "after": "3"}, None)
    assert verdict["valid"] is False
    assert "query" in verdict["error"]
    assert "after" in verdict["error"]
    assert found.validate_input({"query": "x"}, "ctx") is None
    assert seen == [({"query": "x"}, "ctx")]
    assert found.handler({"query": "x", "after": "2026-01-01"}, None) == ToolResult(["x", date(2026, 1, 1), ("a",)])


def test_a_tool_made_from_data_gets_what_the_model_sends() -> None:
    """F-14.1: a given schema goes to the model as it is; a handler that takes anything needs none."""

    def handler(ctx: Any, /, **arguments: Any) -> ToolResult:
        return ToolResult((ctx, arguments))

    schema = {"type": "object", "title": "As given"}
    assert tool_plan(Tool("a", handler)).parameters is None
    found = tool_plan(Tool("a", handler, parameters=schema))
    assert found.parameters is schema
    assert found.validate_input is None
    assert found.handler({"ctx": 1}, "c") == ToolResult(("c", {"ctx": 1}))


def test_a_wrong_tool_is_named() -> None:
    """As an action is."""
    assert [p.path for p in plan_tool(Tool("a", 5), PLACE)[1]] == ["actions.a.handler"]  # type: ignore[arg-type]
    assert len(plan_tool(Tool("a", several), PLACE)[1]) == 0  # takes any keyword
    assert "context" in plan_tool(Tool("a", no_context), PLACE)[1][0].what  # type: ignore[arg-type]
    assert as_tool(5) is None
    assert as_action("book") is None
