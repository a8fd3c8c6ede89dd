"""The speak call: rounds of the model and its tools until there is a reply (M-9, M-10).

`speak` is a generator: it yields what it needs, and a driver answers or throws the failure in. It
raises nothing for a provider's failure and writes nothing; the turn applies what comes back.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from falai.flow.definition import Move
from falai.flow.handlers import ToolContext
from falai.flow.plan import AgentPlan, FieldPlan, ToolPlan
from falai.flow.values import is_known
from falai.log import line
from falai.model.effects import Speak, ToolAnswer, ToolUse, UseTools
from falai.model.envelopes import speak_schema
from falai.model.failures import classify, outcome_of
from falai.model.inputs import Deferred, SpeakInput, Spoken
from falai.model.lenient import as_object, is_json_shaped, parse_whole, salvage_json
from falai.model.port import HistoryItem, ModelReply, ModelRequest, ToolCall, ToolSpec, Usage
from falai.model.sections import prefix
from falai.model.speak_prompt import speak_prompt, with_tools
from falai.model.speak_task import speak_task
from falai.model.tasks import SpeakTask
from falai.model.tools import batches
from falai.session.dates import from_ms
from falai.session.jsontext import is_list, is_object

__all__ = ["speak"]

_LOG: Final = logging.getLogger(__name__)


@dataclass(slots=True)
class _Call:
    """What the rounds of one speak call have brought so far."""

    history: Sequence[HistoryItem]
    message: str = ""
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    rounds: int = 0
    usage: Usage | None = None
    move: tuple[str, Move] | None = None
    """Where a tool sends the run, behind the tool's name; the later one counts."""
    say: tuple[str, str] | None = None
    """What a tool says in place of the model, likewise."""


def speak(plan: AgentPlan, given: SpeakInput) -> Generator[Speak | UseTools, Any, Spoken | Deferred]:
    """Phrases one reply in at most `max_tool_loops` + 1 rounds (M-9.10). A tool's text ends the rounds:
    the calls of that round run, then the text is the reply (D-48).

    A failure of the provider ends in `Deferred`, or goes out when the agent has a listener (D-97); what is no
    `Exception`, as a cancellation, always goes out (M-10.4).
    """
    base = _request(plan, given, speak_task(plan, given))
    call = _Call(given.history)
    while True:
        request = _round(base, given, call, with_tools_left=call.rounds < plan.max_tool_loops)
        call.rounds += 1
        try:
            reply: ModelReply = yield Speak(request)
            _read(reply, request.task, call)
            wanted = _wanted(reply) if request.tools else ()
        except Exception as error:  # a provider may raise anything
            if plan.listener is not None:
                raise  # it goes out of the turn, which is dropped (D-97)
            return _failed(error, given, call)
        if not wanted:
            return _ended(call)
        yield from _use_tools(base, given, reply, wanted, call)
        if call.say is not None:
            return _ended(call)


def _request(plan: AgentPlan, given: SpeakInput, task: SpeakTask) -> ModelRequest:
    """The first round without its tools: what all rounds share."""
    fields = {f.key: plan.fields.get(f.slug) or FieldPlan(f.slug, "string") for f in task.fields}
    return ModelRequest(
        schema_name="speak",
        prompt=speak_prompt(task),
        system=prefix(plan).system,
        history=given.history,
        context=given.context,
        schema=speak_schema(fields),
        task=task,
    )


def _round(base: ModelRequest, given: SpeakInput, call: _Call, *, with_tools_left: bool) -> ModelRequest:
    """The next round's request; tools are in it while their rounds are not used up (M-9.1, M-9.2)."""
    tools = tuple(_by_id(given.tools).values()) if with_tools_left else ()
    if not tools and call.rounds == 0:
        return base
    return ModelRequest(
        schema_name="speak",
        prompt=with_tools(base.prompt, offered=bool(tools), used=call.rounds > 0),
        system=base.system,
        history=call.history,
        context=base.context,
        schema=base.schema,
        task=base.task,
        tools=tuple(ToolSpec(tool.id, tool.id, tool.description, tool.parameters) for tool in tools),
    )


def _by_id(tools: Sequence[ToolPlan]) -> dict[str, ToolPlan]:
    """The tools in their order; of two with one id the first (F-14.7), since providers refuse a name that comes twice."""
    found: dict[str, ToolPlan] = {}
    for tool in tools:
        found.setdefault(tool.id, tool)
    return found


def _read(reply: ModelReply, task: Any, call: _Call) -> None:
    """Takes a round's message and values; a value that is known replaces an earlier one (M-9.4, M-10.1)."""
    call.usage = call.usage + reply.usage if call.usage and reply.usage else call.usage or reply.usage
    envelope = reply.structured if is_object(reply.structured) else salvage_json(reply.message)
    if envelope is None:
        call.message = reply.message if _is_plain(reply.message) else ""
        return
    message = envelope.get("message")
    call.message = message if isinstance(message, str) else ""
    for asked in cast(SpeakTask, task).fields:
        if is_known(value := envelope.get(asked.key)):
            call.values[asked.slug] = value


