"""Moves and texts beside a result (D-48, D-92, D-95): what an action or a tool may do to the run."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

import pytest

from falai import (
    ActionContext,
    ActionResult,
    Agent,
    Collect,
    Do,
    Flow,
    FlowConfigurationError,
    OnAnyMessage,
    OnMention,
    OnMessage,
    Prompt,
    Reset,
    Say,
    To,
    ToFlow,
    Tool,
    ToolContext,
    ToolResult,
    Wait,
    action,
    failed,
    ok,
    skipped,
    tool,
)
from falai import defer as deferred
from falai.agent import Delta, Done
from falai.flow.moves import Aim
from falai.session.codec import session_to_wire
from turn.chat import Chat, ended, lines, said
from turn.chat import skipped as refused

ARGUMENTS: Mapping[str, Any] = {"type": "object"}
MOVES = ("aside", "end", ToFlow("human"), Reset())
HUMAN = Flow("human", steps=[Say("moment", "I will get someone.")])


def _acting(result: Any, *, moves: Any, **options: Any) -> Chat:
    """A flow that acts and then says which way it went."""
    steps = [
        Do("act", "act", on_fail="sorry"),
        Say("then", "It went on.", then="end"),
        Say("sorry", "It failed.", then="end"),
        Say("aside", "It moved."),
    ]
    return Chat(Flow("f", steps=steps), HUMAN, actions={"act": result}, moves=moves, idle="silent", **options)


def _nexts(result: Any) -> list[str | None]:
    return [line.next for line in result.outcomes if line.kind == "do"]


# --- an action's move ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "result",
    [
        ok(move="aside"),
        ok(move=To("aside")),
        skipped("no need", move="aside"),
        failed("no", move="aside"),
        {"ok": True, "move": "aside"},
        {"ok": True, "move": {"step": "aside"}},
        {"failed": "no", "move": {"step": "aside", "clear": None}},
    ],
)
def test_a_move_takes_the_place_of_then_and_on_fail(result: Any):
    """Whatever came of the action, its move decides, and its line names where the run goes."""
    done = _acting(result, moves=["aside"]).start("f")
    assert said(done) == ["It moved."]
    assert _nexts(done) == ["aside"]
    assert ended(done) == ["f:end"]


def test_a_move_to_the_end():
    """`end` is the end of the flow; what comes then its `onEnd` says."""
    done = _acting(ok(move="end"), moves=["end"]).start("f")
    assert (said(done), _nexts(done), ended(done)) == ([], ["end"], ["f:end"])


def test_a_move_back_forgets():
    """`To` with `clear` forgets values and counts before it goes (T-12.5)."""
    steps = [Collect("ask", ["name"], prompt="Ask."), Do("check", "check"), Say("bye", "Thanks, {{data.name}}.")]
    wrong, right = ok("no such customer", move=To("ask", clear=["name"])), ok()
    chat = Chat(Flow("f", on=[OnAnyMessage()], steps=steps), actions={"check": [wrong, right]}, moves=["ask"])
    chat.message(speak="Who are you?")
    again = chat.message("Rui", understand={"fields": {"name": "Rui"}}, speak="I know no Rui. Who are you?")
    assert lines(again) == ["collect/ok", "do/ok", "collect/ok"]
    assert _nexts(again) == ["ask"]
    assert (chat.data, chat.run("f").asked, chat.run("f").visits) == ({}, {"name": 1}, {"ask": 2, "check": 1})
    assert said(chat.message("Ana", understand={"fields": {"name": "Ana"}})) == ["Thanks, Ana."]


def test_a_move_to_another_flow():
    """The run ends with reason `flow`, and the flow goes on in the same turn with the move's input (T-12.6)."""
    done = _acting(ok(move=ToFlow("human", input={"about": 7})), moves=[ToFlow("human")]).start("f")
    assert said(done) == ["I will get someone."]
    assert _nexts(done) == ["flow:human"]
    assert ended(done) == ["f:flow", "human:end"]
    child = done.ended[1].run
    assert (child.trigger.kind, child.trigger.key, child.input, child.hop) == ("flow", "f#k1:act:1", {"about": 7}, 1)


