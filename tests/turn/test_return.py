"""T-2, T-15.11 to T-15.13, T-18, T-20, T-21, B-18: the result, silences, streaming, replays."""

from __future__ import annotations

import asyncio
import copy
from datetime import timedelta
from typing import Any

import pytest

from falai import (
    Agent,
    Collect,
    Delta,
    Do,
    Done,
    Event,
    Flow,
    Message,
    OnAnyMessage,
    OnEvent,
    OnMessage,
    OnSilence,
    Prompt,
    ProviderError,
    Say,
    ToFlow,
    Wait,
    ok,
)  # fmt: skip
from falai.model.port import ModelReply, Usage
from falai.session.codec import session_to_json
from falai.session.dates import from_ms
from falai.session.model import Claim, Session
from falai.testing import Pieces, ScriptedModel
from turn.chat import NOW, Chat, at, lines, said, scheduled

NOTE = Collect("c", ["note"])


def _nudge(**trigger: Any) -> Flow:
    return Flow("nudge", on=[OnSilence("24h", **trigger)], steps=[Say("x", "Still there?")])


def _spoke(spoke: str | None, wrote: str | None = None) -> Session:
    session = Session.fresh("s1")
    session.last_assistant_at, session.last_user_at = spoke, wrote
    return session


# --- silences -----------------------------------------------------------------------------------


def test_a_silence_is_armed_when_the_assistant_spoke():
    """T-15.11 to T-15.13: the key holds the instant; nothing is replaced at first."""
    result = Chat(_nudge()).message(speak="Hi")
    [wake] = result.to_wire()["schedule"]
    assert wake == {"key": f"silence:nudge:s1:{at(0)}", "at": "2026-09-21T10:00:00.000Z"}


def test_a_newer_word_replaces_the_older_silence():
    """T-15.13: `replaces` is the same key with the old instant; an unreadable one leaves none (B-2.8)."""
    chat = Chat(_nudge())
    chat.message(speak="Hi")
    chat.clock.advance("1m")
    assert chat.message(speak="Hi").schedule[0].replaces == f"silence:nudge:s1:{at(0)}"
    chat.session = _spoke("odd")
    assert chat.message(speak="Hi").schedule[0].replaces is None


def test_no_silence_is_armed_when_nobody_spoke():
    """T-15.12: only if `lastAssistantAt` differs, as text, from that of the session that was passed."""
    chat = Chat(_nudge(), idle="silent")
    chat.session = _spoke(NOW, NOW)
    assert not chat.message().schedule
    chat.session = _spoke("2026-09-20T10:00:00Z")
    assert scheduled(chat.event("out")) == [(f"silence:nudge:s1:{at(0)}", "+86400s")]
    assert not chat.event("out").schedule


def test_an_outbound_event_arms_and_an_inbound_one_does_not():
    """T-15.12: the event's direction counts as the assistant speaking."""
    assert len(Chat(_nudge()).event("out").schedule) == 1
    assert not Chat(_nudge()).event("in").schedule


@pytest.mark.parametrize(("wrote", "armed"), [(None, 1), (NOW, 1), ("2026-09-20T10:00:00.001Z", 0), ("odd", 1)])
def test_no_silence_is_armed_after_the_customers_word(wrote: str | None, armed: int):
    """T-15.13: none if `lastUserAt` is later; strictly."""
    chat = Chat(_nudge())
    chat.session = _spoke(None, wrote)
    assert len(chat.event("out").schedule) == armed


def test_which_flows_a_silence_is_armed_for():
    """T-15.13: in agent order, by the first silence trigger; its `if` on a draft, its `repeat`, no live run matters."""
    seen: list[Any] = []
    chat = Chat(
        Flow("one", on=[OnEvent("in"), OnSilence("1h"), OnSilence("2h")], steps=[Wait("w", "9d")]),
        Flow("two", on=[OnSilence("1h", if_=lambda view: seen.append(view.run) or False)], steps=[Say("x", "x")]),
        Flow("three", on=[OnSilence("1h")], steps=[Say("x", "x")]),
        Flow("four", on=[OnSilence("1h", repeat="always"), OnEvent("in")], steps=[Say("x", "x")]),
    )
    chat.session = Session.fresh("s1")
    chat.session.claims = {"three:s1:": Claim(at=NOW)}
    chat.start("one", context={})
    result = chat.event("out")
    assert scheduled(result) == [(f"silence:one:s1:{at(0)}", "+3600s"), (f"silence:four:s1:{at(0)}", "+3600s")]
    [run] = seen
    assert (run.trigger.kind, run.trigger.key, run.input, run.id) == ("silence", str(at(0)), None, f"two#{at(0)}")
    assert run.dedupe_key == "two:s1:"


