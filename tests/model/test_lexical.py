"""The model without a model: routes by words, reads values by their form, says what authors wrote for customers."""

from __future__ import annotations

import json
import time
from datetime import date
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import Agent, Message
from falai.flow.definition import Branch, Collect, Do, Field, Flow, If, OnMention, OnMessage, Prompt, Say, To, ToFlow
from falai.flow.handlers import ActionContext, ActionResult, failed, ok
from falai.model.lexical import LexicalModel
from falai.model.lexical.judging import judge
from falai.model.lexical.sentences import SENTENCES
from falai.model.lexical.speaking import reply
from falai.model.lexical.values import read_value
from falai.model.lexical.words import asks_something, fold, polarity
from falai.model.port import ModelRequest
from falai.model.tasks import (
    Acted,
    BranchTask,
    Corrected,
    FieldTask,
    FloorTask,
    FlowTask,
    ParamTask,
    Refused,
    SpeakTask,
    SummaryTask,
    Today,
    UnderstandTask,
)

MONDAY = Today("2026-11-30", "Monday", "Europe/Lisbon")


def _value(text: str, slug: str = "x", kind: str = "string", *, expected: bool = False, **more: Any) -> Any:
    return read_value(FieldTask(slug, slug, kind, **more), text, MONDAY, expected=expected)


def _flow(key: str, *matches: str, exclusions: tuple[str, ...] = (), extract: tuple[ParamTask, ...] = ()) -> FlowTask:
    return FlowTask(key, key, key, "", matches, exclusions, extract)


def _judge(text: str, **more: Any) -> dict[str, Any]:
    given_: dict[str, Any] = {
        "agent": "Ana", "identity": None, "today": MONDAY, "text": text, "floor": None, "known": (), "flows": (),
        "mentions": (), "branches": (), "fields": (), "asks": False,
    }  # fmt: skip
    return judge(UnderstandTask(**{**given_, **more}))


BOOK = _flow("book", "wants to book an appointment", "has tooth pain")
MOVE = _flow("move", "needs to move an appointment", "cannot come")
PRICE = _flow("price", "asks what a treatment costs", exclusions=("only says thanks",))


# --- routing ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "flow"),
    [
        ("I'd like to book an appointment", "book"),
        ("my tooth hurts", "book"),
        ("can I schedule a visit?", "book"),
        ("I need to reschedule my appointment", "move"),
        ("I can't come tomorrow", "move"),
        ("how much does it cost?", "price"),
        ("quero marcar uma consulta", "book"),
        ("preciso remarcar minha consulta", "move"),
        ("¿cuánto cuesta?", "price"),
        ("hello there", None),
        ("thanks!", None),
        ("the weather is nice", None),
        ("I can come at nine", None),
    ],
)
def test_messages_find_their_flow(text: str, flow: str | None) -> None:
    """By the words that they share with the phrases, in three languages; small talk finds none."""
    scores = _judge(text, flows=(BOOK, MOVE, PRICE))["flows"]
    best = max(scores, key=lambda key: scores[key])
    assert (best if scores[best] >= 40 else None) == flow, scores


def test_an_exclusion_makes_the_score_0() -> None:
    """And a mention false, whatever else fits (M-4.5, M-4.6)."""
    rival = _flow("rival", "talks about another clinic", exclusions=("quotes a newspaper",))
    judged = _judge("the newspaper I quote writes about another clinic", flows=(rival,), mentions=(rival,))
    assert judged["flows"] == {"rival": 0}
    assert judged["mentions"] == {"rival": False}
    assert _judge("I need another clinic", mentions=(rival,))["mentions"] == {"rival": True}


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("how much is a whitening?", 0),
        ("how much is it?", 0),
        ("a whitening, please", 92),
        ("how much is a whitening? I'd like to book one", 92),
        ("thanks", 0),
    ],
)
def test_an_exclusion_of_who_only_wants_one_thing(text: str, score: int) -> None:
    """It holds for a message that asks for that and for nothing else; the name of a thing asks for nothing."""
    flow = _flow("book", "wants a whitening", exclusions=("only asks about prices", "merely says thanks"))
    assert _judge(text, flows=(flow,))["flows"] == {"book": score}


