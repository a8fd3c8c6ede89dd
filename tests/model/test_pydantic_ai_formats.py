"""What holds for every provider's language: requests, replies, tools, streams, and each way to fail."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import pytest

from falai.errors import ProviderError
from falai.model.port import ModelReply, ModelRequest, ToolSpec, Usage
from model import loopback_anthropic, loopback_google
from model.formats import FORMATS, REQUEST, Format, connected, streamed
from model.loopback import Answer, broken, cuts, event, fails, raw, sliced, slow

for package in ("openai", "anthropic", "google"):
    pytest.importorskip(f"pydantic_ai.models.{package}")
pytestmark = [
    pytest.mark.servers,
    pytest.mark.filterwarnings("ignore::DeprecationWarning:google"),
]

ENVELOPE = '{"message": "Olá 😀", "size": null, "people": 3}'
PIECES = [ENVELOPE[:5], ENVELOPE[5:17], ENVELOPE[17:]]
TOOL = ToolSpec("slots", "slots", "Free times", {"type": "object", "properties": {"day": {"type": "string"}}})
WITH_TOOLS = replace(REQUEST, tools=(TOOL,))

each = pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)


def _conversation(form: Format, body: dict[str, Any]) -> list[tuple[str, Any]]:
    """The conversation in a request: role and text, without what stands before it."""
    if form.name == "google":
        return [(item["role"], item["parts"][0].get("text")) for item in body["contents"]]
    items = body["input"] if form.name == "responses" else body["messages"]
    found = [(item["role"], item["content"]) for item in items if item.get("role") != "system" and "role" in item]
    return [(role, text if isinstance(text, str) else text[0].get("text")) for role, text in found]


def _before(form: Format, body: dict[str, Any]) -> list[str]:
    """What stands before the conversation, block by block."""
    if form.name == "google":
        return [part["text"] for part in body["systemInstruction"]["parts"]]
    if form.name == "responses":
        return body["instructions"].split("\n\n")
    if form.name == "anthropic":
        return [block["text"] for block in body["system"]]
    return [item["content"] for item in body["messages"] if item["role"] == "system"]


async def _both(form: Format, answer: Answer, request: ModelRequest = REQUEST) -> tuple[Any, Any]:
    """The same answer, whole and streamed: replies or failures."""
    return (await _each_both(form, [answer], request))[0]


async def _each_both(form: Format, answers: Sequence[Answer], request: ModelRequest = REQUEST) -> list[tuple[Any, Any]]:
    """Each of the answers, whole and streamed, over one connection."""
    async with connected(form, *[answer for answer in answers for _ in range(2)]) as (model, server):
        found = [(await _settled(model.complete(request)), await _settled(streamed(model, request))) for _ in answers]
    assert len(server.requests) == 2 * len(answers), "the SDK must not try again by itself"
    return found


async def _settled(asked: Awaitable[Any]) -> Any:
    try:
        return await asked
    except ProviderError as error:
        return error


@each
async def test_prefix_history_and_prompt_travel_in_order(form: Format) -> None:
    """The stable prefix first, the history item by item, the prompt as the last user turn, all letters as they are."""
    async with connected(form, form.says(ENVELOPE)) as (model, server):
        await model.complete(replace(REQUEST, prompt="Olá ü 漢字 😀"))
    body = server.requests[0]
    assert _before(form, body)[0] == "You are Ana."
    said = [text for _, text in _conversation(form, body)]
    assert said == ["oi", "Olá!", "Olá ü 漢字 😀"]


@each
async def test_a_reply_is_the_same_whole_and_streamed(form: Format) -> None:
    """Both ways to ask give the same reply; joined, the pieces are its text (M-18.1)."""
    whole, (pieces, reply) = await _both(form, form.says(ENVELOPE, pieces=PIECES))
    assert pieces == PIECES
    assert whole == replace(reply, cost=whole.cost)
    assert whole.message == ENVELOPE
    assert whole.structured == json.loads(ENVELOPE)
    assert whole.usage == Usage(100, 9, 80), "all that was read, cached parts included; thinking is completion (M-18.9)"
    assert (whole.model, whole.finish_reason) == ("loopback-1", "stop")


@each
async def test_pieces_survive_any_packets(form: Format) -> None:
    """How the network cuts the bytes changes nothing, in the middle of a letter neither."""
    async with connected(form, sliced(form.says(ENVELOPE, pieces=PIECES), 3)) as (model, _):
        pieces, _ = await streamed(model)
    assert pieces == PIECES


@each
async def test_output_tokens_are_limited(form: Format) -> None:
    """A call's own limit wins over the model's; there always is one."""
    answer = form.says("short")
    async with connected(form, answer, answer, max_output_tokens=77) as (model, server):
        summary = replace(REQUEST, schema={}, schema_name="summary")
        assert (await model.complete(summary)).message == "short"
        await model.complete(replace(summary, max_output_tokens=1024))
    for body, limit in zip(server.requests, (77, 1024), strict=True):
        given = body.get("generationConfig", body)
        names = ("max_completion_tokens", "max_output_tokens", "max_tokens", "maxOutputTokens")
        assert [given[name] for name in names if name in given] == [limit]
        assert "response_format" not in body, "free text needs no JSON mode (M-18.4)"
        assert "text" not in body or "format" not in body["text"]
        assert "responseMimeType" not in given


@each
async def test_tools_are_called_by_name_and_arguments(form: Format) -> None:
    """Tools go out as the provider's own; a call comes back as an object (M-18.3, M-18.5)."""
    whole, (pieces, reply) = await _both(form, form.calls("slots", {"day": "seg ü"}), WITH_TOOLS)
    for found in (whole, reply):
        assert [(call.name, call.arguments) for call in found.tool_calls] == [("slots", {"day": "seg ü"})]
    assert pieces == [], "a call is no word to the customer"