def test_an_input_with_nulls_arrives_as_it_is():
    """What code hands over is data: nothing of it is dropped, and nothing in it is filled in."""
    given = {"a": None, "text": "{{data.name}}"}
    done = _acting(ok(move={"flow": "human", "input": given}), moves=[ToFlow("human")]).start("f")
    assert done.ended[1].run.input == given


def test_a_reset():
    """The run ends with reason `reset` and its flow begins anew, with the data as they are (T-12.8)."""
    flow = Flow("f", clear_on_start=["size"], steps=[Do("act", "act"), Say("bye", "Bye, {{data.size}}.")])
    results = [lambda ctx: (ctx.set({"size": 5}), ok(move=Reset()))[1], ok()]
    done = Chat(flow, actions={"act": results}, moves=[Reset()]).start("f", input="x")
    assert said(done) == ["Bye, 5."]
    assert _nexts(done) == ["flow:f", None]
    assert ended(done) == ["f:reset", "f:end"]
    again = done.ended[1].run
    assert (again.trigger.kind, again.trigger.key, again.input, again.hop) == ("flow", "f#k1:bye:0", "x", 1)


def test_resets_and_chains_come_to_the_hop_limit():
    """Code that always moves on is stopped like flows that do (T-6.4)."""
    done = Chat(Flow("f", steps=[Do("act", "act")]), actions={"act": ok(move=Reset())}, moves=[Reset()]).start("f")
    assert ended(done) == ["f:reset"] * 5
    assert refused(done) == ["f:hop-limit"]


def test_moves_come_to_the_step_limit():
    """So is code that goes round within a flow (T-10.9)."""
    done = Chat(Flow("f", steps=[Do("act", "act")]), actions={"act": ok(move="act")}, moves=["act"]).start("f")
    assert lines(done) == [*["do/ok"] * 50, "do/failed/step-loop"]
    assert ended(done) == ["f:failed"]


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (
            ok(move="then"),
            'returned a move to the step "then", which is not among the moves that it declares (the step "aside")',
        ),
        (
            ok(move="end"),
            'returned a move to the end of the flow, which is not among the moves that it declares (the step "aside")',
        ),
        (
            ok(move=Reset()),
            'returned a move to the start of the flow, which is not among the moves that it declares (the step "aside")',
        ),
        (
            {"ok": True, "move": 5},
            "returned a move that cannot be made: a move names one of step, flow and reset, and 5 is given",
        ),
        (
            {"ok": True, "move": {"step": "aside", "flow": "human"}},
            "returned a move that cannot be made: a move names one of step, flow and reset, and step and flow are given",
        ),
        (
            {"ok": True, "move": {"step": "aside", "claer": []}},
            'returned a move that cannot be made: a move to a step has no "claer"',
        ),
        (
            {"ok": True, "move": {"step": "aside", "clear": "name"}},
            'returned a move that cannot be made: clear is "name", and a list of fields is expected',
        ),
        ({"ok": True, "move": {"step": 4}}, "returned a move that cannot be made: step is 4, and an id is expected"),
        ({"ok": True, "move": " "}, 'returned a move that cannot be made: the move is " ", and an id is expected'),
        (
            {"ok": True, "move": {"reset": False}},
            "returned a move that cannot be made: reset is false, and true is expected",
        ),
        ({"ok": True, "move": {"flow": "human", "input": {1, 2}}}, "returned a move that cannot be made: "),
        ({"ok": True, "say": 5}, "returned 5 to say, and a text is expected"),
        ({"ok": True, "say": "  "}, 'returned "  " to say, and a text is expected'),
        ({"defer": "1h", "move": "aside"}, "returned a move beside defer, and a deferred action stays where it is"),
        ({"move": "aside"}, "returned no usable result"),
    ],
)
def test_what_is_wrong_is_a_failure_in_words(result: Any, why: str):
    """A wrong move or text is as if the action had failed (T-11.17): nothing raises, nothing is said."""
    done = _acting(result, moves=["aside"]).start("f")
    assert said(done) == ["It failed."]
    assert lines(done) == ["do/failed/action-failed", "say/ok"]
    detail = done.outcomes[0].detail
    assert detail is not None
    assert detail.startswith(f'action "act" {why}')


