"""The table of chapter 10, section 17, as its reader would play it: through `respond`, by what a response tells."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from classic.talks import SCHEMA, agent, flow, model, said, talk, used
from falai import FlowConfigurationError
from falai.classic import AgentResponse, Directive
from falai.model import ModelReply
from falai.model import ToolCall as ModelCall

pytestmark = pytest.mark.anyio

A = {"flows": {"a": 90}}


def steps(response: AgentResponse) -> list[str]:
    return [f"{step.flow_id}.{step.id}" for step in response.executed_steps]


def ended(response: AgentResponse) -> list[tuple[str, str]]:
    return [(flow.flow_id, flow.reason) for flow in response.ended_flows]


def place(response: AgentResponse) -> tuple[str | None, str | None]:
    return response.session.current_flow, response.session.current_step


def gives(directive: Any) -> Any:
    return lambda *_: directive


def ping_pong(times: int, last: Any) -> Any:
    """A `prepare` that goes to the other step so many times, then gives the last."""
    left = iter([Directive(go_to_step="two" if n % 2 == 0 else "one") for n in range(times)] + [last])
    return lambda *_: next(left)


@pytest.mark.parametrize(
    ("times", "last", "reason"),
    [(3, None, "goto"), (4, None, None), (3, Directive(abort="enough"), "aborted")],
)
async def test_dt_4_a_chain_has_a_limit(times: int, last: Any, reason: str | None) -> None:
    """Exactly the limit is fine, one more is an error with the whole chain in order, an abort as one more is fine."""
    prepare = ping_pong(times, last)
    one = agent(
        model("spoken"),
        max_directive_chain=3,
        flows=[flow(talk("one", prepare=prepare), talk("two", prepare=prepare), talk("last"), id="a")],
    )
    if reason is not None:
        assert (await one.chat("Hi")).stopped_reason == reason
        return
    with pytest.raises(FlowConfigurationError) as failure:
        await one.chat("Hi")
    text = str(failure.value)
    assert failure.value.code == "directive-chain"
    links = ["goToStep:two", "hook:prepare:one", "goToStep:one", "hook:prepare:two"] * 2
    positions = [text.index(links[0])]
    for link in links[1:]:
        positions.append(text.index(link, positions[-1] + 1))
    assert positions == sorted(positions)
    assert all(word in text for word in ("cycle", "maxDirectiveChain", "4", "3"))


async def test_dt_5_a_tool_redirects_with_a_reply() -> None:
    """The reply is the message, after one speaking call; the next message is answered by the other flow's first step."""
    tool = {"id": "move", "handler": gives({"directive": {"goTo": "b", "reply": "Moving you."}})}
    call = ModelReply(tool_calls=(ModelCall("move", {}),))
    one = agent(model(call, "Hello from b", understand=[A, {}]), tools=[tool],
                flows=[flow(talk("one"), talk("two"), id="a"), flow(talk("three"), talk("four"), id="b")])  # fmt: skip
    first = await one.chat("Hi")
    assert (first.message, first.stopped_reason, ended(first), place(first)) == (
        "Moving you.", "reply", [("a", "goto")], ("b", "three"),
    )  # fmt: skip
    assert used(one.core.model) == ["understand", "speak"]  # type: ignore[arg-type]  # a scripted one
    second = await one.chat("And now?")
    assert (second.message, steps(second)) == ("Hello from b", ["b.three"])


async def test_dt_6_prepare_redirects() -> None:
    """The other flow's first step speaks in this turn."""
    one = agent(
        model("Hello from b", understand=[A]),
        flows=[flow(talk("one", prepare=gives({"goTo": "b"})), id="a"), flow(talk("three"), talk("four"), id="b")],
    )
    response = await one.chat("Hi")
    assert (response.message, response.stopped_reason, ended(response), steps(response)) == (
        "Hello from b", "goto", [("a", "goto")], ["b.three"],
    )  # fmt: skip


