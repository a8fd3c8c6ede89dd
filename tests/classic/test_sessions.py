"""Which session a call means, how it is locked and kept, and what is read off it (D-19, D-31 to D-34, D-78)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from msgspec.structs import replace

from classic.talks import SCHEMA, agent, flow, model, talk
from falai import InvalidSessionError, ProviderError, Session, SessionConflictError
from falai.classic import ClassicSession, ResponseGenerationError
from falai.classic.sessions import as_classic, read_session
from falai.model import ModelChunk, ModelRequest
from falai.store import MemoryStore
from falai.testing import ScriptedModel

pytestmark = pytest.mark.anyio


def texts(session: Session) -> list[str]:
    return [item["content"] for item in session.history or []]


# --- the choice ---------------------------------------------------------------------------------


async def test_without_a_choice_it_is_the_agents_default_session() -> None:
    """It is made when it is first used, and stays the same."""
    one = agent(model("a", "b"))
    first, second = await one.chat("1"), await one.chat("2")
    assert first.session.id.startswith("session_")
    assert (second.session.id, texts(second.session)) == (first.session.id, ["1", "a", "2", "b"])


async def test_two_agents_have_two_default_sessions() -> None:
    """Nobody shares one by accident."""
    assert (await agent(model("a")).chat("1")).session.id != (await agent(model("a")).chat("1")).session.id


async def test_an_id_names_a_session_of_the_store_or_a_new_one() -> None:
    """What is not there starts under that id."""
    one = agent(model("a", "b", "c"))
    await one.respond("1", session_id="x")
    other = await one.respond("2", session_id="y")
    again = await one.respond("3", session_id="x")
    assert (other.session.id, texts(other.session)) == ("y", ["2", "b"])
    assert (again.session.id, texts(again.session)) == ("x", ["1", "a", "3", "c"])


async def test_the_default_session_may_have_an_id_or_be_given() -> None:
    """By id it is a session as any other; an object is where the first turn begins."""
    one = agent(model("a", "b"), session_id="x")
    await one.chat("1")
    assert texts((await one.respond("2", session_id="x")).session) == ["1", "a", "2", "b"]
    given = Session.fresh("y")
    given.history = [{"role": "user", "content": "0"}]
    two = agent(model("a", "b"), session=given)
    await two.chat("1")
    assert texts((await two.chat("2")).session) == ["0", "1", "a", "2", "b"]
    assert given.history == [{"role": "user", "content": "0"}]


async def test_a_session_that_is_passed_is_not_stored_without_persistence() -> None:
    """It comes back in the response, and the one that was given is as it was."""
    one = agent(model("a", "b"))
    given = Session.fresh("x")
    response = await one.respond("1", session=given)
    assert (texts(response.session), given.history, await one.store.load("x")) == (["1", "a"], None, None)
    assert texts((await one.respond("2", session=response.session)).session) == ["1", "a", "2", "b"]


async def test_a_session_may_come_as_a_stored_blob() -> None:
    """A blob of the core is one; a text that is none is refused as a whole."""
    one = agent(model("a"))
    blob = {"id": "x", "v": 4, "version": 3, "data": {}, "runs": [], "claims": {}, "inputs": [], "metadata": {}}
    assert texts((await one.respond("1", session=blob)).session) == ["1", "a"]
    with pytest.raises(InvalidSessionError):
        await one.respond("1", session={**blob, "runs": "none"})


async def test_an_error_while_loading_is_raised() -> None:
    """It never turns into a new session."""

    class Broken(MemoryStore):
        async def load(self, id: str) -> Session | None:
            raise ConnectionError(f"no way to {id}")

    with pytest.raises(ResponseGenerationError, match="no way to x") as failure:
        await agent(model("a"), persistence={"adapter": Broken()}).respond("1", session_id="x")
    assert failure.value.details["phase"] == "preparation"
    assert failure.value.details["originalError"] is failure.value.cause
    assert isinstance(failure.value.cause, ConnectionError)


# --- saving -------------------------------------------------------------------------------------


async def test_with_persistence_a_turn_is_saved() -> None:
    """With the version that the session came with; the response shows what is stored."""
    store = MemoryStore()
    one = agent(model("a", "b"), persistence={"adapter": store, "user_id": "u1"})
    response = await one.respond("1", session_id="x")
    stored = await store.load("x")
    assert stored is not None
    assert (response.session, stored.version, stored.metadata["userId"]) == (stored, 1, "u1")
    passed = await one.respond("2", session=stored)
    assert (passed.session.version, await store.load("x")) == (2, passed.session)


async def test_a_save_that_comes_too_late_is_a_conflict() -> None:
    """Nothing was said; load again and repeat (D-32)."""
    store = MemoryStore()
    one = agent(model("a", "b", "c"), persistence={"adapter": store})
    old = (await one.respond("1", session_id="x")).session
    await one.respond("2", session_id="x")
    with pytest.raises(SessionConflictError):
        await one.respond("3", session=old)
    stored = await store.load("x")
    assert stored is not None
    assert texts(stored) == ["1", "a", "2", "b"]


async def test_a_handler_that_waits_for_its_own_turn_is_told_so() -> None:
    """It would wait for ever (D-32); another session is free, and so is its own once the turn is over."""

    async def wait(*_: Any) -> None:
        await one.respond("inner", session_id="y")
        with pytest.raises(RuntimeError, match="dispatch"):
            await one.dispatch("visit")
        late.append(asyncio.create_task(one.respond("after", session_id="x")))

    late: list[asyncio.Task[Any]] = []
    prepared = talk("one", prepare=wait, **{"if": lambda scene: scene.session.id == "x"})
    one = agent(model("a", "b", "c"), session_id="x", flows=[flow(prepared, talk("two"))])
    assert (await one.chat("1")).message == "b"
    assert (await late[0]).message == "c"


async def test_a_stream_that_is_left_in_the_middle_blocks_nobody() -> None:
    """Its reader may go on with the next message at once: the event loop closes it, however long the model takes (D-39)."""

    class Slow(ScriptedModel):
        async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
            try:
                async for chunk in super().stream(request):
                    yield chunk
            finally:
                for _ in range(10):
                    await asyncio.sleep(0)

    one = agent(Slow({"speak": [{"message": "a long answer"}, {"message": "b"}]}), session_id="x")
    async for _ in one.stream("1"):
        break
    response = await one.chat("2")
    assert (response.message, texts(response.session)) == ("b", ["2", "b"])


async def test_auto_save_can_be_switched_off() -> None:
    """The host saves what the response has; the default session goes on all the same."""
    store = MemoryStore()
    one = agent(model("a", "b"), persistence={"adapter": store, "auto_save": False, "schema_version": 2})
    await one.chat("1")
    response = await one.chat("2")
    assert texts(response.session) == ["1", "a", "2", "b"]
    assert await store.load(response.session.id) is None
    assert (await store.save(response.session, 0)).metadata["falai3"] == {"schemaVersion": 2}


async def test_a_repeated_message_id_changes_nothing() -> None:
    """No message, no reason, no save, no model, no hook (D-31)."""
    store, loaded = MemoryStore(), []
    provider = model("a")
    one = agent(provider, persistence={"adapter": store}, context_provider=lambda: loaded.append(1))
    first = await one.respond("1", session_id="x", message_id="m1")
    second = await one.respond("1", session_id="x", message_id="m1")
    assert (second.message, second.stopped_reason, second.session) == ("", None, first.session)
    assert (second.session.version, len(provider.calls), loaded) == (1, 1, [1])


async def test_a_turn_that_fails_has_no_effect() -> None:
    """DT-19: raised; the session is as before; a retry works."""
    store = MemoryStore()
    down = ProviderError("down", kind="overload")
    one = agent(model("a", down, "b"), persistence={"adapter": store}, context={"n": 1})
    await one.respond("1", session_id="x")
    before = await store.load("x")
    with pytest.raises(ProviderError) as failure:
        await one.respond("2", session_id="x", message_id="m2")
    assert failure.value.kind == "overload"
    assert await store.load("x") == before
    assert texts((await one.respond("2", session_id="x", message_id="m2")).session) == ["1", "a", "2", "b"]


async def test_two_turns_of_one_session_run_one_after_another() -> None:
    """DT-20: both are in the history, and the second one has seen the first."""
    running: list[str] = []

    async def slow(scene: Any) -> str:
        text = scene.helpers.get_last_user_message()
        running.append(f"{text} begins")
        await asyncio.sleep(0)
        running.append(f"{text} ends")
        return "Be slow."

    one = agent(model("a", "b"), persona=slow)
    calls = (one.respond(text, session_id="x") for text in ("1", "2"))
    responses = await asyncio.gather(*calls)
    assert running[:2] == ["1 begins", "1 ends"]
    assert texts(responses[1].session) == ["1", "a", "2", "b"]


# --- the form of the data -----------------------------------------------------------------------


async def test_who_has_a_session_and_asks_for_it_is_told_so() -> None:
    """Behind a stream that was not read to its end, and under a lock of the host's."""
    one = agent(model("a", "b"), session_id="x")
    async with aclosing(one.stream("1")) as chunks:
        await anext(chunks)
        with pytest.raises(ResponseGenerationError, match="has it already"):
            await one.chat("2")
    async with one.lock("x"):
        with pytest.raises(RuntimeError, match="has it already"):
            await one.dispatch({"complete": True})
    assert (await one.chat("3")).message == "b"


