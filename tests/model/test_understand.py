"""The understand call: what is asked, and how a verdict is read (M-3 to M-5, M-24)."""

from __future__ import annotations

import json
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.flow.definition import Collect, Field, Flow, OnMessage
from falai.model.inputs import BranchQuestion, Judgement
from falai.model.port import ModelReply, ModelRequest
from falai.model.tasks import UnderstandTask
from falai.model.understand import read_judgement, understand_request
from model.agents import on_floor, plan, run, understand_input

PLAN = plan()
SALES, HELP, LATE = PLAN.flows.values()


def _full(**changes: Any) -> ModelRequest:
    """A request that asks for everything."""
    given_: dict[str, Any] = {
        **on_floor(PLAN),
        "compared": (SALES, LATE),
        "mentions": (HELP,),
        "branches": (BranchQuestion("sales#m1/who/0", "wants to know {{context.firm}}"),),
        "fields": ("name", "size", "full name"),
        "correctable": frozenset({"size"}),
        "data": {"size": "1-10", "name": ""},
        "context": {"firm": "Acme"},
        "history": [{"role": "user", "content": "oi"}],
        "text": " how much? ",
    }
    return understand_request(PLAN, understand_input(PLAN, **{**given_, **changes}))


def _sections(prompt: str) -> dict[str, str]:
    parts = [part.partition("\n") for part in f"\n{prompt}".split("\n## ")[1:]]
    return {title: body.strip() for title, _, body in parts}


def _task(request: ModelRequest) -> UnderstandTask:
    assert isinstance(request.task, UnderstandTask)
    return request.task


def _read(reply: Any, request: ModelRequest | None = None) -> Judgement:
    answer = ModelReply(message=reply) if isinstance(reply, str) else ModelReply(structured=reply)
    return read_judgement(_task(request or _full()), answer)


# --- the request ------------------------------------------------------------------------------


def test_the_request_is_a_closed_call_without_tools() -> None:
    """`schemaName` is `understand`, there are no tools, and history and context pass through (M-2.9, M-3.3)."""
    request = _full()
    assert (request.schema_name, request.tools) == ("understand", ())
    assert request.history == [{"role": "user", "content": "oi"}]
    assert request.context == {"firm": "Acme"}
    assert request.schema["required"] == ["flows", "mentions", "extract", "branches", "fields"]
    assert request.schema["properties"]["extract"]["required"] == ["f1"]
    assert request.schema["properties"]["fields"]["required"] == ["name", "size", "d3"]


def test_sections_stand_in_their_order_and_empty_ones_are_left_out() -> None:
    """M-4.1; what is not asked about has no section."""
    order = [
        "Task", "Current flow", "Known facts", "Flows to score", "Mentions", "Questions", "Fields", "Message", "Output",
    ]  # fmt: skip
    assert list(_sections(_full().prompt)) == order
    bare = understand_request(PLAN, understand_input(PLAN, compared=(LATE,)))
    assert list(_sections(bare.prompt)) == ["Task", "Flows to score", "Message", "Output"]


def test_the_current_flow_says_where_it_stands() -> None:
    """Its name, id and description, the step with its prompt, and what is still open (M-4.3)."""
    current = _sections(_full().prompt)["Current flow"]
    for text in ("sales", "Sales", "For Acme", "step who", "Find out who they are.", "- name (string)", "one of"):
        assert text in current
    gone = _full(run=run(step_id="gone"), pending=("nobody declared",))
    assert "step" not in _sections(gone.prompt)["Current flow"]
    assert '- "nobody declared"\n' in gone.prompt, "an undeclared slug stands alone"


def test_phrases_and_exclusions_stand_apart() -> None:
    """Both rendered, the exclamation mark gone (M-4.5, M-4.6)."""
    sections = _sections(_full(data={"name": "Bia"}).prompt)
    assert "wants Bia" in sections["Flows to score"]
    assert "score 0 if: only says thanks" in sections["Flows to score"]
    assert "false if: quotes one" in sections["Mentions"]
    assert "!" not in sections["Mentions"] + sections["Flows to score"]
    assert "topics (array of string)" in sections["Mentions"]