def test_an_always_silence_is_armed_unless_this_very_one_was_claimed():
    """T-15.13: under the trigger key, which is the instant."""
    chat = Chat(_nudge(repeat="always"))
    chat.session = Session.fresh("s1")
    chat.session.claims = {f"nudge:s1:{at(0)}": Claim(at=NOW)}
    assert not chat.event("out").schedule
    chat.clock.advance("1m")
    assert len(chat.event("out", "e2").schedule) == 1


@pytest.mark.parametrize(("asked", "due"), [(True, 93_600), (False, 86_400), (None, 86_400)])
def test_a_silence_in_business_hours(asked: Any, due: int):
    """T-15.13: moved if the trigger says so."""
    chat = Chat(_nudge(business_hours=asked), business_hours=lambda moment, _context: moment + timedelta(hours=2))
    assert scheduled(chat.event("out")) == [(f"silence:nudge:s1:{at(0)}", f"+{due}s")]


# --- pending wakes ------------------------------------------------------------------------------


def test_pending_wakes():
    """B-18: the parked runs in list order, then the silences in agent order, without `replaces`."""
    chat = Chat(
        _nudge(),
        Flow("one", steps=[Wait("w", "2d"), Say("x", "x")]),
        Flow("two", on=[OnEvent("out", after="1h")], steps=[Say("x", "x")]),
        Flow("ask", steps=[NOTE]),
    )
    chat.start("one")
    chat.event("out")
    chat.start("ask", "k3", speak="Note?")
    chat.clock.advance("9d")
    assert chat.session is not None
    pending = chat.agent.pending_wakes(chat.session)
    assert [(wake.key, wake.at, wake.replaces) for wake in pending] == [
        (f"one#k1:w:{at(172_800)}", from_ms(at(172_800)), None),
        (f"two#e1:start:{at(3600)}", from_ms(at(3600)), None),
        (f"silence:nudge:s1:{at(0)}", from_ms(at(86_400)), None),
    ]


def test_pending_wakes_see_what_they_are_given():
    """B-18.3: context, claims, anchors and the gate count; nothing is changed."""
    flow = Flow(
        "nudge", anchor="deal", on=[OnSilence("1h", if_={"flag": "on", "silenced": True})], steps=[Say("x", "x")]
    )
    chat = Chat(flow)
    session = _spoke(NOW)
    before = session_to_json(session)
    on, anchors = {"on": True}, {"deal": {"key": "d1"}}
    pending = chat.agent.pending_wakes
    assert len(pending(session, context=on, silenced="held", anchors=anchors)) == 1
    assert not pending(session, context=on)
    assert not pending(session, context={}, silenced="held")
    held = {"held": {"nudge:d1:": NOW}}
    assert not pending(session, context=on, silenced="held", anchors=anchors, claims=held)
    assert len(pending(session, context=on, silenced="held", claims=held)) == 1
    assert session_to_json(session) == before


def test_a_wake_that_cannot_be_read_is_not_pending():
    """B-18.2, B-2.8: no key, or an unreadable `until`, gives no entry; nor a silence without a readable date."""
    chat = Chat(Flow("one", steps=[Wait("w", "2d"), Say("x", "x")]), _nudge())
    chat.start("one")
    session = chat.session
    assert session is not None
    waiting = session.runs[0].waiting
    assert waiting is not None
    waiting.until, session.last_assistant_at = "odd", "odd"
    assert chat.agent.pending_wakes(session) == []
    waiting.until, waiting.key = NOW, None
    assert chat.agent.pending_wakes(session) == []


def test_only_parked_runs_are_pending():
    """B-18.2: every run with status `waiting` that has both."""
    chat = Chat(Flow("one", steps=[Wait("w", "2d"), Say("x", "x")]))
    chat.start("one")
    assert chat.session is not None
    chat.session.runs[0].status = "asking"
    assert chat.agent.pending_wakes(chat.session) == []