def _is_plain(text: str) -> bool:
    """Whether a text without an object may go to a customer: a broken envelope never does (M-10.1)."""
    if not is_json_shaped(text):
        return True
    try:
        parse_whole(text)
    except ValueError:
        return False
    return True


def _wanted(reply: ModelReply) -> tuple[ToolCall, ...]:
    """The tools that the round calls; an entry without a name is dropped (M-9.5)."""
    listed = (reply.structured or {}).get("toolCalls")
    entries = map(as_object, listed) if is_list(listed) else ()
    calls = reply.tool_calls or [ToolCall(entry.get("toolName", ""), entry.get("arguments")) for entry in entries]
    named = (call for call in calls if isinstance(cast(Any, call.name), str) and call.name)
    return tuple(ToolCall(call.name, _arguments(call.arguments)) for call in named)


def _arguments(raw: Any) -> Mapping[str, Any]:
    if isinstance(raw, str):
        try:
            raw = parse_whole(raw)
        except ValueError:
            return {}
    return as_object(raw)


def _use_tools(
    base: ModelRequest, given: SpeakInput, reply: ModelReply, wanted: Sequence[ToolCall], call: _Call
) -> Generator[UseTools, list[ToolAnswer], None]:
    """Runs a round's calls and puts them into the history of the next (M-9.6, M-9.8)."""
    tools = _by_id(given.tools)
    context = ToolContext(
        context=given.context,
        data=copy.deepcopy(dict(given.data)) | call.data,
        history=call.history,
        run=given.run,
        now=from_ms(given.now_ms),
    )
    uses = [ToolUse(w.name, tools.get(w.name), w.arguments, context, given.flow) for w in wanted]
    answers: list[ToolAnswer] = []
    for batch in batches(uses):
        answers += yield UseTools(batch)
    for use, answer in zip(uses, answers, strict=True):
        call.data |= answer.data or {}
        call.move = call.move if answer.move is None else (use.name, answer.move)
        call.say = call.say if answer.say is None else (use.name, answer.say)
    call.history = [*call.history, *_opening(base, given, call), *_items(reply, wanted, answers, call)]


def _opening(base: ModelRequest, given: SpeakInput, call: _Call) -> list[HistoryItem]:
    """A user item where the history has none to answer: some providers refuse a tool call without."""
    if call.rounds > 1 or (call.history and call.history[-1].get("role") == "user"):
        return []
    said = given.text if given.text and given.text.strip() else base.prompt
    return [{"role": "user", "content": said}]


def _items(
    reply: ModelReply, wanted: Sequence[ToolCall], answers: Sequence[ToolAnswer], call: _Call
) -> list[HistoryItem]:
    ids = [f"call-{call.rounds - 1}-{index}" for index in range(len(wanted))]
    calls = [{"id": i, "name": w.name, "arguments": w.arguments} for i, w in zip(ids, wanted, strict=True)]
    said: dict[str, Any] = {"role": "assistant", "content": call.message or None, "tool_calls": calls}
    if reply.reasoning is not None:
        said["reasoning"] = reply.reasoning
    if reply.reasoning_details is not None:
        said["reasoningDetails"] = reply.reasoning_details
    results = (
        {"role": "tool", "tool_call_id": id, "name": w.name, "content": answer.content}
        for id, w, answer in zip(ids, wanted, answers, strict=True)
    )
    return [said, *results]


def _ended(call: _Call) -> Spoken | Deferred:
    message = call.message if call.say is None else call.say[1]
    if not message.strip():
        return Deferred(
            code="provider-unavailable", retryable=True, reset_at_ms=None, llm_calls=call.rounds, usage=call.usage
        )
    return Spoken(
        message=message, values=call.values, data=call.data, llm_calls=call.rounds, usage=call.usage,
        verbatim=call.say is not None, move=call.move and call.move[1], by=_tools_behind(call),
    )  # fmt: skip


def _tools_behind(call: _Call) -> str | None:
    """The tools that moved the run or spoke for the model."""
    if call.say is call.move is None:
        return None
    return ", ".join(dict.fromkeys(name for name, _ in filter(None, (call.say, call.move))))


def _failed(error: Exception, given: SpeakInput, call: _Call) -> Deferred:
    code, retryable, reset_at_ms = outcome_of(error, given.now_ms)
    kind = classify(error).kind
    _LOG.warning("the speak call failed: %s", kind, extra=line("speak.failed", given.run, kind=kind, code=code))
    return Deferred(code=code, retryable=retryable, reset_at_ms=reset_at_ms, llm_calls=call.rounds, usage=call.usage)