def test_a_flow_without_phrases_has_only_its_line() -> None:
    """A floor flow that was started another way is scored all the same (M-4.5)."""
    request = _full(compared=(HELP,), mentions=())
    assert '1. f1 (v2:help, id "v2:help")\nScale' in request.prompt


def test_branches_are_rendered_under_their_keys() -> None:
    """M-4.7; the real id, which may hold anything, stays out."""
    assert "- q2: wants to know Acme" in _full().prompt
    assert "sales#m1" not in _full().prompt


def test_the_message_is_quoted_as_given() -> None:
    """Not trimmed, between fences (M-4.9)."""
    assert "```\n how much? \n```" in _full().prompt


def test_how_to_ask_is_not_shown() -> None:
    """Neither `ask` nor `question` is in the prompt of this call (M-4.8, F-19.2)."""
    prompt = _full().prompt
    assert "Ask for the name lightly." not in prompt
    assert "What is your name?" not in prompt


def test_the_skeleton_is_the_envelope_with_blank_leaves() -> None:
    """The last line is the object in the envelope's own order (M-4.10)."""
    request = _full()
    skeleton = json.loads(request.prompt.splitlines()[-1])
    assert skeleton == {
        "flows": {"sales": 0, "late": 0},
        "mentions": {"f1": False},
        "extract": {"f1": {"topics": None, "why": None}},
        "branches": {"q2": False},
        "fields": {"name": None, "size": None, "d3": None},
    }
    assert list(skeleton) == list(request.schema["properties"])


def test_a_correctable_field_shows_its_value() -> None:
    """It stands in its place among the fields, and among the facts without the mark (M-24.1)."""
    sections = _sections(_full().prompt)
    assert 'size (string; one of "1-10", "11-50"): how many work there [present value: "1-10"]' in sections["Fields"]
    assert "Known for good" not in sections["Known facts"]
    settled = _sections(_full(correctable=frozenset(), fields=("name",), data={"name": "Bia", "size": "1-10"}).prompt)
    assert 'Known for good. Ask no question about these:\n- name: "Bia"' in settled["Known facts"]
    assert "present value" not in settled["Fields"]


def test_asks_is_judged_where_a_step_has_a_fixed_question() -> None:
    """Then it is in every understand call of the agent (M-3.6), else in none."""
    assert "asks" not in _full().schema["properties"]
    asking = plan(flows=[Flow("f", on=[OnMessage("x")], steps=[Collect("c", ["name"], question="Who?")])])
    request = understand_request(asking, understand_input(asking, fields=("name",), compared=()))
    assert request.schema["required"] == ["fields", "asks"]
    assert '{"fields":{"name":null},"asks":false}' in request.prompt


def test_today_is_told_in_the_agent_s_zone() -> None:
    """At 23:50 in São Paulo it is still Sunday there, whatever UTC says (M-24.2)."""
    monday_in_utc = 1_789_959_000_000
    zoned = plan(timezone="America/Sao_Paulo")
    request = understand_request(zoned, understand_input(zoned, now_ms=monday_in_utc))
    assert _sections(request.prompt)["Today"] == "Sunday, 2026-09-20 (time zone America/Sao_Paulo)"
    assert next(iter(_sections(request.prompt))) == "Today"
    assert "2026" not in (request.system or "")
    assert "Today" not in _full().prompt, "an agent without a zone does not know the day"


def test_a_richer_type_says_how_it_is_written() -> None:
    """A date has to come as ISO text, so the line says so (F-19.3)."""
    from datetime import date

    dated = plan(fields={"start": Field(date, description="first day")}, flows=[])
    request = understand_request(dated, understand_input(dated, fields=("start",), compared=()))
    assert "- start (string, a date as YYYY-MM-DD): first day" in request.prompt
    assert request.schema["properties"]["fields"]["properties"]["start"]["type"] == ["string", "null"]