def _floor(*pending: FieldTask) -> FloorTask:
    return FloorTask("book", "book", "book", "", "who", "", pending)


NAME = FieldTask("name", "name", "string", question="What is your name?")
DAY = FieldTask("day", "day", "string", format="date")


def test_an_answer_is_no_change_of_mind() -> None:
    """A message that fills an open field stays with the flow; a plain wish for another one goes there (M-6.2)."""
    stays = _judge("move me to friday", flows=(BOOK, MOVE), floor=_floor(DAY), fields=(DAY,))["flows"]
    assert stays["move"] - stays["book"] < 15
    leaves = _judge("how much does it cost?", flows=(BOOK, PRICE), floor=_floor(DAY), fields=(DAY,))["flows"]
    assert leaves["price"] - leaves["book"] >= 15


@pytest.mark.parametrize(
    ("when", "text", "holds"),
    [
        ("wants a person", "can I talk to a human", True),
        ("wants a person", "tomorrow is fine", False),
        ("says no", "no, thanks", True),
        ("says no", "yes", False),
        ("agrees", "sim, claro", True),
        ("refuses to give the number", "não", True),
        ("wants to cancel instead", "please cancel it", True),
    ],
)
def test_branches_by_words_or_by_yes_and_no(when: str, text: str, holds: bool) -> None:
    """A branch that speaks of agreeing or refusing is decided by yes and no."""
    assert _judge(text, branches=(BranchTask("q1", "r/s/0", when),))["branches"] == {"q1": holds}


def test_a_mention_s_values_are_read_when_it_is_true() -> None:
    """Lists by their options, the rest by form (M-4.6)."""
    extract = (
        ParamTask("topics", "array", ("price", "quality", "place"), None, "string"),
        ParamTask("email", "string"),
        ParamTask("people", "integer"),
    )
    person = _flow("person", "asks for a person", extract=extract)
    text = "a person please, about price and place, for 3 people, write to a@b.pt"
    assert _judge(text, mentions=(person,))["extract"] == {
        "person": {"topics": ["price", "place"], "email": "a@b.pt", "people": 3}
    }
    assert "extract" not in _judge("good day", mentions=(person,))


@pytest.mark.parametrize(
    ("text", "asks"),
    [("how much is it", True), ("is it far?", True), ("tem vaga amanhã", True), ("me diz o preço", True),
     ("I want to book", False), ("yes", False), ("olá", False), ("Ana Sá", False)],
)  # fmt: skip
def test_whether_something_is_asked(text: str, asks: bool) -> None:
    """M-3.6."""
    assert asks_something(text) is asks
    assert _judge(text, flows=(BOOK,), asks=True)["asks"] is asks


# --- values -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "slug", "value"),
    [
        ("2026-12-24 please", "date", "2026-12-24"),
        ("03/04", "date", "2027-04-03"),
        ("1/12/2026", "date", "2026-12-01"),
        ("31/02/2027", "date", None),
        ("tomorrow", "day", "2026-12-01"),
        ("depois de amanhã", "dia", "2026-12-02"),
        ("pasado mañana", "fecha", "2026-12-02"),
        ("por la mañana", "fecha", None),
        ("in three days", "day", "2026-12-03"),
        ("on Monday", "day", "2026-12-07"),
        ("na sexta-feira", "dia", "2026-12-04"),
        ("3 de abril", "data", "2027-04-03"),
        ("April 3rd", "day", "2027-04-03"),
        ("at 15:30", "time", "15:30"),
        ("3pm", "time", "15:00"),
        ("at 3", "time", "15:00"),
        ("às 9", "hora", "09:00"),
        ("12 am", "time", "00:00"),
        ("25:00", "time", None),
        ("ao meio-dia", "hora", "12:00"),
        ("tomorrow at 3", "when", "2026-12-01T15:00"),
        ("some day", "day", None),
    ],
)
def test_days_and_times(text: str, slug: str, value: str | None) -> None:
    """Days are written day first and resolved from the agent's own today; what is no day is none."""
    assert _value(text, slug) == value