@each
async def test_a_round_of_tools_goes_back(form: Format) -> None:
    """The call and its result are in the next request, under the history's own ids (M-9.8)."""
    asked = {"role": "assistant", "content": None, "tool_calls": [{"id": "call-0-0", "name": "slots", "arguments": {"day": "mon"}}]}  # fmt: skip
    found = {"role": "tool", "tool_call_id": "call-0-0", "name": "slots", "content": "16:00"}
    async with connected(form, form.says(ENVELOPE)) as (model, server):
        await model.complete(replace(WITH_TOOLS, history=[*REQUEST.history, asked, found]))
    sent = json.dumps(server.requests[0])
    assert sent.count("call-0-0") == 2
    assert "16:00" in sent
    assert '"day"' in sent


@each
async def test_reasoning_goes_back_to_whom_it_came_from(form: Format) -> None:
    """In the next round a provider gets its own reasoning and signatures (M-18.2, M-22.8); another one gets none."""
    whole, (_, reply) = await _both(form, form.thinks("HMM", form.calls("slots", {"day": "mon"})), WITH_TOOLS)
    assert (whole.reasoning, reply.reasoning) == ("HMM", "HMM")
    history = [*REQUEST.history, *_round(reply)]
    json.dumps(history)  # plain data
    async with connected(form, form.says(ENVELOPE)) as (model, server):
        await model.complete(replace(WITH_TOOLS, history=history))
    sent = json.dumps(server.requests[0])
    marks = {"chat": "HMM", "responses": "SEALED", "anthropic": "SIGNED", "google": "U0lHTkVE"}
    assert marks[form.name] in sent
    assert sent.count("call-0-0") == 2
    other = FORMATS[(FORMATS.index(form) + 1) % len(FORMATS)]
    async with connected(other, other.says(ENVELOPE)) as (model, server):
        await model.complete(replace(WITH_TOOLS, history=history))
    sent = json.dumps(server.requests[0])
    assert marks[form.name] not in sent
    assert "HMM" not in sent or other.name == "chat"
    assert sent.count("call-0-0") == 2


def _round(reply: ModelReply) -> list[dict[str, Any]]:
    calls = [{"id": f"call-0-{n}", "name": c.name, "arguments": c.arguments} for n, c in enumerate(reply.tool_calls)]
    said: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls, "reasoning": reply.reasoning}
    said["reasoningDetails"] = reply.reasoning_details
    return [said, {"role": "tool", "tool_call_id": "call-0-0", "name": "slots", "content": "16:00"}]


