"""Tools of the 3.x form: what a handler gets, what the model reads, what becomes of directives and writes (D-43 to D-48)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from classic.talks import SCHEMA, agent, flow, model, talk
from falai import FlowConfigurationError, ToolResult, tool
from falai.classic import Directive, ResponseGenerationError, ToolExecutionError
from falai.classic import ToolResult as ClassicResult
from falai.classic.response import ExecutedStep, ToolCall
from falai.model import ModelReply
from falai.model import ToolCall as ModelCall
from falai.testing import ScriptedModel

pytestmark = pytest.mark.anyio

ONE = [{"id": "a", "title": "A", "steps": [talk("one"), talk("two")]}]


def calls(*named: str | tuple[str, dict[str, Any]]) -> ModelReply:
    """A round in which the model calls these tools."""
    wanted = [(name, {}) if isinstance(name, str) else name for name in named]
    return ModelReply(tool_calls=tuple(ModelCall(name, arguments) for name, arguments in wanted))


def read(provider: ScriptedModel) -> list[Any]:
    """What the model has read of the tools' results."""
    items = provider.calls[-1].request.history
    return [_json(item["content"]) for item in items if item.get("role") == "tool"]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def made(handler: Callable[..., Any], id: str = "find", **members: Any) -> dict[str, Any]:
    return {"id": id, "description": "Finds.", "handler": handler, **members}


async def test_a_handler_gets_its_context_and_its_arguments() -> None:
    """Context, data, history, step, metadata of the session, and the fields (D-44)."""
    seen: list[Any] = []

    async def find(ctx: Any, args: Any) -> str:
        seen.append((args, ctx.context, ctx.data, ctx.step, ctx.get_field("name"), ctx.has_field("age"), ctx.metadata))
        seen.append([item["content"] for item in ctx.history])
        return "found"

    provider = model(calls(("find", {"what": "x"})), "Here it is", understand=[{"fields": {"name": "Ana"}}])
    one = agent(
        provider, schema=SCHEMA, context={"tier": 1}, tools=[made(find)],
        flows=[flow(talk("one"), talk("two"), optionalFields=["name"])],
    )  # fmt: skip
    response = await one.respond("Find it", history=[{"role": "user", "content": "Hello"}])
    assert seen == [
        ({"what": "x"}, {"tier": 1}, {"name": "Ana"}, ExecutedStep("one", "visit"), "Ana", False, {}), ["Hello"],
    ]  # fmt: skip
    assert response.tool_calls == (ToolCall("find", {"what": "x"}),)
    assert (read(provider), response.message) == (["found"], "Here it is")


async def test_without_a_flow_there_is_no_step() -> None:
    """The agent speaks by itself."""
    seen: list[Any] = []
    await agent(model(calls("find"), "Hi"), tools=[made(lambda ctx, _: seen.append(ctx.step))]).chat("Hi")
    assert seen == [None]


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ("plain", "plain"),
        (None, {"ok": True}),
        ({"free": [1, 2]}, {"free": [1, 2]}),
        ({"data": {"free": 2}}, {"free": 2}),
        ({"data": 1, "success": True}, 1),
        ({"success": False, "error": "no room"}, {"success": False, "error": "no room"}),
        ({"success": False}, {"success": False, "error": "the tool did not succeed"}),
        ({"error": "no room"}, {"success": False, "error": "no room"}),
        ({"error": "no room on Monday", "data": ["Tuesday"]}, ["Tuesday"]),
        ({"data_update": {"age": 3}}, {"ok": True}),
        (ClassicResult(data="x"), "x"),
        (ClassicResult(success=False, error="no"), {"success": False, "error": "no"}),
        (ToolResult("value", data={"age": 3}), "value"),
    ],
)
async def test_what_the_model_reads_of_a_result(result: Any, content: Any) -> None:
    """`data`, or that it failed; a value that has none of the members is the value itself (D-45)."""
    provider = model(calls("find"), "Here it is")
    await agent(provider, schema=SCHEMA, tools=[made(lambda *_: result)]).chat("Find it")
    assert read(provider) == [content]