def test_an_action_that_declares_nothing_does_not_move():
    """Without `moves` there is no way out but the author's."""
    done = _acting(ok(move="aside"), moves=None).start("f")
    assert said(done) == ["It failed."]
    assert done.outcomes[0].detail == (
        'action "act" returned a move to the step "aside", which is not among the moves that it declares (none)'
    )


def test_null_members_are_absent():
    """A member that is null says nothing (T-11.18)."""
    done = _acting({"ok": True, "move": None, "say": None}, moves=None).start("f")
    assert (said(done), lines(done)) == (["It went on."], ["do/ok", "say/ok"])


# --- an action's text ---------------------------------------------------------------------------


def test_a_text_is_sent_as_a_say_is():
    """A verbatim message under the step's key, behind the pause that was gathered, with a line of its own."""
    steps = [Wait("w", "3s"), Say("a", "One."), Do("act", "act"), Say("b", "Three.")]
    done = Chat(Flow("f", steps=steps), actions={"act": ok("done", say="{{data.name}} is two.")}).start("f")
    assert said(done) == ["One.", "{{data.name}} is two.", "Three."]
    two = done.messages[1]
    assert (two.kind, two.key, two.run_id, two.step_id) == ("verbatim", "f#k1:act:1", "f#k1", "act")
    assert lines(done) == ["wait/ok/inline-delay", "say/ok", "say/ok", "do/ok", "say/ok"]
    assert [line.key for line in done.outcomes[2:4]] == ["f#k1:act:1"] * 2
    assert done.session.last_assistant_at == "2026-09-20T10:00:00.000Z"


def test_a_pause_rides_on_an_actions_text():
    """The text is a message like any other (T-11.8)."""
    ask = Flow("f", steps=[Wait("w", "3s", then="p"), Prompt("p", "Hi."), Do("act", "act")])
    done = Chat(ask, actions={"act": ok(say="There.")}).start("f", speak="Hello.")
    assert [(m.text, m.after_ms) for m in done.messages] == [("Hello.", 3000), ("There.", 0)]


def test_a_text_answers_the_message():
    """The run has spoken: the idle speaker is quiet, and another run's talk step is held back (T-14.3, T-14.4)."""
    told = Flow("told", on=[OnMention("asks for a person")], steps=[Do("act", "act")])
    lead = Flow("lead", on=[OnAnyMessage()], steps=[Collect("ask", ["name"], prompt="Ask.")])
    chat = Chat(lead, told, actions={"act": ok(say="She will call you.")})
    chat.message(understand={}, speak="Your name?")
    done = chat.message("a person", understand={"mentions": {"told": True}})
    assert said(done) == ["She will call you."]
    assert lines(done) == ["say/ok", "do/ok", "collect/skipped/another-reply"]


def test_the_model_is_told_what_the_action_said():
    """A later reply of the same run knows the text, as it knows a `say` (M-8.10)."""
    flow = Flow("f", steps=[Do("act", "act"), Prompt("p", "Go on.")])
    chat = Chat(flow, actions={"act": ok(say="It is booked.")})
    done = chat.start("f", speak="Anything else?")
    assert said(done) == ["It is booked.", "Anything else?"]
    assert "It is booked." in chat.asked


@pytest.mark.parametrize("gate", ["a person writes", {"reason": "a person writes", "skip": True}])
def test_a_closed_gate_keeps_the_text_back(gate: Any):
    """The action ran and the run goes on; the text does not go out, nothing counts as said, and a line tells."""
    flow = Flow("f", steps=[Do("act", "act"), Wait("w", "1d")])
    done = Chat(flow, actions={"act": ok("done", say="Hello.")}).start("f", silenced=gate)
    assert said(done) == []
    assert lines(done) == ["say/skipped/silenced", "do/ok", "wait/waiting"]
    assert (done.outcomes[0].detail, done.outcomes[0].key) == ("a person writes", "f#k1:act:1")
    assert done.session.last_assistant_at is None


