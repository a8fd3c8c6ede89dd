"""A model writes a flow: right at once, repaired, odd, never right, garbled, or not at all (S-59 to S-63)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import Flow, FlowConfigurationError, ProviderError, Say
from falai.errors import DraftError
from falai.flow import from_spec, to_spec, validate_flow
from falai.flow.registries import Registries
from falai.flow.specschema import flow_spec_schema
from falai.model import Draft, LexicalModel, ModelReply, Usage, draft_flow
from falai.model.drafting import Attempt
from falai.testing import ScriptedModel
from model.drafts import BAD, GOOD, NULLS, ODD, REQUEST, desk
from strategies_flow import from_schema

PLAN = desk().plan
NAMES = Registries.of(PLAN)
CUT = json.dumps(NULLS)[:-40]
DEEP = f'{{"id": "x", "steps": [], "ui": {"[" * 600}{"]" * 600}}}'


async def _draft(model: ScriptedModel, **given: Any) -> Draft:
    draft = await draft_flow(model, REQUEST, PLAN, **given)
    assert model.remaining() == {}, "an answer was not asked for"
    return draft


async def test_a_flow_that_is_right_at_once() -> None:
    """One call: the closed schema under its name, no tools, no history (S-60); the spec without nulls (S-62)."""
    model = ScriptedModel({"flow": [NULLS]}, usage=True)
    draft = await _draft(model)
    assert draft.spec == to_spec(from_spec(GOOD))
    assert (draft.warnings, len(draft.attempts)) == ([], 1)
    [call] = model.calls
    request = call.request
    assert (request.schema_name, request.schema) == ("flow", flow_spec_schema(NAMES))
    assert (request.tools, request.history, request.context) == ((), (), None)
    assert draft.usage == Usage(len(call.prompt) + len(call.system or ""), len(draft.attempts[0].reply.message))


async def test_what_was_wrong_goes_back_in_words() -> None:
    """The second prompt has every problem with its place, and the last answer; nothing else is new."""
    model = ScriptedModel({"flow": [BAD, GOOD]})
    draft = await _draft(model)
    assert draft.spec == GOOD
    first, second = (call.prompt for call in model.calls)
    with pytest.raises(FlowConfigurationError) as refused:
        validate_flow(BAD, NAMES)
    assert len(refused.value.problems) == 3
    for problem in refused.value.problems:
        assert f"{problem.path}: {problem.what}. {problem.fix}" in second
    assert '"collect":["titel"]' in second
    assert "titel" not in first
    assert [len(attempt.problems) for attempt in draft.attempts] == [3, 0]


async def test_a_retry_tells_the_last_attempt_only() -> None:
    """However often it fails, a prompt holds one answer and its problems."""
    wrong = [{**BAD, "id": f"try-{number}"} for number in range(5)]
    model = ScriptedModel({"flow": [*wrong, GOOD]})
    await _draft(model, tries=6)
    prompts = [call.prompt for call in model.calls]
    assert {len(prompt) for prompt in prompts[1:]} == {len(prompts[1])}
    assert "try-4" in prompts[5]
    assert "try-3" not in prompts[5]


async def test_what_never_becomes_a_flow_is_not_lost() -> None:
    """The error has the last spec, all that is wrong in it, and every attempt."""
    model = ScriptedModel({"flow": [{"id": "x"}, "I cannot", BAD]}, usage=True)
    with pytest.raises(DraftError, match="in 3 attempts") as failed:
        await _draft(model)
    error = failed.value
    assert error.spec == BAD
    assert [problem.path for problem in error.problems] == ["steps[0].then", "steps[0].collect[0]", "steps[1].wait"]
    assert all(problem.what in str(error) for problem in error.problems)
    assert [attempt.spec for attempt in error.attempts if isinstance(attempt, Attempt)] == [{"id": "x"}, None, BAD]
    assert error.retryable


async def test_the_last_answer_may_hold_no_object() -> None:
    """Then there is no spec, and the words that came are on the attempt."""
    with pytest.raises(DraftError, match="holds no JSON object") as failed:
        await _draft(ScriptedModel({"flow": ["I am not able to do that."]}), tries=1)
    [attempt] = failed.value.attempts
    assert isinstance(attempt, Attempt)
    assert (failed.value.spec, attempt.answer) == (None, "I am not able to do that.")


async def test_one_more_try_for_the_warnings() -> None:
    """A flow that can run, but oddly, goes back once; the better one is taken."""
    model = ScriptedModel({"flow": [ODD, GOOD]})
    draft = await _draft(model)
    assert (draft.spec, draft.warnings) == (GOOD, [])
    [notice] = draft.attempts[0].notices
    assert f"{notice.path}: {notice.what}. {notice.fix}" in model.calls[1].prompt
    assert "It can be used" in model.calls[1].prompt


@pytest.mark.parametrize("other", [ODD, BAD, "Sorry", ProviderError("down", kind="overload")])
async def test_a_try_for_the_warnings_that_fails_costs_nothing(other: Any) -> None:
    """The valid flow stays, with its warnings, whatever comes of the second call; there is no third."""
    draft = await _draft(ScriptedModel({"flow": [ODD, other]}))
    assert draft.spec == ODD
    assert [text[:20] for text in draft.warnings] == ['flow "hold-book", st']


async def test_what_the_analysis_finds_goes_back_with_the_way_there() -> None:
    """A text that may go out with a gap: no name gives that away (F-10.4)."""
    gap = {**GOOD, "steps": [GOOD["steps"][0], GOOD["steps"][3]]}
    model = ScriptedModel({"flow": [gap, GOOD]})
    draft = await _draft(model)
    [notice] = draft.attempts[0].notices
    assert (notice.code, draft.spec) == ("maybe-unset", GOOD)
    assert f"The way there: {'; '.join(notice.trail)}." in model.calls[1].prompt


async def test_a_flow_that_only_the_host_starts_may_be_meant_so() -> None:
    """That is told, and costs no call."""
    silent = {key: value for key, value in GOOD.items() if key != "on"}
    draft = await _draft(ScriptedModel({"flow": [silent]}))
    assert [notice.code for notice in draft.notices] == ["host-start-only"]


async def test_only_the_new_flow_is_told_of() -> None:
    """What is odd in the agent's other flows is not the model's to mend."""
    odd = [Flow("idle", steps=[Say("a", "{{data.title}}")]), *(plan.flow for plan in PLAN.flows.values())]
    model = ScriptedModel({"flow": [GOOD]})
    draft = await draft_flow(model, REQUEST, desk(flows=odd).plan)
    assert draft.warnings == []


async def test_with_one_try_the_warnings_are_told_only() -> None:
    """`tries` bounds all calls."""
    draft = await _draft(ScriptedModel({"flow": [ODD]}), tries=1)
    assert "desk" in draft.warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        "Here it is:\n{}\nShall I change something?",
        "```json\n{}\n```",
        "{}",
    ],
)
async def test_prose_and_fences_around_the_flow(text: str) -> None:
    """A provider that enforces nothing is usable (S-63)."""
    assert (await _draft(ScriptedModel({"flow": [text.replace("{}", json.dumps(NULLS, indent=1))]}))).spec == GOOD


@pytest.mark.parametrize(
    "garbled", ["", "{", '{"id": "x", "steps": [', "[1, 2]", "null", '{"steps": {}}', "[[" * 9000, DEEP, CUT]
)
async def test_garbled_answers_are_told_and_repaired(garbled: str) -> None:
    """No answer breaks the drafting."""
    draft = await _draft(ScriptedModel({"flow": [garbled, GOOD]}))
    assert draft.attempts[0].problems
    assert draft.spec == GOOD


async def test_an_answer_without_end_is_shown_in_part() -> None:
    """A retry's prompt is bounded by the request, not by what the model wrote."""
    model = ScriptedModel({"flow": ["x" * 100_000, GOOD]})
    await _draft(model)
    assert len(model.calls[1].prompt) < len(model.calls[0].prompt) + 13_000