async def test_the_version_of_the_datas_form_is_stamped_and_asked_for() -> None:
    """A session with another one goes through `migrateSession`, which may be asynchronous (D-34)."""
    seen: list[Any] = []

    async def migrate(collected: dict[str, Any], from_version: Any) -> dict[str, Any]:
        seen.append((from_version, dict(collected["data"])))
        return {**collected, "data": {"name": collected["data"]["full_name"]}}

    store, old = MemoryStore(), Session.fresh("x")
    old.data = {"full_name": "Ana"}
    await store.save(old, 0)
    persistence = {"adapter": store, "schema_version": 2, "migrate_session": migrate}
    one = agent(model("a", "b"), schema=SCHEMA, persistence=persistence)
    response = await one.respond("1", session_id="x")
    await one.respond("2", session_id="x")
    assert (seen, response.session.data) == ([(None, {"full_name": "Ana"})], {"name": "Ana"})
    assert response.session.metadata["falai3"]["schemaVersion"] == 2


async def test_a_new_session_is_in_the_right_form() -> None:
    """Nothing is migrated where nothing was loaded."""
    persistence = {"adapter": MemoryStore(), "schema_version": 2, "migrate_session": None}
    assert (await agent(model("a"), persistence=persistence).respond("1", session=Session.fresh("x"))).message == "a"