def test_a_text_of_a_failure_and_of_a_deferral():
    """Any result may say something; a deferred action says it at each try."""
    chat = Chat(
        Flow("f", steps=[Do("act", "act")]),
        actions={"act": [deferred("1h", say="I am on it."), failed("no", say="Sorry.")]},
    )
    first = chat.start("f")
    assert (said(first), lines(first)) == (["I am on it."], ["say/ok", "do/deferred/action-deferred"])
    then = chat.wake(first.schedule[0].key)
    assert (said(then), lines(then)) == (["Sorry."], ["say/ok", "do/failed/action-failed"])
    assert then.messages[0].key == first.messages[0].key


def test_a_text_and_a_move():
    """The text goes out first, then the run moves."""
    done = _acting(ok(say="Wait a second.", move="aside"), moves=["aside"]).start("f")
    assert said(done) == ["Wait a second.", "It moved."]


# --- a tool's move ------------------------------------------------------------------------------


def _tool(result: Any, *, name: str = "look", moves: Any = MOVES) -> Tool:
    def handler(_ctx: Any, **_arguments: Any) -> Any:
        return result

    return Tool(name, handler, parameters=ARGUMENTS, moves=list(moves))


def _call(*names: str, message: str = "A moment.") -> dict[str, Any]:
    return {"message": message, "toolCalls": [{"toolName": name, "arguments": {}} for name in names]}


def _asking(*tools: Tool, **more: Any) -> Chat:
    """A flow that asks for a name, with tools."""
    steps = [
        Collect("ask", ["name"], prompt="Ask.", **more),
        Say("then", "Thanks.", then="end"),
        Say("aside", "It moved.", then="last"),
        Collect("last", ["note"], prompt="Ask for a note."),
    ]
    return Chat(Flow("f", on=[OnAnyMessage()], steps=steps), HUMAN, tools=tools)


def test_a_tool_moves_the_run_after_the_reply():
    """The reply goes out, values and data are written, then the run moves; a talk step waits (D-94, D-95)."""
    chat = _asking(_tool(ToolResult("found", {"plan": "pro"}, move="aside")))
    done = chat.message(speak=[_call("look"), "One moment."])
    assert said(done) == ["One moment.", "It moved."]
    assert [m.kind for m in done.messages] == ["ai", "verbatim"]
    assert lines(done) == ["collect/ok", "say/ok"]
    line = done.outcomes[0]
    assert (line.next, line.detail, line.llm_calls, line.key) == ("aside", "look", 2, "f#m1:ask:1")
    assert (chat.run("f").step_id, chat.run("f").status, chat.data) == ("last", "asking", {"plan": "pro"})
    assert chat.run("f").asked == {"name": 1}


def test_a_tool_ends_the_flow_and_starts_another():
    """`end` and `ToFlow` mean what they mean for a step."""
    over = _asking(_tool({"move": "end"})).message(speak=[_call("look"), "Bye."])
    assert (said(over), ended(over), over.outcomes[0].next) == (["Bye."], ["f:end"], "end")
    on = _asking(_tool({"move": {"flow": "human"}})).message(speak=[_call("look"), "I pass you on."])
    assert said(on) == ["I pass you on.", "I will get someone."]
    assert (ended(on), on.outcomes[0].next) == (["f:flow", "human:end"], "flow:human")
    assert on.ended[1].run.trigger.key == "f#m1:ask:1"
    reset = _asking(_tool({"move": {"reset": True}})).message(speak=[_call("look"), "Once more."])
    assert (ended(reset), reset.outcomes[0].next) == (["f:reset"], "flow:f")


