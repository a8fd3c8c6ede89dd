"""A redirect from outside a turn: kept with the session, used up by its next turn (D-68)."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from classic.talks import SCHEMA, agent, flow, model, talk
from falai import FlowConfigurationError, Session
from falai.classic import Directive
from falai.store import MemoryStore

pytestmark = pytest.mark.anyio

FLOWS = [flow(talk("one"), talk("two"), id="visit"), flow(talk("three"), id="other"), flow(talk("four"), id="third")]
VISIT = {"flows": {"visit": 90}}


async def test_nothing_moves_until_the_next_turn_which_uses_it_up() -> None:
    """DT-18: of two only the second applies, before routing, once."""
    one = agent(model("One", "Four", "Two", understand=[VISIT, VISIT]), flows=FLOWS, session_id="x")
    await one.chat("Hi")
    await one.dispatch("other")
    session = await one.dispatch({"go_to": "Third"})
    assert session.current_flow == "visit"
    moved = await one.chat("Hello?")
    assert [(flow.flow_id, flow.reason) for flow in moved.ended_flows] == [("visit", "goto"), ("third", "last_step")]
    assert (moved.message, moved.stopped_reason) == ("Four", "goto")
    assert "pendingDirective" not in moved.session.metadata.get("falai3", {})
    assert [call.schema_name for call in one.core.model.calls] == ["understand", "speak", "speak"]  # type: ignore[attr-defined]  # a scripted one


async def test_a_redirect_asks_no_model_where_to_go() -> None:
    """There are no candidates: what else there is to understand is asked all the same."""
    one = agent(model("Three", understand=[{"fields": {"name": "Ana"}}]), schema=SCHEMA,
                flows=[*FLOWS[:1], flow(talk("three"), id="other", optionalFields=["name"])], session_id="x")  # fmt: skip
    await one.dispatch("other")
    response = await one.chat("I am Ana")
    assert response.message == "Three"


async def test_it_is_saved_with_persistence() -> None:
    """And the session that was given is not changed."""
    store = MemoryStore()
    one = agent(model("Three"), flows=FLOWS, persistence={"adapter": store})
    given = await store.save(Session.fresh("x"), 0)
    session = await one.dispatch("other", given)
    stored = await store.load("x")
    assert stored is not None
    assert (session, stored.metadata["falai3"]) == (stored, {"pendingDirective": {"goTo": "other"}})
    assert given.metadata == {}
    assert (await one.respond("Hi", session_id="x")).message == "Three"


async def test_without_persistence_the_caller_keeps_the_session() -> None:
    """What comes back is what the next turn is given."""
    one = agent(model("Three"), flows=FLOWS)
    session = await one.dispatch("other", Session.fresh("x"))
    assert await one.store.load("x") is None
    assert (await one.respond("Hi", session=session)).message == "Three"


async def test_a_session_is_needed() -> None:
    """One that is given, or a default one that there is by now."""
    one = agent(model("Hello", "One", "Three", understand=[VISIT, VISIT]), flows=FLOWS)
    await one.respond("Hi", session=Session.fresh("given"))
    with pytest.raises(ValueError, match="session"):
        await one.dispatch("other")
    await one.chat("Hi")
    await one.dispatch("other")
    assert (await one.chat("Hi")).message == "Three"


@pytest.mark.parametrize(
    ("target", "code"),
    [("gone", "unknown-flow"), ({"goTo": {"flow": "gone"}}, "unknown-flow"), ({"goTo": {}}, "empty-goto"),
     ({"goTo": "other", "reset": True}, "multiple-positions"), ("", "bad-member")],
)  # fmt: skip
async def test_a_wrong_redirect_is_refused_at_once(target: Any, code: str) -> None:
    """An unknown flow with the flows there are."""
    with pytest.raises(FlowConfigurationError) as failure:
        await agent(model(), flows=FLOWS, session_id="x").dispatch(target)
    assert failure.value.code == code
    if code == "unknown-flow":
        assert all(f'"{flow["id"]}"' in str(failure.value) for flow in FLOWS)


async def test_what_is_no_directive_is_a_type_error() -> None:
    """Nothing is kept."""
    with pytest.raises(TypeError, match="target"):
        await agent(model(), session_id="x").dispatch(5)  # type: ignore[arg-type]  # that is the point


async def test_what_has_no_meaning_between_turns_is_dropped(caplog: pytest.LogCaptureFixture) -> None:
    """With a warning that names it; the rest counts."""
    one = agent(model(), schema=SCHEMA, session_id="x")
    with caplog.at_level(logging.WARNING):
        session = await one.dispatch(Directive(append_prompt=["a"], halt=True, data_update={"age": 3}))
    assert session.metadata["falai3"]["pendingDirective"] == {"dataUpdate": {"age": 3}}
    assert ["appendPrompt, halt" in record.message for record in caplog.records] == [True]


async def test_a_redirect_may_speak_and_write() -> None:
    """Its reply is said in place of a model's, its data is there before anything else (D-63)."""
    one = agent(model(), schema=SCHEMA, session_id="x")
    await one.dispatch({"reply": "We have moved.", "dataUpdate": {"city": "Rome"}})
    response = await one.chat("Hi")
    assert (response.message, response.stopped_reason, response.session.data) == (
        "We have moved.", "reply", {"city": "Rome"},
    )  # fmt: skip


async def test_one_that_cannot_be_applied_waits_until_another_takes_its_place() -> None:
    """A turn that fails has no effect (D-30, D-57); an empty one is nothing."""
    one = agent(model("One", understand=[VISIT]), flows=FLOWS, session_id="x")
    await one.dispatch({"goToStep": "gone"})
    for _ in range(2):
        with pytest.raises(FlowConfigurationError, match="gone"):
            await one.chat("Hi")
    await one.dispatch({})
    assert (await one.chat("Hi")).message == "One"