# --- changed ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "flows", "changed"),
    [
        ({"message": "x", "id": "new"}, [], True),
        ({"message": "x", "id": "old"}, [], False),
        ({"wake": "x"}, [], False),
        ({"start": {"flow": "gone", "key": "k"}}, [], True),
        ({"event": "plain", "key": "k"}, [Flow("a", on=[OnEvent("plain", if_={"flag": "x"})], steps=[NOTE])], False),
        ({"event": "unknown", "key": "k"}, [], False),
        ({"event": "in", "key": "k"}, [], True),
        ({"event": "out", "key": "k"}, [], True),
    ],
    ids=["message", "repeated", "stale", "refused", "if is false", "unknown event", "inbound", "outbound"],
)
def test_what_changes_a_session(given: Any, flows: Any, changed: bool):
    """T-18.2, T-18.3: on a session that was passed."""
    chat = Chat(*flows, idle="silent")
    chat.session = Session.fresh("s1")
    chat.session.inputs = ["old"]
    assert chat.play(given, context={}).changed is changed


def test_a_message_without_an_id_that_changes_nothing():
    """T-18.2: an equal session and empty lists: not even the date moved."""
    chat = Chat(idle="silent")
    chat.session = _spoke(None, NOW)
    assert chat.message(id=None).changed is False
    chat.clock.advance(1)
    assert chat.message(id=None).changed is True


@pytest.mark.parametrize("given", [{"event": "unknown", "key": "k"}, {"message": "x"}])
def test_a_first_contact_changes(given: Any):
    """T-18.3: no session passed, other than a wake."""
    assert Chat(idle="silent").play(given).changed is True


def test_messages_and_wakes_alone_change():
    """T-18.2: one line, or one entry, is enough, though the session is equal."""
    chat = Chat(Flow("lead", steps=[Say("x", "x")]))
    chat.session = _spoke(NOW)
    chat.session.claims = {"lead:s1:k1": Claim(at="2026-09-20")}
    assert chat.start("lead").changed is True


def test_versions_metadata_and_history_are_the_hosts():
    """B-3: a turn passes them on as they were."""
    chat = Chat(idle="silent")
    chat.session = Session.fresh("s1")
    chat.session.version, chat.session.metadata, chat.session.history = (
        7,
        {"a": [1]},
        [{"role": "user", "content": "x"}],
    )
    session = chat.message().session
    assert (session.version, session.metadata, session.history) == (7, {"a": [1]}, [{"role": "user", "content": "x"}])


def test_the_given_session_is_never_changed():
    """B-3.3: a turn works on a deep copy, also when it raises."""
    flows = [Flow(name, on=[OnMessage("wants")], steps=[Do("d", "act"), NOTE]) for name in ("one", "two")]
    chat = Chat(*flows, actions={"act": lambda ctx: ctx.data["list"].append(1) or ok()})
    session = Session.fresh("s1")
    session.data = {"list": []}
    kept = copy.deepcopy(session)
    chat.message(session=session, understand={"flows": {"one": 90}}, speak="?")
    with pytest.raises(ProviderError):
        chat.message(session=session, understand=ProviderError("x", kind="auth"))
    assert session == kept


# --- the wire form ------------------------------------------------------------------------------


def test_the_wire_form_of_a_result():
    """T-2: wire names, dates as ISO text, absent keys left out; neither `calls` nor `changes`."""
    chat = Chat(Flow("lead", steps=[Say("x", "x"), Wait("w", "1d")]), _nudge())
    wire = chat.start("lead").to_wire()
    assert list(wire) == [
        "session", "changed", "messages", "schedule", "outcomes", "started", "ended", "skipped", "llmCalls",
    ]  # fmt: skip
    assert wire["outcomes"][0] == {
        "runId": "lead#k1", "flowId": "lead", "stepId": "x", "key": "lead#k1:x:1", "kind": "say", "status": "ok", "at": NOW,
    }  # fmt: skip
    assert wire["messages"][0]["afterMs"] == 0
    assert wire["schedule"][0] == {"key": f"lead#k1:w:{at(86_400)}", "at": "2026-09-21T10:00:00.000Z"}


def test_a_line_with_a_code_has_its_sentence():
    """O-2: `code` and `message` are there together, or not at all."""
    chat = Chat(Flow("lead", steps=[Say("x", "x"), Do("d", "act")]), actions={"act": {"skipped": "no need"}})
    spoken, acted = chat.start("lead").outcomes
    assert (spoken.code, spoken.message) == (None, None)
    assert (acted.code, acted.message) == ("action-skipped", "The action chose to do nothing.")


def test_calls_and_changes_take_no_part_in_equality():
    """F-19.6: what people look at is no part of the result's value."""
    one, two = (Chat(Flow("lead", steps=[Prompt("p", "Talk.")])).start("lead", speak="Hi") for _ in range(2))
    assert one == two
    [call] = one.calls
    assert (call.name, call.reply, call.error, call.usage, call.model) == ("speak", "Hi", None, None, "mock")
    assert call.prompt == "\n\n".join(
        filter(None, [call.prompt.partition("\n\n")[0], call.prompt.partition("\n\n")[2]])
    )
    assert call.duration_ms >= 0