# --- identity and knowledge -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("persona", "knowledge", "in_system", "in_prompt"),
    [
        ("Warm.", None, ["Ana", "Warm."], []),
        ("Warm.", {"k": "v"}, ["Ana", "Warm.", "- k: v"], []),
        ("Warm to {{data.name}}.", {"k": "v"}, ["- k: v"], ["Ana", "Warm to Bia."]),
        ("Warm to {{data.name}}.", None, None, ["Ana", "Warm to Bia."]),
    ],
)
def test_the_stable_prefix(persona: str, knowledge: Any, in_system: list[str] | None, in_prompt: list[str]) -> None:
    """Identity travels as `system` unless it varies with the data (M-11.6)."""
    agent = plan(persona=persona, goal="Sell.", knowledge_base=knowledge)
    request = understand_request(agent, understand_input(agent, data={"name": "Bia"}))
    if in_system is None:
        assert request.system is None
    else:
        assert all(text in (request.system or "") for text in in_system)
    identity = _sections(request.prompt).get("Identity", "")
    assert all(text in identity for text in in_prompt)
    assert ("Sell." in identity) is bool(in_prompt)


def test_the_system_text_is_the_same_object_in_every_turn() -> None:
    """Byte-identical over turns, so that a provider can cache it (M-11.6)."""
    agent = plan(persona="Warm.", knowledge_base={"open": ["Mon", "Tue"], "n": 3})
    first = understand_request(agent, understand_input(agent, text="a", data={"name": "Bia"}))
    second = understand_request(agent, understand_input(agent, text="b", now_ms=0))
    assert first.system is second.system


def test_knowledge_is_nested_bullets() -> None:
    """Objects open a level, lists of scalars take a line, lists of objects go one deeper (M-11.2)."""
    knowledge = {
        "place": {"street": "behind {{data.name}}", "floors": 2, "lift": True},
        "days": ["Mon", "Tue", 3],
        "staff": [{"name": "Sá", "rooms": [1, 2]}, "others"],
        "gone": None,
        "ratio": 1.50,
    }
    agent = plan(knowledge_base=knowledge, persona=None)
    system = understand_request(agent, understand_input(agent)).system or ""
    assert system.partition("## Knowledge\n")[2].splitlines() == [
        "- place:", "  - street: behind {{data.name}}", "  - floors: 2", "  - lift: true", "- days: Mon, Tue, 3",
        "- staff:", "  - name: Sá", "  - rooms: 1, 2", "  - others", "- ratio: 1.5",
    ]  # fmt: skip


# --- the reply --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "score"),
    [(90, 90), ("30", 30), (140, 100), (-3, 0), ("85,5", 85.5), (10**400, 100), (True, None), ("high", None),
     (None, None), (float("nan"), None), (float("inf"), None), ([90], None)],
)  # fmt: skip
def test_scores_are_numbers_within_bounds(raw: Any, score: float | None) -> None:
    """M-5.3."""
    assert _read({"flows": {"sales": raw}}).flows == ({} if score is None else {"sales": score})


def test_mentions_and_branches_take_the_words_for_yes_and_no() -> None:
    """M-5.4; under their real ids."""
    judged = _read({"mentions": {"f1": "sim", "late": "não", "odd": 1}, "branches": {"q2": "yes", "else": True}})
    assert judged.mentions == {"v2:help": True, "late": False}
    assert judged.branches == {"sales#m1/who/0": True}


@pytest.mark.parametrize(("raw", "asks"), [(True, True), ("não", False), ("perhaps", None), (None, None), (1, None)])
def test_asks_is_judged_or_not(raw: Any, asks: bool | None) -> None:
    """Anything that is no answer means not judged, and the reply is usable all the same (M-5.4)."""
    assert _read({"asks": raw}).asks is asks