def test_the_last_tool_that_moves_wins():
    """In the order of the calls, over all rounds (D-61)."""
    first, second = _tool({"move": "end"}), _tool({"move": "aside"}, name="second")
    done = _asking(first, second).message(speak=[_call("look", "second"), "So."])
    assert (done.outcomes[0].next, done.outcomes[0].detail) == ("aside", "second")
    done = _asking(first, second).message(speak=[_call("second"), _call("look"), "So."])
    assert (done.outcomes[0].next, done.outcomes[0].detail) == ("end", "look")


def test_a_move_of_a_failed_reply_is_dropped():
    """What a speak call brought before it failed does not count (M-10.8)."""
    chat = _asking(_tool({"move": "aside"}))
    done = chat.message(speak=[_call("look"), {"message": " "}])
    assert lines(done) == ["collect/deferred/provider-unavailable"]
    assert chat.run("f").step_id == "ask"


def test_a_staying_run_is_moved():
    """A run that stays answers; a tool sends it on from there."""
    steps = [Prompt("p", "Help.", then="end"), Say("aside", "It moved.", then="p")]
    flow = Flow("f", on=[OnAnyMessage()], on_end="stay", steps=steps)
    chat = Chat(flow, tools=[_tool({"move": "aside"}, moves=["aside"])])
    chat.message(speak="Yes?")
    assert chat.run("f").staying
    done = chat.message(speak=[_call("look"), "Let me see."])
    assert said(done) == ["Let me see.", "It moved."]
    assert (chat.run("f").step_id, chat.run("f").status, chat.run("f").staying) == ("p", "asking", None)


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ({"move": "elsewhere"}, "not among the moves that it declares"),
        ({"move": "moment"}, 'the flow \\"f\\" has no such step'),
        ({"move": {"step": "aside", "flow": "human"}}, "step and flow are given"),
        ({"say": ["x"]}, "a text is expected"),
    ],
)
def test_a_wrong_result_of_a_tool_is_read_by_the_model(result: Any, why: str, caplog: pytest.LogCaptureFixture):
    """It is as if the tool had raised: the model reads what is wrong and goes on; its data are not stored."""
    caplog.set_level(logging.CRITICAL, logger="falai")
    chat = _asking(_tool({**result, "data": {"plan": "pro"}}, moves=["aside", "moment"]))
    done = chat.message(speak=[_call("look"), "Your name?"])
    assert (said(done), lines(done), done.outcomes[0].next) == (["Your name?"], ["collect/ok"], None)
    assert chat.data == {}
    read = chat.model.calls[-1].request.history[-1]["content"]
    assert why in read
    assert read.startswith('{"error":')


# --- a tool's text ------------------------------------------------------------------------------


def test_a_tools_text_is_the_reply():
    """The calls of that round run, then the text goes out in place of the model's reply (D-48)."""
    used: list[str] = []

    def note(_ctx: Any) -> None:
        used.append("note")

    say, other = _tool({"say": "Code {{data.name}}."}), Tool("note", note)
    chat = _asking(say, other)
    done = chat.message(speak=_call("look", "note", message="Let me look."))
    assert said(done) == ["Code {{data.name}}."]
    assert (done.messages[0].kind, done.messages[0].key, done.llm_calls) == ("verbatim", "f#m1:ask:1", 1)
    assert (used, lines(done), done.outcomes[0].detail, done.outcomes[0].next) == (
        ["note"],
        ["collect/ok"],
        "look",
        None,
    )
    assert (chat.run("f").status, chat.run("f").asked) == ("asking", {"name": 1})


def test_values_beside_the_call_count():
    """What the model read in the round of the call is written (M-9.4)."""
    done = _asking(_tool({"say": "Noted."})).message(speak={**_call("look"), "name": "Ana"})
    assert said(done) == ["Noted.", "Thanks."]