def test_without_a_zone_tomorrow_is_no_day() -> None:
    """Only a written date can be read where nobody said which day it is."""
    day = FieldTask("day", "day", "string")
    assert read_value(day, "tomorrow, or 2026-12-24", None, expected=True) == "2026-12-24"
    assert read_value(day, "tomorrow", None, expected=True) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [("we are 12", 12), ("twenty five", 25), ("somos três", 3), ("2 mil", 2000), ("1,500", 1500), ("1.500,50", 1500),
     ("a dozen", 12), ("one", 1), ("a room", None), ("at 15:30", None), ("none", None), ("-3", -3), ("9" * 400, None)],
)  # fmt: skip
def test_numbers_in_digits_and_words(text: str, number: int | None) -> None:
    """An article is no number, nor is a time."""
    assert _value(text, "n", "integer", expected=True) == number


@pytest.mark.parametrize(("text", "number"), [("mil e quinhentos", 1500), ("1,5", 1.5), ("2 mil", 2000)])
def test_a_number_may_be_written_in_words(text: str, number: float) -> None:
    """Words that add up are a whole number, whatever its type."""
    assert _value(text, "n", "number", expected=True) == number


def test_a_number_that_was_not_asked_for_needs_its_word() -> None:
    """The nearest number to the field's own word counts; without the word none does."""
    text = "we are 12 people and want 3 rooms"
    assert (_value(text, "people", "integer"), _value(text, "rooms", "integer")) == (12, 3)
    assert _value(text, "nights", "integer") is None


@pytest.mark.parametrize(
    ("text", "option"),
    [("the whitening one", "whitening"), ("a checkup", "check-up"), ("teeth cleaned", "cleaning"), ("nothing", None),
     ("polish them please", "cleaning")],
)  # fmt: skip
def test_options_by_their_words_and_hints(text: str, option: str | None) -> None:
    """A description that lists hints behind an option helps."""
    hints = "cleaning: scale, polish; whitening: brighter teeth"
    assert _value(text, "service", enum=("check-up", "cleaning", "whitening"), description=hints) == option


@pytest.mark.parametrize(
    ("text", "range_"), [("we are 30", "11-50"), ("about eighty", "50+"), ("7", "1-10"), ("many", None)]
)
def test_a_number_falls_into_its_range(text: str, range_: str | None) -> None:
    """Sizes are options that look like ranges."""
    assert _value(text, "size", enum=("1-10", "11-50", "50+")) == range_


@pytest.mark.parametrize(
    ("text", "slug", "expected", "value"),
    [
        ("my name is Bob Stone and I need help", "name", False, "Bob Stone"),
        ("me chamo João da Silva", "nome", False, "João da Silva"),
        ("soy Luis", "nombre", False, "Luis"),
        ("I'm looking for a dentist", "name", False, None),
        ("Ana Sá", "name", True, "Ana Sá"),
        ("Ana Sá", "name", False, None),
        ("yes", "name", True, None),
        ("mail me at a.b@x-y.pt.", "email", False, "a.b@x-y.pt"),
        ("+55 (11) 91234-5678", "phone", False, "+55 (11) 91234-5678"),
        ("12345", "phone", True, None),
        ("the company is Acme Corp, thanks", "company", False, "Acme Corp"),
        ("the blue one.", "colour", True, "the blue one"),
        ("the blue one", "colour", False, None),
    ],
)
def test_texts_by_their_form(text: str, slug: str, expected: bool, value: str | None) -> None:
    """A free text is read only where it was asked for."""
    assert _value(text, slug, expected=expected) == value


@pytest.mark.parametrize(
    ("text", "answer"),
    [("yes", True), ("isso mesmo", True), ("sí", True), ("no", False), ("that's not right", False), ("no problem", True),
     ("yes but at 4", None), ("mas", None), ("perhaps", None)],
)  # fmt: skip
def test_yes_and_no(text: str, answer: bool | None) -> None:
    """In three languages; "yes, but" is neither."""
    assert polarity(text) is answer


def test_one_day_fills_one_field() -> None:
    """The one that the step asks for; a field of another flow does not take it too."""
    other = FieldTask("new_day", "new_day", "string", format="date")
    assert _judge("friday", floor=_floor(DAY), fields=(other, DAY))["fields"] == {"new_day": None, "day": "2026-12-04"}