@pytest.mark.parametrize("text", ['{"id": "x", "ste', CUT])
async def test_an_answer_that_was_cut_off_is_called_so(text: str) -> None:
    """The model hears that it wrote too much, and sees all of it: a piece that is whole is no flow."""
    model = ScriptedModel({"flow": [ModelReply(message=text, finish_reason="length"), GOOD]})
    draft = await _draft(model)
    assert "cut off" in model.calls[1].prompt
    assert draft.attempts[0].answer == text
    assert text in model.calls[1].prompt


async def test_what_no_json_can_hold_is_left_out() -> None:
    """A number without end is nothing, as everywhere in JSON."""
    text = json.dumps({**GOOD, "steps": [{**GOOD["steps"][0], "ui": {"x": 1}}, *GOOD["steps"][1:]]})
    draft = await _draft(ScriptedModel({"flow": [text.replace('"x": 1', '"x": 1e999')]}))
    assert draft.spec["steps"][0] == {**GOOD["steps"][0], "ui": {}}


async def test_warnings_are_those_of_the_flow_that_is_handed_over() -> None:
    """The model hears of a property that has no meaning, for it may have meant another; the draft is without it."""
    model = ScriptedModel({"flow": [{**GOOD, "clear_on_start": ["title"]}] * 2})
    draft = await _draft(model)
    assert "Did you mean clearOnStart?" in model.calls[1].prompt
    assert (draft.spec, draft.warnings) == (GOOD, [])


async def test_a_request_with_half_a_character_can_be_sent() -> None:
    """What no server can be sent becomes U+FFFD."""
    model = ScriptedModel({"flow": [GOOD]})
    await draft_flow(model, "ol\udce1", PLAN)
    assert "ol\ufffd" in model.calls[0].prompt