@each
async def test_the_closing_round_offers_no_tool(form: Format) -> None:
    """A history with calls and no tools to call is taken by every provider (M-9.2)."""
    whole, _ = await _both(form, form.calls("slots", {"day": "mon"}), WITH_TOOLS)
    async with connected(form, form.says(ENVELOPE)) as (model, server):
        await model.complete(replace(REQUEST, history=[*REQUEST.history, *_round(whole)]))
    body = server.requests[0]
    if form.name == "anthropic":  # which refuses such a history without definitions
        assert [tool["name"] for tool in body["tools"]] == ["slots"]
        assert body["tool_choice"] == {"type": "none"}
    else:
        assert "tools" not in body


@each
async def test_no_prefix_is_no_empty_message(form: Format) -> None:
    """Without a stable prefix nothing stands in its place."""
    async with connected(form, *[form.says(ENVELOPE)] * 2) as (model, server):
        for system in ("", None):
            await model.complete(replace(REQUEST, system=system))
    assert all(text.strip() for body in server.requests for text in _system_texts(form, body))


def _system_texts(form: Format, body: dict[str, Any]) -> list[str]:
    keys = {"google": "systemInstruction", "responses": "instructions", "anthropic": "system", "chat": "messages"}
    return _before(form, body) if keys[form.name] in body else []


@each
async def test_a_summary_stands_behind_the_prefix(form: Format) -> None:
    """A history that begins with a summary (M-15.3) keeps the stable prefix, and the summary is before the talk."""
    history = [{"role": "system", "content": "[Summary] They want a table."}, *REQUEST.history]
    async with connected(form, form.says(ENVELOPE)) as (model, server):
        await model.complete(replace(REQUEST, history=history))
    before = _before(form, server.requests[0])
    assert before[0] == "You are Ana."
    assert before[-1] == "[Summary] They want a table."
    assert _conversation(form, server.requests[0])[0][1] == "oi"


@each
async def test_a_system_item_inside_the_talk_is_kept(form: Format) -> None:
    """Where it stands, or before the talk for providers that know no such place; behind the prefix in any case."""
    history = [*REQUEST.history, {"role": "system", "content": "Opening hours changed."}]
    async with connected(form, form.says(ENVELOPE)) as (model, server):
        await model.complete(replace(REQUEST, history=history))
    sent = json.dumps(server.requests[0])
    assert sent.count("Opening hours changed.") == 1
    assert _before(form, server.requests[0])[0] == "You are Ana."
    assert [text for _, text in _conversation(form, server.requests[0])][:2] == ["oi", "Olá!"]


@each
async def test_reasoning_of_somebody_else_s_form_is_passed_over(form: Format) -> None:
    """A host's history may hold what another program wrote."""
    foreign: list[Any] = [[{"type": "reasoning.text", "text": "hm"}], ["x"], [], "x", [{"kind": "request"}]]
    async with connected(form, *[form.says(ENVELOPE)] * len(foreign)) as (model, server):
        for details in foreign:
            said = {"role": "assistant", "content": "Olá!", "reasoningDetails": details}
            await model.complete(replace(REQUEST, history=[REQUEST.history[0], said]))
    assert [_conversation(form, body)[1][1] for body in server.requests] == ["Olá!"] * len(foreign)


# --- failures ---------------------------------------------------------------------------------


@each
async def test_a_refusal_is_of_kind_content(form: Format) -> None:
    """The provider's own way of saying no."""
    whole, stream = await _both(form, form.refuses())
    assert (whole.kind, stream.kind) == ("content", "content")


@each
async def test_nothing_is_a_failure(form: Format) -> None:
    """An empty reply, and one whose text may never reach a customer, is an overload (M-18.7, M-18.8)."""
    texts = ["", "  ", '{"message": " "}', "```json\n{broken"]
    for failure in chain(*await _each_both(form, [form.says(text) for text in texts])):
        assert isinstance(failure, ProviderError)
        assert (failure.kind, failure.provider) == ("overload", form.model)


@each
async def test_a_cut_stream_is_no_reply(form: Format) -> None:
    """A stream that ends in the middle looks finished to the library; it fails, and may be tried again."""
    cut = [['{"message": "He', "llo"], ["Plain wo", "rds"], ['{"message": "Hi"', ""]]
    async with connected(form, *[form.says("", pieces=pieces, cut=True) for pieces in cut]) as (model, _):
        for pieces in cut:
            failure = await _settled(streamed(model))
            assert (failure.kind, failure.retryable) == ("network", True), pieces