def test_a_failed_call_is_told():
    """F-19.6: it has no reply, and says what went wrong."""
    chat = Chat()
    [call] = chat.message(speak=ProviderError("no key", kind="auth")).calls
    assert (call.reply, call.usage) == (None, None)
    assert "no key" in (call.error or "")


def test_a_change_tells_where_it_came_from():
    """F-19.6: an equal value is no change; one that was cleared has no new value."""
    chat = Chat(
        Flow("lead", clear_on_start=["name", "plan"], steps=[Do("d", "act")]),
        actions={"act": lambda ctx: ctx.set({"size": 3, "note": "x"}) or ok()},
    )
    chat.session = Session.fresh("s1")
    chat.session.data = {"name": "Ana", "size": 3}
    changes = chat.start("lead").changes
    assert [(change.field, change.old, change.new, change.source) for change in changes] == [
        ("name", "Ana", None, "clear"), ("note", None, "x", "action"),
    ]  # fmt: skip


# --- compaction ---------------------------------------------------------------------------------

LONG = [{"role": "user", "content": "words " * 200}] * 6
SMALL = {"maxTokens": 100, "preserveRecentCount": 2}


def _summing(chat: Chat, *summaries: Any) -> Chat:
    chat.model.feed("summary", *summaries)
    return chat


def test_the_history_is_compacted_once_before_the_first_call():
    """T-4.1: both calls see the result; the summary counts 1; the session is not touched."""
    flows = [Flow(name, on=[OnMessage("wants")], steps=[NOTE]) for name in ("one", "two")]
    chat = Chat(*flows, compaction=SMALL)
    chat.session = Session.fresh("s1")
    chat.session.history = LONG
    model = ScriptedModel({"summary": ["In short."], "understand": [{"flows": {}}], "speak": [{"message": "Hi"}]})
    agent = Agent(
        name="Ana", model=model, clock=chat.clock, flows=flows, fields={"note": {"type": "string"}}, compaction=SMALL
    )
    result = agent.turn_sync("s1", Message("hello", id="m1"), session=chat.session)
    assert [call.schema_name for call in model.calls] == ["summary", "understand", "speak"]
    assert result.llm_calls == 3
    assert model.calls[1].request.history == model.calls[2].request.history
    assert len(model.calls[1].request.history) == 3
    assert result.session.history == LONG


@pytest.mark.parametrize(("history", "given"), [(LONG, "silent"), ([], None), (None, None)])
def test_a_turn_without_a_call_or_a_history_does_not_compact(history: Any, given: Any):
    """T-4.1 (decision)."""
    chat = Chat(compaction=SMALL, idle=given)
    result = chat.message(history=history, speak=None if given else "Hi")
    assert result.llm_calls == (0 if given else 1)


def test_a_summary_that_failed_counts():
    """T-4.1, M-15.6: it counts 1, and the turn goes on."""
    model = ScriptedModel({"summary": [ProviderError("x", kind="rate")], "speak": [{"message": "Hi"}]})
    agent = Agent(name="Ana", model=model, compaction=SMALL)
    result = agent.turn_sync("s1", Message("hello", id="m1"), history=LONG)
    assert (said(result), result.llm_calls) == (["Hi"], 2)


def test_the_usage_of_a_summary_counts():
    """T-4.1, T-2.5: beside that of the other calls, told under wire names."""
    summary = ModelReply(message="In short.", usage=Usage(7, 3, 2))
    spoken = ModelReply(message="Hi", usage=Usage(10, 2, 1))
    agent = Agent(name="Ana", model=ScriptedModel({"summary": [summary], "speak": [spoken]}), compaction=SMALL)
    result = agent.turn_sync("s1", Message("hello", id="m1"), history=LONG)
    assert result.to_wire()["usage"] == {"promptTokens": 17, "completionTokens": 5, "cachedInputTokens": 3}


# --- streaming ----------------------------------------------------------------------------------


def _stream(agent: Agent[Any], given: Any, **around: Any) -> list[Any]:
    async def collect() -> list[Any]:
        return [item async for item in agent.turn_stream("s1", given, **around)]

    return asyncio.run(collect())