def test_a_known_value_changes_by_an_explicit_correction_only() -> None:
    """F-19.1: the word that takes something back is needed, and the value must be another one."""
    known = FieldTask("people", "people", "integer", known=True, value=12)
    assert _judge("50 people", fields=(known,))["fields"] == {"people": None}
    assert _judge("actually 50 people", fields=(known,))["fields"] == {"people": 50}
    assert _judge("na verdade são 12", fields=(known,))["fields"] == {"people": None}
    note = FieldTask("note", "note", "string", known=True, value="x")
    assert _judge("actually never mind", fields=(note,))["fields"] == {"note": None}


@pytest.mark.property
@given(st.text())
def test_folding_keeps_positions(text: str) -> None:
    """What is found in the folded text stands at the same place in the original."""
    assert len(fold(text)) == len(text)


SLUGS = st.sampled_from(["name", "day", "time", "email", "phone", "n", "note", "when", "company_name", "a|b(", ""])


@pytest.mark.property
@given(
    st.text() | st.text("0123456789/.-:hpam ,", max_size=20),
    SLUGS,
    st.sampled_from(["string", "integer", "number", "boolean"]),
    st.none() | st.just(("1-10", "a b", 3)),
    st.booleans(),
)
def test_reading_never_raises(text: str, slug: str, kind: str, enum: Any, expected: bool) -> None:
    """Any text, any field: a value or none."""
    read_value(FieldTask("k", slug, kind, enum, description=text), text, MONDAY, expected=expected)


# --- replies ----------------------------------------------------------------------------------


def _speak(language: Literal["en", "pt", "es"] = "en", history: Any = (), **more: Any) -> dict[str, Any]:
    given_: dict[str, Any] = {
        "agent": "Ana", "identity": None, "today": MONDAY, "flow": "Booking", "flow_description": "", "step_id": "who",
        "guideline": "SECRET PROMPT", "fields": (), "known": (), "refused": (), "instructions": (), "kind": "message",
        "text": "hello", "retry": False, "said": (), "acted": (), "fixed_after": None,
    }  # fmt: skip
    return reply(SpeakTask(**{**given_, **more}), history, SENTENCES[language])


AGREED = FieldTask("agreed", "agreed", "boolean", ask="SECRET ASK", question="Is that right?")


def test_it_says_questions_and_never_an_instruction() -> None:
    """`question` is wording for the customer; `ask` and the guideline are for a model that can phrase."""
    plain = FieldTask("field_1", "full name", "string", ask="SECRET ASK")
    said = [_speak(fields=(NAME,)), _speak(fields=(plain,)), _speak(fields=(AGREED,)), _speak(), _speak(flow=None)]
    assert said[0] == {"message": "What is your name?", "name": None}
    assert "full name" in said[1]["message"]
    assert all("SECRET" not in envelope["message"] and envelope["message"].strip() for envelope in said)


def test_options_are_listed_where_there_is_no_question() -> None:
    """In the agent's language."""
    size = FieldTask("size", "size", "string", ("a", "b", "c"))
    assert _speak(fields=(size,))["message"].endswith("a, b or c?")
    assert _speak("pt", fields=(size,))["message"].endswith("a, b ou c?")
    assert _speak("es", fields=(size,))["message"].endswith("a, b o c?")


def test_it_says_what_it_is_when_nobody_talks() -> None:
    """The idle speaker's words make no false promise."""
    assert "Ana" in _speak(flow=None)["message"]
    assert "language model" in _speak(flow=None)["message"]
    assert "modelo de linguagem" in _speak("pt", flow=None)["message"]


def test_it_tells_the_truth_about_actions_and_values() -> None:
    """A failed action did not work, whatever else is said (M-24.3, M-24.4)."""
    failed_ = _speak(acted=(Acted("book", "failed", "taken"),))["message"]
    later = _speak(acted=(Acted("book", "deferred", None),))["message"]
    refused = _speak(refused=(Refused("day", "no date"),), fields=(DAY,))["message"]
    assert SENTENCES["en"].did_not_work in failed_
    assert SENTENCES["en"].still_open in later
    assert SENTENCES["en"].unreadable in refused
    assert _speak(corrected=(Corrected("day", "2026-12-01", "2026-12-04"),))["message"] == SENTENCES["en"].changed
    assert SENTENCES["en"].did_not_work not in _speak(acted=(Acted("book", "ok", None),))["message"]