@pytest.mark.parametrize(("reply", "reason"), [("Wait.", "reply"), (None, "halt")])
async def test_dt_7_prepare_halts(reply: str | None, reason: str) -> None:
    """No speaking call, and the step is where it was."""
    provider = model("Spoken at last")
    turns = iter([Directive(halt=True, reply=reply), None])
    one = agent(provider, flows=[flow(talk("one", prepare=lambda *_: next(turns)), talk("two"), id="a")])
    response = await one.chat("Hi")
    assert (response.message, response.stopped_reason, place(response)) == (reply or "", reason, ("a", "one"))
    assert provider.calls == []
    assert steps(await one.chat("Hello?")) == ["a.one"]


async def test_dt_8_finalize_moves_and_its_prompt_comes_too_late(caplog: pytest.LogCaptureFixture) -> None:
    """A warning for what has no meaning any more; the move counts."""
    late = Directive(append_prompt=["Too late."], go_to_step="three")
    one = agent(model("One"), flows=[flow(talk("one", finalize=gives(late)), talk("two"), talk("three"), id="a")])
    with caplog.at_level(logging.WARNING):
        response = await one.chat("Hi")
    assert (response.message, response.stopped_reason, place(response)) == ("One", "goto", ("a", "three"))
    assert ["appendPrompt" in record.message and "finalize" in record.message for record in caplog.records] == [True]


async def test_dt_9_what_follows_a_completion() -> None:
    """`next` over `onComplete`: its flow, its reply."""
    done = {"complete": {"next": {"goTo": "b", "reply": "r"}}}
    one = agent(
        model(understand=[A]),
        flows=[flow(talk("one", prepare=gives(done)), id="a", on_complete="c"), flow(talk("two"), id="b"),
               flow(talk("three"), id="c")],
    )  # fmt: skip
    response = await one.chat("Hi")
    assert (response.message, response.stopped_reason, response.is_flow_complete) == ("r", "reply", True)
    assert ended(response)[0] == ("a", "completed")
    assert place(response)[0] != "c"


@pytest.mark.parametrize("reentrant", [False, True])
async def test_dt_10_a_completed_flow_is_asked_for_again(reentrant: bool) -> None:
    """Not chosen; with `reentrant` chosen, with its own fields empty and the others kept."""
    provider = model("Bye", "Again", understand=[{"fields": {"name": "Ana", "city": "Rome"}}, {}, {}])
    one = agent(
        provider,
        schema=SCHEMA,
        flows=[flow(talk("one"), id="a", reentrant=reentrant, required_fields=["name"], optional_fields=["age"]),
               flow(talk("x"), id="other", when="nothing", optional_fields=["city"], **{"if": lambda _: False})],
    )  # fmt: skip
    first = await one.chat("I am Ana in Rome")
    first.session.data["city"] = "Rome"
    again = await one.respond("Again", session=first.session, message_id="m2")  # both may come in one millisecond
    assert ended(again) == ([("a", "last_step")] if reentrant else [])
    assert again.session.data == ({"city": "Rome"} if reentrant else {"name": "Ana", "city": "Rome"})


async def test_dt_11_one_utterance_a_message() -> None:
    """The auto step runs with the third message, and the flow completes with it."""
    ran: list[str] = []
    auto = {"id": "three", "auto": True, "prepare": lambda *_: ran.append("three")}
    one = agent(model("One", "Four"), flows=[flow(talk("one"), {"id": "two", "reply": "Two."}, auto, talk("four"))])
    responses = await said(one, "1", "2", "3")
    assert [response.message for response in responses] == ["One", "Two.", "Four"]
    assert [steps(response) for response in responses] == [["visit.one"], ["visit.two"], ["visit.three", "visit.four"]]
    assert [response.stopped_reason for response in responses] == ["needs_input", "reply", "last_step"]
    assert ran == ["three"]


@pytest.mark.parametrize(
    ("rich", "asked", "target"), [(True, False, "gold"), (False, True, "sad"), (False, False, "rest")]
)
async def test_dt_12_branches_of_a_prompt_step(rich: bool, asked: bool, target: str) -> None:
    """One of three, on the answer."""
    branches = [{"if": lambda _: rich, "then": "gold"}, {"when": "is sad", "then": "sad"}, {"then": "rest"}]
    others = [{"id": id, "reply": id} for id in ("gold", "sad", "rest")]
    one = agent(model("One"), flows=[flow(talk("one", branches=branches), *others)])
    first = await one.chat("Hi")
    assert place(first) == ("visit", "one")
    one.core.model.feed("understand", {"branches": {"q1": asked}})  # type: ignore[attr-defined]  # a scripted one
    response = await one.chat("So")
    assert response.message == target