async def test_without_a_function_the_data_is_taken_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    """With a warning that says both versions."""
    store = MemoryStore()
    await store.save(Session.fresh("x"), 0)
    with caplog.at_level(logging.WARNING):
        await agent(model("a"), persistence={"adapter": store, "schema_version": "b"}).respond("1", session_id="x")
    assert [r.message for r in caplog.records if "schemaVersion" in r.message and "'b'" in r.message]


async def test_a_migration_that_gives_no_session_fails_the_turn() -> None:
    """The error says what was given."""
    store = MemoryStore()
    await store.save(Session.fresh("x"), 0)
    persistence = {"adapter": store, "schema_version": 2, "migrate_session": lambda *_: None}
    with pytest.raises(ResponseGenerationError, match="migrateSession gave null"):
        await agent(model("a"), persistence=persistence).respond("1", session_id="x")


# --- what is read off a session -----------------------------------------------------------------


async def test_the_current_flow_and_step_are_read_off_the_session() -> None:
    """The flow that asks; no suffix of ours is ever seen."""
    steps = [talk("who", requires=["name"]), talk("bye")]
    assert as_classic(Session.fresh("x")).current_flow is None
    one = agent(model("Name?", understand=[{}]), schema=SCHEMA, flows=[flow(*steps)])
    session = (await one.chat("hi")).session
    assert (session.current_flow, session.current_step) == ("visit", "who")