def test_extract_keeps_declared_names_with_a_value() -> None:
    """M-5.5: raw values, no null, no empty text, no flow that has no `extract` here."""
    judged = _read({"extract": {"f1": {"topics": ["a"], "why": "", "more": 1}, "late": {"x": 1}}})
    assert judged.extract == {"v2:help": {"topics": ["a"]}}
    assert _read({"extract": {"f1": "Acme"}, "fields": "none"}) == Judgement(extract={"v2:help": {}})


def test_fields_keep_their_order_and_strangers() -> None:
    """M-5.6: nothing is coerced here; a slug that was not offered is the turn's to judge."""
    judged = _read({"fields": {"zz": 1, "d3": "Ana Sá", "name": None, "size": "", "agreed": True}})
    assert list(judged.fields.items()) == [("zz", 1), ("full name", "Ana Sá"), ("agreed", True)]


def test_keys_that_were_not_given_out_have_no_effect_but_where_the_rules_say() -> None:
    """A real id behind an alias is no key: scores under it are dropped (M-5.7)."""
    request = _full(compared=(HELP, LATE), mentions=())
    assert _read({"flows": {"v2:help": 90, "f1": 50, "sales": 70}}, request).flows == {"v2:help": 50}


def test_an_object_inside_prose_is_read() -> None:
    """M-5.1: `structured` when it is usable, else the first object of the text."""
    assert _read('Sure! {"flows": {"sales": 90}} Done.').flows == {"sales": 90}
    both = ModelReply(message='{"flows": {"sales": 70}}', structured={"message": "hello"})
    assert read_judgement(_task(_full()), both).flows == {"sales": 70}


def test_what_cannot_be_read_is_not_judged_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """M-5.2: one warning with the start of the reply, at most 200 characters."""
    with caplog.at_level(logging.WARNING, logger="falai"):
        assert _read("I cannot say" + "!" * 300) == Judgement()
    assert len(caplog.records) == 1
    assert "I cannot say" in caplog.text
    assert "!" * 200 not in caplog.text
    assert _read('{"flow": 1}') == Judgement()


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
KEYS = st.sampled_from(["sales", "late", "f1", "q2", "d3", "name", "size", "v2:help", "topics", "x", ""])
SECTION = ANY | st.dictionaries(KEYS, ANY | st.dictionaries(KEYS, ANY, max_size=3), max_size=4)
REPLIES = st.dictionaries(
    st.sampled_from(["flows", "mentions", "extract", "branches", "fields", "asks", "message"]), SECTION, max_size=6
)


@pytest.mark.property
@given(REPLIES | ANY, st.booleans())
def test_reading_is_total(reply: Any, as_text: bool) -> None:
    """Any JSON gives a judgement of the right shape: nothing raises, and only what was asked has a verdict."""
    request = _full()
    structured = reply if isinstance(reply, dict) and not as_text else None
    judged = read_judgement(_task(request), ModelReply(message=json.dumps(reply), structured=structured))
    assert all(id in ("sales", "late") and 0 <= score <= 100 for id, score in judged.flows.items())
    assert all(isinstance(held, bool) for held in (*judged.mentions.values(), *judged.branches.values()))
    assert set(judged.branches) <= {"sales#m1/who/0"}
    assert all(set(values) <= {"topics", "why"} for values in judged.extract.values())
    assert all(value is not None and value != "" for value in judged.fields.values())
    assert judged.asks in (True, False, None)


def test_the_task_is_plain_data_for_a_model_that_reads_no_prompt() -> None:
    """What a prompt says is in the task, rendered (design: the model port)."""
    task = _task(_full())
    assert task.floor is not None
    assert (task.floor.id, task.floor.step_id, task.floor.prompt) == ("sales", "who", "Find out who they are.")
    assert [field.slug for field in task.floor.pending] == ["name", "size"]
    assert task.fields[0].question == "What is your name?"
    assert [field.known for field in task.fields] == [False, True, False]
    assert task.flows[0].matches == ("asks for a quote", "wants"), "a blank value closes its gap"
