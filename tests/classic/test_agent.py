"""An agent of the 3.x form: made from options, with flows that may be added, a context that lasts (D-1, D-8, D-9, D-15, D-24)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from classic.talks import SCHEMA, agent, flow, model, talk
from falai import Agent, Flow, FlowConfigurationError, OnMessage, ProviderError, Say
from falai.classic import Directive, ResponseGenerationError, UnsupportedOptionError, create_agent
from falai.classic.flows import ClassicFlow

pytestmark = pytest.mark.anyio


def test_an_agent_is_built_without_asking_its_provider() -> None:
    """The agent of the core can be reached (D-1, D-85)."""
    provider = model()
    one = create_agent(name="Ana", provider=provider, goal="help", flows=[flow()])
    assert isinstance(one.core, Agent)
    assert (one.core.plan.name, provider.calls) == ("Ana", [])


def test_options_may_have_wire_names() -> None:
    """Both spellings are one option."""
    wire: dict[str, Any] = {"name": "Ana", "provider": model(), "flowSwitchMargin": 30, "maxToolLoops": 2}
    assert create_agent(**wire).core.plan.switch_margin == 30


def test_all_mistakes_are_told_at_once() -> None:
    """With their codes (D-4)."""
    with pytest.raises(FlowConfigurationError) as failure:
        agent(model(), context={}, context_provider=dict, max_tool_loops=-1, flows=[flow(), flow()])
    assert [problem.code for problem in failure.value.problems] == [
        "context-and-provider", "bad-limit", "duplicate-flow", "duplicate-flow",
    ]  # fmt: skip


def test_a_provider_is_needed() -> None:
    """An agent without one cannot be built."""
    with pytest.raises(FlowConfigurationError, match="provider is missing"):
        create_agent(name="Ana")  # type: ignore[call-arg]  # that is the point


def test_another_router_mode_is_not_implemented() -> None:
    """The error names option and value (D-9)."""
    with pytest.raises(UnsupportedOptionError, match='routerMode: "rules"') as failure:
        agent(model(), router_mode="rules")
    assert isinstance(failure.value, NotImplementedError)


def test_debug_sets_the_log_level() -> None:
    """Of the logger `falai`."""
    logger, before = logging.getLogger("falai"), logging.getLogger("falai").level
    try:
        agent(model(), debug=True)
        assert logger.level == logging.DEBUG
    finally:
        logger.setLevel(before)


def test_what_looks_like_a_mistake_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    """A name that nobody knows; the `when` of a step (D-87)."""
    agent(model(), maxToolLops=3, flows=[flow(talk("one", when="sad"))])
    assert ["maxToolLops" in r.message or "when" in r.message for r in caplog.records] == [True, True]


# --- flows --------------------------------------------------------------------------------------


def test_a_flow_is_found_by_id_or_title() -> None:
    """Ids win; flows of the core are there too (D-3)."""
    core = Flow("c", name="Core", on=[OnMessage("x")], steps=[Say("s", "Hi.")])
    one = agent(model(), flows=[flow(id="visit"), {**flow(id="x"), "title": "visit"}, core])
    assert [flow.id for flow in one.flows] == ["visit", "x", "c"]
    assert (one.flow("visit"), one.flow("Core"), one.flow("gone")) == (one.flows[0], one.flows[2], None)


@pytest.mark.parametrize(
    ("required", "data", "expected"),
    [
        (("name", "age"), {}, (False, ("name", "age"), 0.0)),
        (("name", "age"), {"age": 0, "name": ""}, (False, ("name",), 0.5)),
        (("name", "age"), {"age": 0, "name": "Ana"}, (True, (), 1.0)),
        ((), {"name": "Ana"}, (False, (), 0.0)),
    ],
)
def test_how_far_a_flow_is(required: tuple[str, ...], data: dict[str, Any], expected: Any) -> None:
    """By its required fields; without any it is never complete by itself (D-15)."""
    one = ClassicFlow("x", "X", required)
    assert (one.is_complete(data), one.missing_required_fields(data), one.completion_progress(data)) == expected


async def test_a_flow_may_be_added() -> None:
    """It holds from the next turn on, and is checked with all the others (D-8)."""
    one = agent(model("Hello", "One"), schema=SCHEMA, session_id="x")
    assert (await one.chat("Hi")).session.current_flow is None
    added = one.create_flow(title="Book a visit", steps=[talk("one"), talk("two")], required_fields=["name"])
    assert (added.id, added.required_fields, one.flows) == ("book_a_visit", ("name",), (added,))
    one.core.model.feed("understand", {})  # type: ignore[attr-defined]  # a scripted one
    assert (await one.chat("Book")).session.current_flow == "book_a_visit"
    with pytest.raises(FlowConfigurationError) as failure:
        one.create_flow(title="Book a visit", steps=[talk(collect=["size"])])
    assert {problem.code for problem in failure.value.problems} == {"duplicate-flow", "unknown-collect-field"}
    assert one.flows == (added,)


@pytest.mark.parametrize("given", [{}, {"name": "Book", "steps": [{"id": "a", "say": "Hi"}]}])
def test_a_flow_without_anything_of_either_form_is_told_of(given: dict[str, Any]) -> None:
    """What has neither title nor id is looked at as a flow of the core, which says what is missing (D-85)."""
    with pytest.raises(FlowConfigurationError, match="is missing"):
        agent(model(), flows=[given])


async def test_a_signal_is_switched_off_and_on_while_the_agent_lives() -> None:
    """`enabled` is read at each turn, also after a flow was added (D-69)."""
    signal: dict[str, Any] = {"id": "s", "phase": "pre", "handler": lambda _: None}
    one = agent(model("a", "b", "c"), signals=[signal], session_id="x")
    fired = [len((await one.chat("1")).triggered_signals)]
    signal["enabled"] = False
    fired.append(len((await one.chat("2")).triggered_signals))
    one.create_flow(title="Never", steps=[talk()], **{"if": lambda _: False})
    signal["enabled"] = True
    fired.append(len((await one.chat("3")).triggered_signals))
    assert fired == [1, 0, 1]


async def test_a_turn_that_is_under_way_is_not_touched() -> None:
    """A flow that is added meanwhile is none of its flows."""

    async def slow(scene: Any) -> str:
        begun.set()
        await go_on.wait()
        return "Be slow."

    begun, go_on = asyncio.Event(), asyncio.Event()
    one = agent(model("Hello"), persona=slow, session_id="x")
    answer = asyncio.create_task(one.chat("Hi"))
    await begun.wait()
    one.create_flow(title="Visit", steps=[talk()])
    go_on.set()
    assert (await answer).ended_flows == ()


# --- context ------------------------------------------------------------------------------------


def note(seen: list[Any]) -> dict[str, Any]:
    """A step that notes the context that it sees."""
    return talk("one", prepare=lambda context, _: seen.append(dict(context)) or Directive(reply="ok"))


async def test_the_override_is_laid_over_the_context_for_one_turn() -> None:
    """Top level (D-24)."""
    seen: list[Any] = []
    one = agent(model(), context={"a": 1, "b": {"c": 1}}, flows=[flow(note(seen), talk("two"), reentrant=True)])
    await one.respond("1", context_override={"b": {"d": 2}}, session_id="x")
    await one.respond("2", session_id="y")
    assert seen == [{"a": 1, "b": {"d": 2}}, {"a": 1, "b": {"c": 1}}]


async def test_before_respond_gives_the_context_which_is_kept() -> None:
    """It is called when there is a context; what it gives is what the next turn starts from."""
    seen: list[Any] = []

    async def count(context: Any) -> Any:
        return {**context, "n": context["n"] + 1}

    one = agent(model(), context={"n": 0}, hooks={"beforeRespond": count}, flows=[flow(note(seen))])
    await one.respond("1", session_id="x")
    await one.respond("2", session_id="y")
    assert seen == [{"n": 1}, {"n": 2}]
    assert (await agent(model("Hi"), hooks={"beforeRespond": count}).chat("1")).message == "Hi"


async def test_a_provider_of_context_is_asked_for_each_turn() -> None:
    """Sync or async; what is written is not kept for it."""
    seen: list[Any] = []
    count = iter(range(5))

    async def load() -> Any:
        return {"n": next(count)}

    def write(context: Any, _: Any) -> Directive:
        seen.append(dict(context))
        return Directive(context_update={"written": True}, reply="ok")

    one = agent(model(), context_provider=load, flows=[flow(talk("one", prepare=write))])
    await one.respond("1", session_id="x")
    await one.respond("2", session_id="y")
    assert seen == [{"n": 0}, {"n": 1}]


async def test_writes_are_kept_when_the_turn_has_succeeded() -> None:
    """The override is not kept with them, and a failed turn leaves nothing (D-24, D-30)."""
    seen: list[Any] = []

    def write(context: Any, _: Any) -> Directive:
        seen.append(dict(context))
        return Directive(context_update={"n": context["n"] + 1})

    down = ProviderError("down", kind="overload")
    one = agent(model(down, "a", "b"), context={"n": 0}, flows=[flow(talk("one", prepare=write))])
    with pytest.raises(ProviderError):
        await one.respond("1", session_id="x", context_override={"tmp": 1})
    await one.respond("1", session_id="x", context_override={"tmp": 1})
    await one.respond("2", session_id="y")
    assert seen == [{"n": 0, "tmp": 1}, {"n": 0, "tmp": 1}, {"n": 1}]


async def test_an_agent_without_a_context_can_be_given_one_by_its_handlers() -> None:
    """What they write is there in the next turn."""
    seen: list[Any] = []

    def write(context: Any, _: Any) -> Directive:
        seen.append(dict(context))
        return Directive(context_update={"n": 1}, reply="ok")

    one = agent(model(), flows=[flow(talk("one", prepare=write))])
    await one.respond("1", session_id="x")
    await one.respond("2", session_id="y")
    assert seen == [{}, {"n": 1}]


async def test_what_two_turns_write_at_once_is_kept_of_both() -> None:
    """The context belongs to the agent: the slower turn of another session takes nothing back (D-24)."""
    begun, goes_on = asyncio.Event(), asyncio.Event()
    seen: list[Any] = []

    async def write(context: Any, _: Any) -> Directive:
        seen.append(dict(context))
        if not begun.is_set():
            begun.set()
            await goes_on.wait()
            return Directive(reply="slow", context_update={"slow": True})
        return Directive(reply="fast", context_update={"fast": len(seen)})

    one = agent(model(), context={"n": 0}, flows=[flow(talk("one", prepare=write))])
    slow = asyncio.create_task(one.respond("1", session_id="x"))
    await begun.wait()
    await one.respond("2", session_id="y")
    goes_on.set()
    await slow
    await one.respond("3", session_id="z")
    assert seen[-1] == {"n": 0, "fast": 2, "slow": True}


async def test_initial_data_seeds_a_session_that_is_created() -> None:
    """One that is loaded keeps its own (D-1)."""
    one = agent(model("a", "b"), schema=SCHEMA, initial_data={"city": "Rome"})
    first = await one.respond("1", session_id="x")
    first.session.data["city"] = "Oslo"
    assert first.session.data["city"] == "Oslo"
    assert (await one.respond("2", session=first.session)).session.data == {"city": "Oslo"}


async def test_a_context_of_any_kind_is_handed_through() -> None:
    """Only a mapping can have something laid over it."""

    class Host:
        tier = "gold"

    one = agent(model("Hello"), persona="{{tier}}", context=Host(), session_id="x")
    assert (await one.chat("Hi")).message == "Hello"
    assert "gold" in one.core.model.calls[0].prompt  # type: ignore[attr-defined]  # a scripted one
    with pytest.raises(ResponseGenerationError, match="contextOverride"):
        await one.respond("Hi", context_override={"a": 1})


# --- errors -------------------------------------------------------------------------------------


def raises(*_: Any) -> None:
    raise LookupError("lost")


@pytest.mark.parametrize(
    ("options", "phase"),
    [
        ({"context_provider": raises}, "preparation"),
        ({"context": {}, "hooks": {"beforeRespond": raises}}, "preparation"),
        ({"flows": [flow(talk("one", prepare=raises))]}, "step_preparation"),
        ({"flows": [flow(talk("one"), hooks={"onEnter": raises})]}, "step_preparation"),
        ({"flows": [flow(talk("one"), hooks={"onComplete": raises})]}, "completion"),
        ({"persona": raises}, "routing"),
        ({"instructions": [{"prompt": raises}]}, "response_generation"),
    ],
)
async def test_whatever_else_fails_is_told_with_its_phase(options: dict[str, Any], phase: str) -> None:
    """The original is the cause; the message has the class, what, why and what to do (D-83)."""
    one = agent(model("Hello"), session_id="x", **options)
    with pytest.raises(ResponseGenerationError) as failure:
        await one.chat("Hi")
    assert failure.value.details["phase"] == phase
    assert isinstance(failure.value.cause, LookupError)
    assert failure.value.__cause__ is failure.value.cause
    assert str(failure.value).startswith(f"[ResponseGenerationError] {phase}: LookupError: lost.")
    assert await one.store.load("x") is None


async def test_a_finalizer_that_raises_leaves_the_turn_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """It is logged (D-81)."""
    one = agent(model("Hello"), flows=[flow(talk("one", finalize=raises), talk("two"))])
    response = await one.chat("Hi")
    assert (response.message, response.stopped_reason) == ("Hello", "finalize_error")
    assert "ERROR" in [record.levelname for record in caplog.records]