def test_it_admits_that_it_cannot_answer() -> None:
    """Before a fixed question, and to a question that the flow does not answer."""
    assert SENTENCES["en"].cannot_answer in _speak(fixed_after="Which day?", text="is it far?")["message"]
    assert SENTENCES["en"].cannot_answer in _speak(fields=(NAME,), text="where are you?")["message"]
    assert SENTENCES["en"].cannot_answer not in _speak(fields=(NAME,), text="can I book a visit?")["message"]


def test_an_answer_is_read_where_its_question_was_the_last_word() -> None:
    """A "yes" to something else agrees to nothing; without a history a bare yes is believed."""
    asked = [{"role": "assistant", "content": "Bob on Monday. Is that right?"}]
    other = [{"role": "assistant", "content": "Are you well?"}]
    assert _speak(fields=(AGREED,), text="yes", history=asked)["agreed"] is True
    assert _speak(fields=(AGREED,), text="yes", history=other)["agreed"] is None
    assert _speak(fields=(AGREED,), text="no")["agreed"] is False
    assert _speak(fields=(AGREED,), text="yes, for fifty people and a dog")["agreed"] is None
    assert _speak(fields=(NAME,), text="I want to book a visit")["name"] is None, "the opening message is no name"


def test_it_opens_when_nobody_has_written() -> None:
    """On a wake, with something to ask or without."""
    assert _speak(kind="wake", text=None)["message"] == SENTENCES["en"].hello_again
    assert _speak(kind="wake", text=None, fields=(NAME,))["message"] == "What is your name?"


# --- the port ---------------------------------------------------------------------------------


async def test_it_answers_all_three_calls() -> None:
    """As object and as text, streamed as one piece; it needs no key and no network."""
    model = LexicalModel("pt")
    summary = SummaryTask(items=({"role": "user", "content": "um\ndois"}, {"role": "assistant", "content": None}))
    request = ModelRequest(
        schema_name="summary", prompt="", system=None, history=(), context=None, schema={}, task=summary
    )
    assert (await model.complete(request)).message == "user: um dois"
    speaking = SpeakTask(
        agent="Ana", identity=None, today=None, flow=None, flow_description="", step_id=None, guideline="", fields=(),
        known=(), refused=(), instructions=(), kind="message", text="olá", retry=False, said=(), acted=(), fixed_after=None,
    )  # fmt: skip
    request = ModelRequest(
        schema_name="speak", prompt="", system=None, history=(), context=None, schema={}, task=speaking
    )
    whole = await model.complete(request)
    assert json.loads(whole.message) == whole.structured
    assert [chunk async for chunk in model.stream(request)][-1].reply == whole
    assert (model.name, whole.model, whole.usage) == ("lexical", "lexical", None)


def test_an_unknown_language_is_refused() -> None:
    """M-19.8: the message names the option and what to pass."""
    unknown: Any = "fr"
    with pytest.raises(ValueError, match=r"\[LexicalModel\] language .* en, pt, es"):
        LexicalModel(unknown)


# --- a whole conversation ---------------------------------------------------------------------