def raises(*_: Any) -> None:
    raise LookupError("nothing there")


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"handler": raises}, "nothing there"),
        ({"handler": lambda *_: {"dataUpdate": {"age": "ten"}}}, '"age" is "ten"'),
        ({"handler": lambda ctx, _: ctx.set_field("size", 1)}, '"size" is no field'),
        ({"validateInput": lambda *_: {"valid": False, "error": "too long"}}, "validation failed: too long"),
        ({"validate_input": lambda *_: False}, "validation failed"),
        ({"checkPermissions": lambda *_: {"allowed": False, "reason": "not you"}}, "permission denied: not you"),
        ({"checkPermissions": raises}, "nothing there"),
    ],
)
async def test_a_call_that_fails_is_read_as_a_failure(members: dict[str, Any], words: str) -> None:
    """The turn goes on, and nothing was written (D-46)."""
    provider = model(calls("find"), "Sorry")
    one = agent(provider, schema=SCHEMA, tools=[{**made(lambda *_: "never"), **members}])
    response = await one.chat("Find it")
    (found,) = read(provider)
    assert (found["success"], words in found["error"]) == (False, True)
    assert (response.message, response.session.data) == ("Sorry", {})


async def test_an_unknown_tool_is_told_to_the_model() -> None:
    """The turn goes on."""
    provider = model(calls("lost"), "Sorry")
    response = await agent(provider, tools=[made(lambda *_: 1)]).chat("Find it")
    assert (response.message, response.tool_calls) == ("Sorry", (ToolCall("lost", {}),))
    assert read(provider) == [{"success": False, "error": 'there is no tool named "lost"'}]


async def test_writes_are_seen_by_the_handler_and_by_later_tools() -> None:
    """At once; and they are stored when the turn has succeeded (D-44)."""
    seen: list[Any] = []

    def first(ctx: Any, _: Any) -> dict[str, Any]:
        ctx.update_data({"name": "Ana"})
        ctx.set_field("age", 3)
        ctx.update_context({"tier": 2})
        seen.append((dict(ctx.data), ctx.context["tier"]))
        return {"data": "ok", "dataUpdate": {"city": "Rome"}, "contextUpdate": {"seen": True}}

    def second(ctx: Any, _: Any) -> None:
        seen.append((dict(ctx.data), ctx.context))

    tools = [made(first, "first"), made(second, "second")]
    one = agent(model(calls("first", "second"), "Hi", "Yo"), schema=SCHEMA, tools=tools, context={"tier": 1})
    response = await one.chat("Hi")
    data = {"name": "Ana", "age": 3, "city": "Rome"}
    assert seen == [({"name": "Ana", "age": 3}, 2), (data, {"tier": 2, "seen": True})]
    assert response.session.data == data


async def test_a_tool_that_fails_has_written_and_emitted_nothing() -> None:
    """Half of what it wanted is worse than none."""

    def half(ctx: Any, _: Any) -> None:
        ctx.update_data({"name": "Ana"})
        ctx.dispatch(Directive(reply="Half."))
        raise LookupError("lost")

    response = await agent(model(calls("find"), "Sorry"), schema=SCHEMA, tools=[made(half)]).chat("Hi")
    assert (response.message, response.session.data) == ("Sorry", {})


async def test_a_reply_ends_the_rounds() -> None:
    """The other calls of that round still run; then the reply is the message (D-48)."""
    ran: list[str] = []
    tools = [
        made(lambda *_: ClassicResult(directive=Directive(reply="Booked.")), "book"),
        made(lambda *_: ran.append("note"), "note"),
    ]
    provider = model(calls("book", "note"))
    response = await agent(provider, tools=tools).chat("Book it")
    assert (response.message, response.stopped_reason, ran, len(provider.calls)) == ("Booked.", "reply", ["note"], 1)


@pytest.mark.parametrize("returned", [True, False])
async def test_dispatching_and_returning_a_directive_are_the_same(returned: bool) -> None:
    """A tool's redirect takes effect at the end of the turn (D-45)."""

    def leave(ctx: Any, _: Any) -> Any:
        if returned:
            return {"directive": {"goTo": "b"}}
        ctx.dispatch({"go_to": "b"})
        return None

    flows = [*ONE, {"id": "b", "title": "B", "steps": [talk("three")]}]
    provider = model(calls("find"), "Soon", understand=[{"flows": {"a": 90}}])
    response = await agent(provider, flows=flows, tools=[made(leave)]).chat("Hi")
    assert (response.message, response.stopped_reason) == ("Soon", "goto")
    assert (response.session.current_flow, response.session.current_step) == ("b", "three")


