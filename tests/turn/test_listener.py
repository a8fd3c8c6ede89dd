from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from falai import Do, Flow, Instruction, OnMention, OnMessage, Prompt, ProviderError, Say
from falai.flow.plan import ToolPlan
from falai.flow.templates import Fillable, Roots, render
from falai.model.inputs import Deferred
from falai.turn.advance import enter, place
from falai.turn.effects import Cue, Reached
from falai.turn.start import start_run
from turn.chat import Chat, ended, lines, said, skipped

Answer = Callable[[Reached], Any]


class Listened(Chat):
    """A chat whose agent has a listener: by moment, what it answers; the others let everything happen."""

    def __init__(
        self, *flows: Any, driven: tuple[str, ...] = ("a",), answers: Mapping[str, Answer] | None = None, **options: Any
    ) -> None:
        super().__init__(*flows, **options)
        self.moments: list[str] = []
        self.answers = dict(answers or {})
        self.agent.plan = replace(self.agent.plan, listener=self._listen, driven=frozenset(driven), max_driven_steps=5)

    async def _listen(self, reached: Reached) -> Any:
        self.moments.append(reached.moment)
        if reached.moment in self.answers:
            return self.answers[reached.moment](reached)
        return {"judged": True, "step": True, "speaking": Cue(), "spoken": reached.outcome, "settled": False}.get(
            reached.moment
        )


def flow(*steps: Any, id: str = "a", phrase: str = "order") -> Flow:
    return Flow(id, on=[OnMessage(phrase)], steps=list(steps) or [Prompt("ask", "Ask.")])


STARTS = {"flows": {"a": 90}}


def test_a_listener_hears_of_every_moment_in_order() -> None:
    """D-95: once each, but `step` for each step and `settled` after each answer that is true."""
    chat = Listened(flow())
    chat.message(understand=STARTS, speak="Well?")
    assert chat.moments == ["loaded", "judged", "step", "speaking", "spoken", "settled"]


def test_without_a_message_nothing_is_loaded_or_judged() -> None:
    """D-95: the others are there in every turn."""
    chat = Listened(Flow("a", steps=[Prompt("ask", "Ask.")]))
    chat.start("a", speak="Hello.")
    assert chat.moments == ["step", "speaking", "spoken", "settled"]


def test_what_a_listener_raises_goes_out_of_the_turn() -> None:
    """D-62."""

    def fail(reached: Reached) -> Any:
        raise LookupError("gone")

    for moment in ("loaded", "judged", "step", "speaking", "spoken", "settled"):
        chat = Listened(flow(), answers={moment: fail})
        with pytest.raises(LookupError, match="gone"):
            chat.message(understand=STARTS, speak="Well?")


def test_the_fields_are_written_before_the_listener_judges() -> None:
    """D-95, 5: and by its answer no flow is started."""
    seen: list[Any] = []
    a = Flow("a", on=[OnMessage("order")], steps=[Prompt("ask", "Ask.")], collect=["name"])
    chat = Listened(a, answers={"judged": lambda reached: seen.append(dict(reached.turn.session.data))})
    turn = chat.message(understand={"flows": {"a": 90}, "fields": {"name": "Ana"}}, speak="Idle.")
    assert seen == [{"name": "Ana"}]
    assert turn.started == ()


def test_a_barred_flow_is_no_candidate_and_no_mention_is_judged_of_it() -> None:
    """D-29, D-71."""
    mention = Flow("m", on=[OnMention("x", repeat="always")], steps=[Say("s", "Mentioned.")])

    def bar(reached: Reached) -> None:
        reached.turn.barred = frozenset({"a", "m"})

    chat = Listened(flow(), flow(id="b", phrase="other"), mention, answers={"loaded": bar})
    chat.message(understand={"flows": {"b": 90}}, speak="B.")
    assert [run.flow_id for run in chat.runs] == []
    assert '"m"' not in str(chat.model.calls[0].request.schema)
    assert '"a"' not in str(chat.model.calls[0].request.schema)


def test_a_driven_mention_never_starts() -> None:
    """D-88: the listener does what there is to be done."""
    mention = Flow("a", on=[OnMention(repeat="always")], steps=[Say("s", "Mentioned.")])
    assert Listened(mention).message(speak="Idle.").started == ()
    assert len(Listened(mention, driven=()).message().started) == 1