async def test_of_flows_that_are_suspended_in_one_moment_the_last_is_current() -> None:
    """It is the one that the core takes up again."""
    session = (await agent(model("One"), flows=[flow(talk(), talk("two"))]).chat("hi")).session
    visit = session.runs[0]
    visit.status, visit.suspended_at = "suspended", "2026-01-01T10:00:00.000Z"
    session.runs.append(replace(visit, id="b", flow_id="b"))
    assert session.current_flow == "b"


async def test_a_session_is_equal_to_any_with_the_same_content() -> None:
    """Whether the 3.x names can be read off it or not."""
    plain = Session.fresh("x")
    assert as_classic(plain) == plain
    assert plain == as_classic(plain)
    assert as_classic(plain) != Session.fresh("y")
    assert isinstance(as_classic(plain), ClassicSession)


# --- 3.x blobs ----------------------------------------------------------------------------------

BLOB: dict[str, Any] = {
    "id": "old",
    "data": {"name": "Ana"},
    "currentFlow": {"id": "visit", "enteredAt": "2026-01-01T10:00:00Z"},
    "currentStep": {"id": "two"},
    "flowHistory": [{"flowId": "done", "completed": True, "exitedAt": "2026-01-01T09:00:00Z"}],
    "signals": {"triggers": {"angry": {"firstTriggeredAt": 0, "lastTriggeredAt": 60_000, "count": 2}}},
    "pendingDirective": {"goTo": "other"},
    "history": [{"role": "user", "content": "Hi"}],
}


def test_a_blob_of_3x_keeps_its_place_its_signals_and_its_redirect() -> None:
    """The flow at work is not completed by being migrated; one that has completed is (D-86, D-87)."""
    session = read_session(BLOB, "default")
    assert (session.id, session.current_flow, session.current_step) == ("old", "visit", "two")
    assert list(session.claims) == ["done:old:", "angry:old:"]
    state = session.signals.triggers["angry"]
    assert (state.first_triggered_at, state.last_triggered_at, state.count) == (
        "1970-01-01T00:00:00.000Z", "1970-01-01T00:01:00.000Z", 2,
    )  # fmt: skip
    assert session.metadata["falai3"]["pendingDirective"] == {"goTo": "other"}


def test_a_row_of_3x_is_read_as_the_state_is() -> None:
    """What a column lacks stands in `collectedData`; a row without an id is the agent's default session."""
    inside = {key: BLOB[key] for key in ("data", "flowHistory", "signals", "history")}
    row = {"currentFlow": "visit", "currentStep": "two", "collectedData": json.dumps(inside)}
    session = read_session(row, "default")
    assert (session.id, session.current_step, list(session.signals.triggers)) == ("default", "two", ["angry"])


@pytest.mark.parametrize("pending", [{"goTo": "a", "reset": True}, "other", {"goTo": {}}])
def test_a_redirect_that_is_not_valid_is_dropped(pending: Any, caplog: pytest.LogCaptureFixture) -> None:
    """With a warning; the rest of the blob is read."""
    session = read_session({**BLOB, "pendingDirective": pending}, "default")
    assert "pendingDirective" not in session.metadata["falai3"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]


async def test_a_conversation_of_3x_goes_on_where_it_was() -> None:
    """DT-24: its step answers; with a redirect it goes there instead, once."""
    flows = [flow(talk("one"), talk("two")), flow(id="other")]
    blob = {key: value for key, value in BLOB.items() if key != "pendingDirective"}
    provider = model("Go on", understand=[{}])
    response = await agent(provider, schema=SCHEMA, flows=flows).respond("hello", session=blob)
    assert "Speak for two." in provider.calls[-1].prompt
    assert texts(response.session) == ["Hi", "hello", "Go on"]
    provider = model("Elsewhere", understand=[{}])
    response = await agent(provider, schema=SCHEMA, flows=flows).respond("hello", session=BLOB)
    assert "Speak for one." in provider.calls[-1].prompt
    assert response.stopped_reason == "goto"
    assert "pendingDirective" not in response.session.metadata["falai3"]
    assert response.session.signals.triggers["angry"].count == 2