async def test_dt_13_a_when_on_an_auto_step_does_not_match() -> None:
    """The next entry does."""
    auto = {"id": "one", "auto": True, "branches": [{"when": "is sad", "then": "sad"}, {"then": "rest"}]}
    one = agent(model(), flows=[flow(auto, {"id": "sad", "reply": "sad"}, {"id": "rest", "reply": "rest"})])
    assert (await one.chat("I am sad")).message == "rest"


async def test_dt_14_a_step_of_the_flow_comes_before_a_flow() -> None:
    """The local id wins."""
    auto = {"id": "one", "auto": True, "branches": [{"then": "b"}]}
    flows = [
        flow(auto, talk("two"), {"id": "b", "reply": "the step"}, id="a"),
        flow({"id": "x", "reply": "the flow"}, id="b"),
    ]
    assert (await agent(model(understand=[A]), flows=flows).chat("Hi")).message == "the step"


async def test_dt_15_signals_in_their_order() -> None:
    """Priority, `stopOtherSignals`, a failing `once`, a cooldown, `both`."""
    called: list[str] = []

    def handler(id: str, result: Any = None, fails: bool = False) -> Any:
        def handle(ctx: Any) -> Any:
            called.append(f"{id}:{ctx.phase}")
            if fails:
                raise LookupError("lost")
            return result

        return handle

    signals: list[dict[str, Any]] = [
        {"id": "late", "phase": "pre", "handler": handler("late")},
        {"id": "stop", "phase": "pre", "priority": 1, "handler": handler("stop", {"stopOtherSignals": True})},
        {"id": "once", "phase": "pre", "priority": 3, "behavior": "once", "handler": handler("once", fails=True)},
        {"id": "cool", "phase": "both", "priority": 2, "behavior": "cooldown", "cooldownMs": 60_000,
         "handler": handler("cool")},
        {"id": "both", "phase": "both", "priority": 5, "handler": handler("both")},
    ]  # fmt: skip
    one = agent(model("a", "b"), signals=signals)
    first, second = await said(one, "1", "2")
    assert [f"{firing.id}:{firing.phase}" for firing in first.triggered_signals] == called[:5]
    assert called[:5] == ["both:pre", "once:pre", "cool:pre", "stop:pre", "both:post"]
    assert called[5:] == ["both:pre", "once:pre", "stop:pre", "both:post"]
    failed = first.triggered_signals[1]
    assert (failed.handler_error, failed.reason) == ("lost", "unconditional")
    assert "once" not in second.session.signals.triggers
    assert second.session.signals.triggers["both"].count == 4


async def test_dt_16_a_signal_behind_the_turn_redirects_the_next_one() -> None:
    """This turn's reply stands; the next turn starts in the other flow."""
    turns = iter([{"goTo": "b"}, None])
    signal = {"id": "later", "phase": "post", "handler": lambda _: next(turns)}
    flows = [flow(talk("one"), talk("two"), id="a"), flow(talk("three"), talk("four"), id="b")]
    one = agent(model("One", "Three", understand=[A]), flows=flows, signals=[signal])
    first, second = await said(one, "1", "2")
    assert (first.message, place(first)) == ("One", ("a", "one"))
    assert (second.message, second.stopped_reason, ended(second), steps(second)) == (
        "Three", "goto", [("a", "goto")], ["b.three"],
    )  # fmt: skip


async def test_dt_17_a_current_flow_that_is_not_allowed() -> None:
    """The allowed one answers; the current one is suspended, and has not ended."""
    flows = [flow(talk("one"), talk("two"), id="a"), flow(talk("three"), talk("four"), id="b")]
    one = agent(model("One", "Three", "Four", "Two", understand=[A, {}, {}, {}]), flows=flows)
    await one.chat("1")
    response = await one.respond("2", allowed_flows=["b"])
    assert (response.message, ended(response), place(response)) == ("Three", [], ("b", "three"))
    assert sorted((run.flow_id, run.status) for run in response.session.runs) == [("a", "suspended"), ("b", "asking")]