async def test_emissions_stand_in_the_order_of_the_calls() -> None:
    """Also of tools that run side by side, whichever is ready first: of two replies the later call's counts (D-63)."""
    gate = asyncio.Event()

    async def first(*_: Any) -> Any:
        await gate.wait()
        return {"directive": {"reply": "first"}}

    async def second(*_: Any) -> Any:
        gate.set()
        return {"directive": {"reply": "second"}}

    tools = [made(first, "first", isReadOnly=True), made(second, "second", isReadOnly=lambda _: True)]
    assert (await agent(model(calls("first", "second")), tools=tools).chat("Hi")).message == "second"


async def test_an_invalid_directive_of_a_tool_fails_the_turn() -> None:
    """And not the call alone (D-62)."""
    handler = made(lambda *_: {"directive": {"goTo": "a", "reset": True}})
    with pytest.raises(FlowConfigurationError) as failure:
        await agent(model(calls("find"), "Hi"), tools=[handler]).chat("Hi")
    assert failure.value.code == "multiple-positions"


async def test_what_is_no_directive_is_told_with_its_tool() -> None:
    """It fails the turn as an invalid one does; nothing dispatched is no directive (D-62, D-63)."""
    with pytest.raises(ResponseGenerationError, match="tool:find gave 5"):
        await agent(model(calls("find"), "Hi"), tools=[made(lambda ctx, _: ctx.dispatch(5))]).chat("Hi")
    nothing = made(lambda ctx, _: ctx.dispatch(None))
    assert (await agent(model(calls("find"), "Hi"), tools=[nothing]).chat("Hi")).message == "Hi"


@pytest.mark.parametrize("hook", ["onDataUpdate", "onContextUpdate"])
async def test_a_hook_that_hears_of_a_tools_write_fails_the_turn_when_it_raises(hook: str) -> None:
    """The model is not told of it as of the tool's failure (D-81)."""
    handler = made(lambda *_: {"dataUpdate": {"age": 3}, "contextUpdate": {"tier": 2}})
    one = agent(model(calls("find"), "Hi"), schema=SCHEMA, tools=[handler], context={}, hooks={hook: raises})
    with pytest.raises(ResponseGenerationError, match="nothing there") as failure:
        await one.chat("Hi")
    assert isinstance(failure.value.cause, LookupError)


async def test_hooks_hear_of_what_a_tool_has_written() -> None:
    """What `onDataUpdate` gives is the data (D-80)."""
    heard: list[Any] = []

    def grown(new: Any, before: Any) -> Any:
        heard.append((dict(new), dict(before)))
        return {**new, "city": "Rome"}

    hooks = {"onDataUpdate": grown, "onContextUpdate": lambda new, before: heard.append((dict(new), dict(before)))}
    handler = made(lambda *_: {"dataUpdate": {"age": 3}, "contextUpdate": {"tier": 2}})
    one = agent(model(calls("find"), "Hi"), schema=SCHEMA, tools=[handler], context={"tier": 1}, hooks=hooks)
    response = await one.chat("Hi")
    assert heard == [({"age": 3}, {}), ({"tier": 2}, {"tier": 1})]
    assert response.session.data == {"age": 3, "city": "Rome"}


async def test_inner_tools_replace_outer_ones() -> None:
    """The model sees those of agent, flow and step (D-47)."""
    step = talk("one", tools=[made(lambda *_: "step's", "shared"), "deep"])
    flows = [flow(step, tools=[made(lambda *_: "flow's", "deep"), made(lambda *_: "flow's", "shared")])]
    provider = model(calls("shared", "deep", "wide"), "Hi")
    await agent(provider, flows=flows, tools=[made(lambda *_: "agent's", "wide")]).chat("Hi")
    assert sorted(tool.id for tool in provider.calls[0].request.tools) == ["deep", "shared", "wide"]
    assert read(provider) == ["step's", "flow's", "agent's"]