async def test_a_clinic_works_by_plain_words() -> None:
    """Booking with a correction, a price in between, a refused and an accepted confirmation, an honest failure."""
    booked: list[Any] = []

    async def book(ctx: ActionContext[None], service: str, day: str) -> ActionResult:
        """Books."""
        booked.append((service, day))
        return failed("taken") if len(booked) > 1 else ok()

    confirm = Collect("confirm", ["agreed"], branches=[Branch("wants a person", then=ToFlow("human"))])
    agent = Agent(
        name="Ana", model=LexicalModel(), timezone="Europe/Lisbon", actions=[book],
        fields={
            "service": Field(Literal["cleaning", "whitening"], question="A cleaning or a whitening?"),
            "day": Field(date, question="Which day?", correct=True),
            "name": Field(str, question="What is your name?"),
            "agreed": Field(bool, question="{{data.service}} on {{data.day}}, right?", extract="anywhere"),
        },
        flows=[
            Flow("book", on=[OnMessage("wants to book an appointment", repeat="always")], clear_on_start=["agreed"], steps=[
                Collect("what", ["service", "day", "name"]), confirm,
                If("right", {"equals": {"agreed": True}}, then="do", else_=To("what", clear=["agreed", "day"])),
                Do("do", book, {"service": "{{data.service}}", "day": "{{data.day}}"}, on_fail="sorry"),
                Say("bye", "See you, {{data.name}}!", then="end"),
                Prompt("sorry", "Say that it is taken.", then="end"),
            ]),
            Flow("prices", on=[OnMention("asks about prices", repeat="always")], steps=[Say("p", "60 euros.")]),
            Flow("human", on=[OnMention("asks for a person", repeat="always")], steps=[Say("m", "One moment.")]),
        ],
    )  # fmt: skip
    session, history, number = None, [], 0

    async def says(text: str) -> str:
        nonlocal session, number
        number += 1
        result = await agent.turn("s1", Message(text, id=f"m{number}"), session=session, history=list(history))
        session = result.session
        said = [message.text for message in result.messages]
        history.extend([{"role": "user", "content": text}, *({"role": "assistant", "content": t} for t in said)])
        return " ".join(said)

    assert "language model" in await says("hello")
    assert await says("I would like to book an appointment") == "A cleaning or a whitening?"
    assert await says("a cleaning, on 2030-05-01") == "What is your name?"
    assert await says("how much is it?") == "60 euros."
    assert await says("Bob Stone") == "cleaning on 2030-05-01, right?"
    assert await says("actually make it 2030-05-02") == "I have changed that. cleaning on 2030-05-02, right?"
    assert await says("no") == "Which day?"
    assert await says("2030-05-03") == "cleaning on 2030-05-03, right?"
    assert await says("yes") == "See you, Bob Stone!"
    assert booked == [("cleaning", "2030-05-03")]
    assert await says("I want to book another appointment") == "cleaning on 2030-05-03, right?"
    assert SENTENCES["en"].did_not_work in await says("yes")


@pytest.mark.parametrize(("text", "greets"), [("good morning", True), ("", True), ("no", False), ("yes please", False)])
async def test_only_a_greeting_is_greeted(text: str, greets: bool) -> None:
    """A yes or no that no flow waits for says nothing either, and is no greeting."""
    said = (await Agent(name="Ana", model="lexical").turn("s1", Message(text, id="m1"))).messages[0].text
    assert said.startswith(SENTENCES["en"].hello) == greets
    assert said.endswith(SENTENCES["en"].introduction.format("Ana"))


@pytest.mark.parametrize("piece", ["x", "1/", "2026-12-24 ", "a@", "1 ", "x 1 ", "my name is "])
def test_a_long_text_costs_its_length_only(piece: str) -> None:
    """What a customer pastes holds nobody up: reading that took the square of it would need a minute here."""
    text = (piece * 30_000)[:30_000]
    started = time.process_time()
    _value(text, "x", "number", expected=True)
    for slug in ("email", "phone", "name", "day"):
        _value(text, slug, expected=True)
    assert time.process_time() - started < 5


# --- other ways of writing --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "slug", "kind", "value"),
    [
        ("somos ４５", "people", "integer", 45),
        ("٤", "people", "integer", 4),
        ("−3", "n", "integer", -3),
        ("1\u00a0500", "n", "integer", 1500),
        ("12\u202f500 people", "people", "integer", 12500),
        ("２４/１２", "day", "string", "2026-12-24"),
        ("at ３ pm", "time", "string", "15:00"),
        ("in\u00a0two\u00a0days", "day", "string", "2026-12-02"),
        ("call ９１２ ３４５ ６７８", "phone", "string", "９１２ ３４５ ６７８"),
        ("ana＠acme.example", "email", "string", "ana＠acme.example"),
    ],
)
def test_digits_and_spaces_of_other_scripts_are_read(text: str, slug: str, kind: str, value: Any) -> None:
    """Full-width forms, digits of other scripts and non-breaking spaces; a text is handed on as it was given."""
    assert _value(text, slug, kind, expected=True) == value