def test_the_last_text_of_a_round_wins():
    """One utterance a turn: of two texts the later (D-61)."""
    done = _asking(_tool({"say": "One."}), _tool({"say": "Two.", "move": "end"}, name="two")).message(
        speak=_call("look", "two")
    )
    assert (said(done), ended(done), done.outcomes[0].detail) == (["Two."], ["f:end"], "two")
    done = _asking(_tool({"say": "One."}), _tool({"move": "end"}, name="two")).message(speak=_call("look", "two"))
    assert (said(done), done.outcomes[0].detail) == (["One."], "look, two")


def test_a_fixed_question_follows_a_tools_text_but_no_move():
    """The text answers first, as the reply would have (T-16.5); a run that moves on asks nothing any more."""
    told = _asking(_tool({"say": "It costs 5."}), question="Your name?").message(
        understand={"asks": True}, speak=_call("look")
    )
    assert said(told) == ["It costs 5.", "Your name?"]
    moved = _asking(_tool({"move": "end"}), question="Your name?").message(
        understand={"asks": True}, speak=[_call("look"), "Bye."]
    )
    assert (said(moved), ended(moved)) == (["Bye."], ["f:end"])


async def test_shown_words_are_withdrawn_when_a_tool_speaks():
    """Words beside the call were streamed; what counts is in the result (T-20.4)."""
    chat = _asking(_tool({"say": "It is booked."}))
    chat.model.feed("speak", _call("look", message="Let me look."))
    items = [item async for item in chat.agent.turn_stream("s1", {"message": "hello", "id": "m1"})]
    assert [item.text for item in items if isinstance(item, Delta)] == ["Let me look."]
    assert isinstance(items[-1], Done)
    assert said(items[-1].result) == ["It is booked."]


# --- the idle speaker ---------------------------------------------------------------------------


def test_a_tool_of_the_idle_speaker_starts_a_flow():
    """There is no run to leave: the flow starts, by kind `start`, under the key of the turn (D-92)."""
    chat = Chat(
        Flow("f", on=[OnMessage("x")], steps=[Say("a", "A.")]),
        HUMAN,
        tools=[_tool({"move": ToFlow("human", input=3)}, moves=[ToFlow("human")])],
    )
    done = chat.message(understand={}, speak=[_call("look"), "Let me see."])
    assert said(done) == ["Let me see.", "I will get someone."]
    assert lines(done) == ["idle/ok", "say/ok"]
    line = done.outcomes[0]
    assert (line.next, line.detail, line.key) == ("flow:human", "look", "idle:m1")
    run = done.ended[0].run
    assert (run.id, run.trigger.kind, run.input, run.hop) == ("human#m1", "start", 3, 0)


def test_a_flow_that_a_tool_starts_asks_with_the_next_message():
    """It takes the floor and waits: this turn's utterance is out (D-94)."""
    lead = Flow("lead", steps=[Collect("ask", ["name"], prompt="Ask.")])
    chat = Chat(lead, tools=[_tool({"move": ToFlow("lead"), "say": "Let us begin."}, moves=[ToFlow("lead")])])
    assert said(chat.message(speak=_call("look"))) == ["Let us begin."]
    assert chat.run("lead").status == "asking"
    assert said(chat.message(understand={}, speak="Your name?")) == ["Your name?"]


def test_a_flow_that_the_message_started_is_not_started_again():
    """Both runs would act under the same keys (T-21.3), though their claims differ."""
    flow = Flow("f", on=[OnAnyMessage()], steps=[Do("act", "act")])
    again = _tool({"move": ToFlow("f")}, moves=[ToFlow("f")])
    chat = Chat(flow, actions={"act": ok()}, tools=[again])
    done = chat.message(speak=[_call("look"), "Again?"])
    assert (len(chat.acted), refused(done), ended(done)) == (1, ["f:already-claimed"], ["f:end"])


def test_a_tool_of_the_idle_speaker_that_names_no_flow():
    """As for any other start of a flow that is not there (T-5.14)."""
    chat = Chat(tools=[_tool({"move": ToFlow("gone")}, moves=[ToFlow("gone")])])
    done = chat.message(speak=[_call("look"), "Let me see."])
    assert (said(done), refused(done)) == (["Let me see."], ["gone:flow-gone"])
    assert (done.skipped[0].anchor, done.skipped[0].trigger_key) == ("s1", "m1")