@each
async def test_a_stream_that_is_whole_but_for_its_end_is_a_reply(form: Format) -> None:
    """Nothing can be missing behind a complete object: some servers never say that they have finished."""
    async with connected(form, form.says(ENVELOPE, cut=True)) as (model, _):
        _, reply = await streamed(model)
    assert reply.structured == json.loads(ENVELOPE)


@pytest.mark.parametrize("form", [form for form in FORMATS if form.name != "google"], ids=lambda form: form.name)
async def test_a_call_that_was_cut_is_no_call(form: Format) -> None:
    """A tool is not called with half of its arguments because a connection broke."""
    async with connected(form, form.calls("slots", '{"day": "monday next', cut=True)) as (model, _):
        failure = await _settled(streamed(model, WITH_TOOLS))
    assert failure.kind == "network"


async def test_google_s_calls_arrive_whole() -> None:
    """An object that is there is complete, whatever became of the connection behind it."""
    async with connected(FORMATS[3], loopback_google.calls("slots", {"day": "mon"}, cut=True)) as (model, _):
        _, reply = await streamed(model, WITH_TOOLS)
    assert reply.tool_calls[0].arguments == {"day": "mon"}


@each
async def test_a_connection_that_breaks_in_a_stream_is_a_network_failure(form: Format) -> None:
    """Fewer bytes than promised, behind some pieces or before the first."""
    answer = form.says(ENVELOPE, pieces=PIECES)
    async with connected(form, *[broken(answer, events) for events in (1, 5)]) as (model, _):
        for _ in range(2):
            failure = await _settled(streamed(model))
            assert failure.kind == "network", failure


FAILURES = [
    (fails(429, "slow down"), "rate", 429),
    (fails(429, "You exceeded your current quota"), "quota", 429),
    (fails(500, "oops"), "overload", 500),
    (fails(529, "Overloaded"), "overload", 529),
    (fails(401, "Incorrect API key provided"), "auth", 401),
    (fails(403, "not for you"), "auth", 403),
    (fails(404, "no model named x"), "model", 404),
    (fails(400, "This model's maximum context length is 10 tokens"), "context", 400),
    (fails(402, "pay first"), "quota", 402),
    (fails(408, "late"), "timeout", 408),
    (fails(400, "schema refused"), "invalid", 400),
    (cuts(), "network", None),
]


@each
async def test_each_failure_has_its_kind(form: Format) -> None:
    """Whatever goes wrong is one `ProviderError` of the right kind, whole and streamed (M-19.4)."""
    found = await _each_both(form, [answer for answer, _, _ in FAILURES])
    for (_, kind, status), failures in zip(FAILURES, found, strict=True):
        for failure in failures:
            assert (failure.kind, failure.status) == (kind, status), failure
            assert failure.provider == form.model
            assert failure.__cause__ is not failure


@each
async def test_a_quoted_key_reaches_nobody(form: Format) -> None:
    """Providers quote the key that they refuse: neither words nor body have it, whatever its shape (M-19.1)."""
    quoted = "Incorrect API key provided: made.up-key, once sk-live0123456789, by Bearer abc123def456"
    async with connected(form, *[fails(401, quoted) for _ in range(2)], api_key="made.up-key") as (model, _):
        for failure in (await _settled(model.complete(REQUEST)), await _settled(streamed(model))):
            told = f"{failure} {failure.body}"
            assert failure.kind == "auth"
            assert "[secret], once [secret], by Bearer [secret]" in told
            assert not any(secret in told for secret in ("made.up-key", "sk-live", "abc123"))


@each
async def test_a_garbled_body_is_an_overload(form: Format) -> None:
    """A body that is no answer never gets past the port as another exception; another try may help."""
    bodies = [b"", b"not json", b"[]", b"{}", b'{"choices": [{}]}', b'{"output": 3}', b'{"content": 7}']
    for failure in chain(*await _each_both(form, [raw(body) for body in bodies])):
        assert isinstance(failure, ProviderError), failure
        assert failure.kind == "overload", failure


@each
async def test_what_the_provider_states_is_passed_on(form: Format) -> None:
    """The wait, and its own word on another try (M-19.6, M-19.7)."""
    headers = {"retry-after": "7", "x-should-retry": "false"}
    for failure in await _both(form, fails(429, "slow down", headers)):
        assert (failure.retry_after_ms, failure.should_retry, failure.status) == (7000, False, 429)
        assert "slow down" in failure.body