def test_a_streamed_turn():
    """T-20.1, T-20.2: the reply's words, then one last item with the result that `turn` would give."""
    pieces = Pieces(['{"message": "Hel', "lo the", 're"}'], {"message": "Hello there"})
    results = []
    for play in ("turn", "stream"):
        chat = Chat(Flow("lead", on=[OnAnyMessage()], steps=[Say("x", "First."), Prompt("p", "Talk.")]))
        chat.model.feed("speak", pieces)
        if play == "turn":
            results.append(chat.agent.turn_sync("s1", Message("hello", id="m1")))
        else:
            *deltas, last = _stream(chat.agent, Message("hello", id="m1"))
            assert "".join(delta.text for delta in deltas) == "Hello there"
            assert len(deltas) > 1
            assert all(isinstance(delta, Delta) for delta in deltas)
            results.append(last.result)
    assert results[0] == results[1]
    assert said(results[1]) == ["First.", "Hello there"]


def test_a_turn_in_which_nobody_speaks_streams_its_result_only():
    """T-20.3: an ignored input too."""
    chat = Chat(Flow("lead", steps=[Say("x", "x")]))
    [only] = _stream(chat.agent, {"start": {"flow": "lead", "key": "k"}})
    assert isinstance(only, Done)
    [ignored] = _stream(chat.agent, {"wake": "x"})
    assert not ignored.result.changed


def test_a_stream_that_fails():
    """T-20.5: a result with a deferred line, as in `turn`."""
    chat = Chat(Flow("lead", steps=[Prompt("p", "Talk.")]))
    chat.model.feed("speak", ProviderError("x", kind="rate"))
    [last] = _stream(chat.agent, {"start": {"flow": "lead", "key": "k"}})
    assert lines(last.result) == ["prompt/deferred/provider-unavailable"]


def test_what_raises_in_a_turn_raises_out_of_the_stream():
    """T-20.7: bad input, and a failed understand call."""
    chat = Chat(*(Flow(name, on=[OnMessage("wants")], steps=[NOTE]) for name in ("one", "two")))
    with pytest.raises(ValueError, match="message, wake"):
        _stream(chat.agent, {})
    chat.model.feed("understand", ProviderError("x", kind="rate"))
    with pytest.raises(ProviderError):
        _stream(chat.agent, Message("hello", id="m1"))


# --- replays, failures --------------------------------------------------------------------------


def test_equal_input_gives_an_equal_result():
    """T-21.1: keys included."""

    def once() -> Any:
        chat = Chat(Flow("lead", on=[OnEvent("plain")], steps=[Do("d", "act", then=ToFlow("next"))]),
                    Flow("next", steps=[Say("x", "x"), Wait("w", "1d")]), actions={"act": ok("done")})  # fmt: skip
        return chat.play(Event("plain", "e1", {"a": 1}))

    assert once() == once()


def test_cancellation_goes_out_of_an_action():
    """T-11.13, T-21.5: anything that is no `Exception` is not a failure of the action."""
    chat = Chat(Flow("lead", steps=[Do("d", "act")]), actions={"act": KeyboardInterrupt()})
    with pytest.raises(KeyboardInterrupt):
        chat.start("lead")


def test_a_broken_clock_and_broken_hours_go_out():
    """T-7.6, T-21.5."""

    def broken(*_given: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Chat(clock=broken).message()
    flow = Flow("lead", steps=[Wait("w", "1d", business_hours=True)])
    with pytest.raises(ZeroDivisionError):
        Chat(flow, business_hours=broken).start("lead")


def test_a_replay_after_a_failed_save_runs_actions_under_the_same_keys():
    """T-21.3: the session is the old one, so the keys are the old ones."""
    chat = Chat(Flow("lead", on=[OnEvent("plain")], steps=[Do("d", "act"), Do("e", "act")]), actions={"act": ok()})
    for _ in range(2):
        chat.event("plain", session=None)
    keys = [ctx.key for ctx in chat.acted]
    assert keys == ["lead#e1:d:1", "lead#e1:e:1"] * 2


def test_turns_of_different_sessions_run_at_the_same_time():
    """T-21.2: an agent holds nothing between turns, nor during them."""
    started: list[str] = []
    both = asyncio.Event()

    async def act(ctx: Any) -> Any:
        started.append(ctx.session_id)
        if len(started) == 2:
            both.set()
        await both.wait()
        return ok()

    chat = Chat(Flow("lead", on=[OnEvent("plain")], steps=[Do("d", "act")]), actions={"act": act})

    async def play() -> Any:
        turns = (chat.agent.turn(session_id, Event("plain", "e1")) for session_id in ("s1", "s2"))
        return await asyncio.wait_for(asyncio.gather(*turns), 5)

    assert [result.session.id for result in asyncio.run(play())] == ["s1", "s2"]