@pytest.mark.parametrize("move", ["aside", "end", Reset()])
def test_without_a_run_nothing_else_can_be_moved(move: Any, caplog: pytest.LogCaptureFixture):
    """The model reads why, and answers all the same."""
    caplog.set_level(logging.CRITICAL, logger="falai")
    chat = Chat(Flow("f", steps=[Say("aside", "A.")]), tools=[_tool({"move": move}, moves=["aside", "end", Reset()])])
    done = chat.message(speak=[_call("look"), "I cannot."])
    assert (said(done), lines(done), done.outcomes[0].next) == (["I cannot."], ["idle/ok"], None)
    assert "there is no run to move" in chat.model.calls[-1].request.history[-1]["content"]


# --- around it ----------------------------------------------------------------------------------


def test_a_replay_gives_the_same():
    """A turn whose save failed, played again: equal keys, equal result (T-21.3)."""
    chat = _acting([ok(say="Wait.", move=ToFlow("human"))], moves=[ToFlow("human")])
    first = chat.start("f", session=None)
    assert chat.start("f", session=None) == first


def test_the_session_holds_nothing_new():
    """A run that was moved is a run like any other."""
    chat = _asking(_tool({"move": "aside"}))
    chat.message(speak=[_call("look"), "One moment."])
    assert chat.session is not None
    run = session_to_wire(chat.session)["runs"][0]
    plain = _asking()
    plain.message(speak="One moment.")
    assert plain.session is not None
    assert run.keys() == session_to_wire(plain.session)["runs"][0].keys()


@pytest.mark.parametrize(
    ("moves", "what"),
    [
        (["nowhere"], 'the action "act" may move to the step "nowhere", and there is no such step'),
        ("aside", 'moves is "aside"'),
        ([To("aside", clear=["name"])], "it says more than where the move leads"),
        ([ToFlow("{{data.name}}")], "has a placeholder"),
        ([5], "a move names one of step, flow and reset, and 5 is given"),
    ],
)
def test_what_an_action_declares_is_checked(moves: Any, what: str):
    """An agent says at once, with its place, what no run could do."""
    with pytest.raises(FlowConfigurationError) as error:
        _acting(ok(), moves=moves)
    assert what in str(error.value)


def test_moves_are_declared_by_decorator_and_in_a_mapping_too():
    """Beside the function, or where the agent names it."""

    @action(moves=["end", Reset()])
    def act(_ctx: ActionContext[Any]) -> ActionResult:
        return ok(move="end")

    @tool(moves=[ToFlow("human")])
    def look(_ctx: ToolContext[Any]) -> ToolResult:
        return ToolResult()

    agent = Agent(
        name="Ana", model="lexical", actions={"go": act}, tools=[look], flows=[Flow("f", steps=[Do("a", act)]), HUMAN]
    )
    assert agent.plan.actions["go"].moves == (Aim("end"), Aim("reset"))
    assert agent.plan.tools[0].moves == (Aim("flow", "human"),)
    mapped = Agent(name="Ana", model="lexical", actions={"go": {"run": lambda _ctx: ok(), "moves": ["end"]}})
    assert mapped.plan.actions["go"].moves == (Aim("end"),)


def test_what_a_tool_declares_is_checked():
    """A step of some flow will do: a tool is offered in each."""
    with pytest.raises(FlowConfigurationError, match='it may move to the step "nowhere", and there is no such step'):
        _asking(_tool(None, moves=["aside", "moment", "nowhere"]))


def test_a_flow_that_is_not_there_is_a_warning():
    """As for any step that leads to a flow (S-29)."""
    chat = _acting(ok(move=ToFlow("gone")), moves=[ToFlow("gone")])
    assert any('may move to the flow "gone", and there is no such flow' in warning for warning in chat.agent.warnings)
    assert refused(chat.start("f")) == ["gone:flow-gone"]