@each
async def test_silence_is_a_timeout(form: Format) -> None:
    """Before the first byte, and between two pieces (M-20.2)."""
    silent = slow(form.says(ENVELOPE), 5)
    begun = replace(form.says(ENVELOPE, pieces=PIECES), stall=2)
    async with connected(form, silent, silent, begun, timeout=0.2) as (model, _):
        for asked in (model.complete(REQUEST), streamed(model), streamed(model)):
            failure = await _settled(asked)
            assert failure.kind == "timeout", failure


async def test_a_steady_stream_may_last() -> None:
    """The limit is on the quiet between two pieces, not on the whole call (M-20.2)."""
    pieces = list(ENVELOPE)
    async with connected(FORMATS[0], slow(FORMATS[0].says(ENVELOPE, pieces=pieces), 0.03), timeout=1) as (model, _):
        assert (await streamed(model))[0] == pieces, "which take longer than a second"


async def test_a_failure_inside_a_stream_is_classified_by_its_payload() -> None:
    """What arrives in a stream that began well; what nothing names is theirs (M-19.5)."""
    kinds = {"overloaded_error": "overload", "rate_limit_error": "rate", "strange_error": "overload"}
    answers = [loopback_anthropic.fails_inside(kind, "what") for kind in kinds]
    async with connected(FORMATS[2], *answers) as (model, _):
        for kind in kinds.values():
            failure = await _settled(streamed(model))
            assert failure.kind == kind, failure


async def test_google_s_own_errors() -> None:
    """Its codes and its stated delay are in the body (M-19.6)."""
    delay = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]
    answers = [
        loopback_google.fails(429, "Resource has been exhausted", "RESOURCE_EXHAUSTED", details=delay),
        loopback_google.fails(400, "API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT"),
        loopback_google.fails(503, "The model is overloaded", "UNAVAILABLE"),
    ]
    found = await _each_both(FORMATS[3], answers)
    for (kind, wait), failures in zip([("rate", 34_000), ("auth", None), ("overload", None)], found, strict=True):
        for failure in failures:
            assert (failure.kind, failure.retry_after_ms) == (kind, wait), failure


async def test_a_blocked_prompt_is_of_kind_content() -> None:
    """Google answers a prompt that it blocks with no candidate at all."""
    body = json.dumps({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "x"}).encode()
    form = FORMATS[3]
    for failure in await _both(form, Answer(body=body, events=[event(body.decode())])):
        assert failure.kind == "content", failure


@pytest.mark.parametrize("form", [FORMATS[1], FORMATS[2]], ids=lambda form: form.name)
async def test_a_known_model_has_its_price(form: Format) -> None:
    """In dollars, by the counted tokens, cached ones at their own price; an unknown model has none."""
    name = form.model.partition(":")[2]
    answer = form.says(ENVELOPE)
    priced = replace(answer, body=answer.body.replace(b"loopback-1", name.encode()))
    async with connected(form, priced, answer) as (model, _):
        cost = (await model.complete(REQUEST)).cost
        assert cost is not None
        assert 0 < cost < 0.01
        assert (await model.complete(REQUEST)).cost is None


async def test_a_server_of_ones_own_has_no_price() -> None:
    """A model there may have the name of OpenAI's; what it costs is another matter."""
    answer = FORMATS[0].says(ENVELOPE)
    async with connected(FORMATS[0], replace(answer, body=answer.body.replace(b"loopback-1", b"gpt-5-mini"))) as (m, _):
        reply = await m.complete(REQUEST)
    assert (reply.model, reply.cost) == ("gpt-5-mini", None)


@each
async def test_a_call_that_was_cut_is_never_made_with_less(form: Format) -> None:
    """Wherever the stream ends, the call has all its arguments, or the stream has failed."""
    answer = form.calls("slots", {"day": "monday"})
    cut = [answer.events[:count] for count in range(1, len(answer.events))]
    answers = [replace(answer, events=events, lost=lost) for events in cut for lost in (False, True)]
    async with connected(form, *answers) as (model, _):
        found = [await _settled(streamed(model, WITH_TOOLS)) for _ in answers]
    failed = [reply for reply in found if isinstance(reply, ProviderError)]
    assert {failure.kind for failure in failed} <= {"network", "overload"}
    for _, reply in (reply for reply in found if reply not in failed):
        assert [(call.name, call.arguments) for call in reply.tool_calls] == [("slots", {"day": "monday"})]