def test_a_step_that_the_listener_takes_is_not_executed() -> None:
    """D-90: it has moved the run, or leaves it asking."""

    def wait(reached: Reached) -> bool:
        assert reached.run is not None
        reached.run.status = "asking"
        return False

    chat = Listened(
        flow(Say("hi", "Hi."), Prompt("ask", "Ask.")), answers={"step": wait, "speaking": lambda _: Cue(silent=True)}
    )
    turn = chat.message(understand=STARTS)
    assert said(turn) == []
    assert [(run.step_id, run.status) for run in chat.runs] == [("hi", "asking")]


def test_steps_of_a_flow_that_is_not_driven_are_the_cores() -> None:
    """D-85."""
    chat = Listened(flow(Say("hi", "Hi.")), driven=())
    assert said(chat.message(understand=STARTS)) == ["Hi."]
    assert "step" not in chat.moments


def test_a_driven_run_has_a_limit_of_its_own() -> None:
    """D-84."""

    def around(reached: Reached) -> bool:
        assert reached.run is not None
        enter(reached.run, "hi")
        return False

    chat = Listened(flow(Say("hi", "Hi.")), answers={"step": around})
    turn = chat.message(understand=STARTS, speak="Idle.")
    assert chat.moments.count("step") == 5
    assert turn.outcomes[0].code == "step-loop"


def test_a_talk_step_of_a_driven_flow_stays_when_it_has_spoken() -> None:
    """D-90, 1: the listener finds it among the finished ones."""
    finished: list[str | None] = []

    def settle(reached: Reached) -> bool:
        finished.extend(run.step_id for run in reached.turn.finished)
        return False

    chat = Listened(flow(Prompt("ask", "Ask."), Say("next", "Next.")), answers={"settled": settle})
    turn = chat.message(understand=STARTS, speak="Well?")
    assert said(turn) == ["Well?"]
    assert (finished, [run.status for run in chat.runs]) == (["ask"], ["asking"])


# --- speaking -----------------------------------------------------------------------------------


def test_a_cue_silences_everybody() -> None:
    """D-54: the step stays as it is."""
    chat = Listened(flow(), answers={"speaking": lambda _: Cue(silent=True)})
    turn = chat.message(understand=STARTS)
    assert (said(turn), lines(turn)) == ([], [])


@pytest.mark.parametrize("flows", [(), (flow(),)], ids=["idle", "a step"])
def test_a_cue_speaks_in_place_of_the_model(flows: Any) -> None:
    """D-96: under the key that the utterance would have had, as having spoken."""
    chat = Listened(*flows, answers={"speaking": lambda _: Cue(say="Instead.")})
    turn = chat.message(understand=STARTS if flows else None)
    assert (said(turn), turn.messages[0].kind) == (["Instead."], "verbatim")
    assert turn.messages[0].key == ("a#m1:ask:1" if flows else "idle:m1")
    assert "spoken" not in chat.moments


def test_a_cue_adds_sentences_and_takes_the_place_of_tools_and_instructions() -> None:
    """D-54, D-98: for this one call."""
    tool = ToolPlan("t", None, None, lambda arguments, context: None)
    cue = Cue(sentences=("First.", "Second."), tools=(tool,), instructions=(Instruction("Only this."),))
    chat = Listened(flow(), instructions=[Instruction("Not this.")], answers={"speaking": lambda _: cue})
    chat.message(understand=STARTS, speak="Well?")
    request = chat.model.calls[-1].request
    assert "Ask.\nFirst.\nSecond." in request.prompt
    assert "Only this." in request.prompt
    assert "Not this." not in request.prompt
    assert [spec.id for spec in request.tools] == ["t"]