async def test_a_provider_s_failure_goes_out() -> None:
    """With its kind; the model's other errors are put into words of ours (M-19.3)."""
    for failure in (ProviderError("slow down", kind="rate"), OSError("connection refused")):
        with pytest.raises(ProviderError) as failed:
            await _draft(ScriptedModel({"flow": [failure]}))
        assert failed.value.kind in ("rate", "network")
    with pytest.raises(ProviderError, match="down"):
        await _draft(ScriptedModel({"flow": [BAD, ProviderError("down")]}))


async def test_the_lexical_model_says_that_it_writes_no_flows() -> None:
    """Rather than something that looks like one."""
    with pytest.raises(ProviderError, match="cannot write flows"):
        await draft_flow(LexicalModel(), REQUEST, PLAN)
    with pytest.raises(ProviderError, match="cannot write flows"):
        await draft_flow("lexical", REQUEST, PLAN)


@pytest.mark.parametrize("taken", ["person", "hold-book"])
async def test_an_id_that_is_in_use_is_wrong(taken: str) -> None:
    """Another flow's id, or one that the host says is taken (S-60)."""
    model = ScriptedModel({"flow": [{**GOOD, "id": taken}, {**GOOD, "id": "other"}]})
    draft = await _draft(model, taken=["hold-book"])
    assert [problem.code for problem in draft.attempts[0].problems] == ["duplicate-flow-id"]
    assert draft.spec["id"] == "other"
    assert "## Ids that are taken\nperson, hold-book" in model.calls[0].prompt


async def test_a_flow_may_start_itself_again() -> None:
    """Its own id is one of the flows that there are."""
    again = {**GOOD, "steps": [*GOOD["steps"], {"id": "more", "kind": "if", "if": {}, "then": {"flow": "hold-book"}}]}
    draft = await _draft(ScriptedModel({"flow": [again]}), tries=1)
    assert "unknown-flow" not in [notice.code for notice in draft.notices]


async def test_each_attempt_can_be_watched() -> None:
    """For whoever waits."""
    seen: list[Attempt] = []
    draft = await _draft(ScriptedModel({"flow": [BAD, GOOD]}), watch=seen.append)
    assert tuple(seen) == draft.attempts


async def test_registries_as_data() -> None:
    """Those of `validate_flow`, with what events and conditions are for, when that is said."""
    registries: dict[str, Any] = {
        "fields": {"title": {"type": "string", "ask": "Ask."}},
        "actions": {"hold": {"parameters": {"title": {"type": "string"}}, "description": "Puts it aside."}},
        "events": {"returned": {"description": "A book came\nback."}},
        "conditions": {"member": {"description": "Has a card."}, "late": {}},
        "flows": ["person"],
    }
    model = ScriptedModel({"flow": [GOOD, GOOD]})
    for names in (registries, {**registries, "conditions": ["member"]}):
        assert (await draft_flow(model, REQUEST, names)).spec == GOOD
    prompt = model.calls[0].prompt
    for line in (
        "- hold: Puts it aside.",
        "- returned: A book came back.",
        "- member: Has a card.\n- late",
        "- person",
    ):
        assert line in prompt


async def test_wrong_definitions_cost_no_call() -> None:
    """They are the author's, and told before the model is asked."""
    model = ScriptedModel()
    with pytest.raises(FlowConfigurationError, match="title"):
        await draft_flow(model, REQUEST, {"fields": {"title": {"type": "text"}}})
    assert model.calls == []


async def test_an_agent_without_names_gets_a_flow_of_words() -> None:
    """Texts and waits are all that it can hold; the prompt says so."""
    words = {"id": "hi", "name": "Hi", "on": [{"message": ["says hello"]}],
             "steps": [{"id": "a", "kind": "say", "say": "Hello."}]}  # fmt: skip
    model = ScriptedModel({"flow": [GOOD, words]})
    draft = await draft_flow(model, "Say hello.", {})
    assert draft.spec == words
    assert "the flow can collect nothing" in model.calls[0].prompt


@pytest.mark.parametrize(("request_text", "tries"), [(" \n", 3), ("x", 0)])
async def test_bad_arguments(request_text: str, tries: int) -> None:
    """`ValueError`, before anything is asked."""
    with pytest.raises(ValueError, match=r"asks for no flow|at least 1"):
        await draft_flow(ScriptedModel(), request_text, PLAN, tries=tries)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "steps", "on", "kind", "then", "say", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@pytest.mark.property
@given(from_schema(flow_spec_schema(NAMES)) | JSON)
async def test_whatever_a_model_writes_is_a_flow_or_is_refused(answer: Any) -> None:
    """Nothing else comes out: a draft that every check lets pass, or the error that holds what came."""
    scripted = answer if isinstance(answer, dict) else json.dumps(answer)
    try:
        draft = await draft_flow(ScriptedModel({"flow": [scripted]}), REQUEST, PLAN, tries=1)
    except DraftError:
        return
    validate_flow(draft.spec, NAMES)
    assert to_spec(from_spec(draft.spec)) == draft.spec