async def test_rounds_are_limited() -> None:
    """DT-21: with a model that always calls, the tool runs in 3 rounds, then there is a message."""
    ran: list[int] = []
    tools = [made(lambda *_: ran.append(1))]
    provider = model(*[calls("find")] * 3, "Enough")
    response = await agent(provider, tools=tools, max_tool_loops=2).chat("Hi")
    assert (len(ran), response.message, len(response.tool_calls or ())) == (3, "Enough", 3)


async def test_a_tool_of_the_core_is_a_tool() -> None:
    """A function with its parameters; it sees the same context, and its own gates hold."""

    @tool(read_only=True)
    def find(ctx: Any, what: str) -> str:
        """Finds things."""
        ctx.set_field("name", what)
        return what.upper()

    provider = model(calls(("find", {"what": "x"}), ("find", {"what": 5})), "Hi")
    response = await agent(provider, schema=SCHEMA, tools=[find]).chat("Hi")
    found, refused = read(provider)
    assert (found, refused["success"], response.session.data) == ("X", False, {"name": "x"})


def test_a_function_that_can_be_no_tool_is_refused_with_the_agent() -> None:
    """By the core's own words."""

    def bad(ctx: Any, *things: str) -> None:
        """Takes what no model can name."""

    with pytest.raises(FlowConfigurationError, match='tool "bad"'):
        agent(model(), tools=[bad])


async def test_a_tool_may_be_a_hook() -> None:
    """By itself or by its id; it runs without arguments, and its directives count (D-80)."""
    tools = [made(lambda *_: {"directive": {"reply": "From a tool."}, "dataUpdate": {"name": "Ana"}})]
    for given in ("find", tools[0]):
        one = agent(model(), schema=SCHEMA, tools=tools, flows=[flow(talk("one", prepare=given))])
        response = await one.chat("Hi")
        assert (response.message, response.session.data) == ("From a tool.", {"name": "Ana"})


@pytest.mark.parametrize("handler", [raises, lambda *_: {"success": False, "error": "nothing there"}])
async def test_a_tool_that_fails_as_a_hook_fails_the_turn(handler: Any) -> None:
    """Its error names it (D-83)."""
    one = agent(model(), tools=[made(handler)], flows=[flow(talk("one", prepare="find"))])
    with pytest.raises(ResponseGenerationError, match="nothing there") as failure:
        await one.chat("Hi")
    assert isinstance(failure.value.cause, ToolExecutionError)
    assert (failure.value.cause.tool_id, failure.value.details["phase"]) == ("find", "step_preparation")


async def test_injected_tools_stand_over_all_others() -> None:
    """For this turn (D-54)."""
    inject = Directive(inject_tools=[made(lambda *_: "injected"), made(lambda *_: "new", "new")])
    provider = model(calls("find", "new"), "Hi", "Bye")
    step = talk("one", prepare=lambda *_: inject)
    one = agent(provider, tools=[made(lambda *_: "agent's")], flows=[flow(step, talk("two"))])
    await one.chat("Hi")
    assert read(provider) == ["injected", "new"]
    await one.chat("Go on")
    assert [tool.id for tool in provider.calls[-1].request.tools] == ["find"]


async def test_an_injected_tool_needs_a_handler() -> None:
    """The error names the tool; a directive's form says nothing of it (D-60)."""
    step = talk("one", prepare=lambda *_: {"injectTools": [{"id": "new"}]})
    with pytest.raises(FlowConfigurationError, match='"new" has as its handler: null') as failure:
        await agent(model(), flows=[flow(step)]).chat("Hi")
    assert failure.value.code == "bad-tool"


async def test_a_handler_may_write_into_a_context_that_is_no_mapping() -> None:
    """It gets attributes; a handler that fails has changed nothing (D-44, D-46)."""

    class Host:
        tier = "gold"

    def upgrade(ctx: Any, args: Any) -> str:
        ctx.update_context({"tier": args["to"]})
        if args["to"] == "lead":
            raise ValueError("no such tier")
        return str(ctx.context.tier)

    host, provider = Host(), model(calls(("find", {"to": "lead"})), calls(("find", {"to": "platinum"})), "Done")
    await agent(provider, tools=[made(upgrade)], context=host).chat("Hi")
    assert read(provider) == [{"success": False, "error": "no such tier"}, "platinum"]
    assert host.tier == "platinum"