def test_a_listener_may_look_for_the_speaker_again() -> None:
    """D-95, 8: what it has moved is executed, and the message is handed down."""
    cues = [Cue(again=True), Cue()]

    def redirect(reached: Reached) -> Cue:
        cue = cues.pop(0)
        if cue.again and reached.turn.talk is not None:
            run = reached.turn.talk.run
            reached.turn.talk = None
            enter(run, "other")
            reached.turn.queue.append(run)
        return cue

    chat = Listened(flow(Prompt("ask", "Ask."), Prompt("other", "The other.")), answers={"speaking": redirect})
    chat.message(understand=STARTS, speak="Other.")
    assert "The other." in chat.model.calls[-1].prompt
    assert chat.moments == ["loaded", "judged", "step", "speaking", "step", "speaking", "spoken", "settled"]


def test_the_listener_may_change_the_words_or_take_them_back() -> None:
    """D-54: nothing is applied of what is taken back."""
    chat = Listened(flow(), answers={"spoken": lambda _: None})
    turn = chat.message(understand=STARTS, speak="Well?")
    assert (said(turn), lines(turn)) == ([], [])
    assert turn.session.last_assistant_at is None
    chat = Listened(answers={"spoken": lambda _: None})
    assert said(chat.message(speak="Idle.")) == []


def test_a_call_that_fails_is_raised_and_one_without_words_is_deferred_to_the_listener() -> None:
    """D-97: there is no other try by a wake."""
    outcomes: list[Any] = []
    chat = Listened(flow(), answers={"spoken": lambda reached: outcomes.append(reached.outcome)})
    with pytest.raises(ProviderError):
        chat.message(understand=STARTS, speak=[ProviderError("down", kind="overload")])
    chat.message(understand=STARTS, speak=[{"message": " "}])
    assert isinstance(outcomes[0], Deferred)


def test_what_the_listener_starts_at_the_end_is_moved() -> None:
    """D-95, 10 and 11: it is asked again after that."""

    def start(reached: Reached) -> bool:
        turn = reached.turn
        if any(run.flow_id == "b" for run in turn.session.runs) or turn.ended:
            return False
        run = start_run(turn, turn.plan.flows["b"], "start", "k", hop=9, max_hop=10)
        assert run is not None
        turn.queue.append(run)
        return True

    chat = Listened(flow(), flow(Say("hi", "Hi."), id="b", phrase="never"), answers={"settled": start})
    turn = chat.message(understand=STARTS, speak="Well?")
    assert said(turn) == ["Well?", "Hi."]
    assert ended(turn) == ["b:end"]


def test_hops_have_the_cores_limit_where_nobody_gives_another() -> None:
    """D-93, T-6.5."""

    def start(reached: Reached) -> bool:
        start_run(reached.turn, reached.turn.plan.flows["a"], "start", "k", hop=5)
        return False

    turn = Listened(flow(), answers={"settled": start, "judged": lambda _: False}).message(
        understand=STARTS, speak="Idle."
    )
    assert skipped(turn) == ["a:hop-limit"]


def test_in_a_halted_turn_no_run_is_moved_by_the_message() -> None:
    """D-54."""

    def halt(reached: Reached) -> bool:
        reached.turn.halted = True
        return True

    chat = Listened(
        flow(Do("act", "note")),
        actions={"note": {"ok": True}},
        answers={"judged": halt, "speaking": lambda _: Cue(silent=True)},
    )
    chat.message(understand=STARTS)
    assert chat.acted == []
    assert chat.moments == ["loaded", "judged", "speaking", "settled"]


def test_a_run_may_be_placed_before_a_step() -> None:
    """D-54: it asks there and has made no visit."""
    chat = Listened(flow())
    chat.message(understand=STARTS, speak="Well?")
    run = chat.run("a")
    place(run, "later")
    assert (run.step_id, run.status, run.visits) == ("later", "asking", {"ask": 1})


class _Upper(Fillable):
    def fill(self, scope: Roots) -> str:
        return self.upper() + str(scope["data"])


def test_a_text_may_fill_itself() -> None:
    """D-98: also in a prompt; by itself it says what it says."""
    assert render(_Upper("{{x}}"), {"data": 1}) == "{{X}}1"
    assert render(Fillable("{{x}}"), {"data": 1}) == "{{x}}"
    chat = Listened(flow(Prompt("ask", _Upper("{{ask}}"))))
    chat.message(understand=STARTS, speak="Well?")
    assert "{{ASK}}{}" in chat.model.calls[-1].prompt
