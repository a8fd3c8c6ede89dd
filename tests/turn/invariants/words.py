"""Words (V-18 to V-23) and calls (V-24 to V-27)."""

from __future__ import annotations

from falai import Event, Message
from falai.model.port import ModelRequest
from turn.conversation import Played
from turn.invariants.registry import invariant

PROVIDER_CODES = frozenset(f"provider-{what}" for what in ("unavailable", "quota", "auth", "context", "invalid"))


def _calls(played: Played, name: str) -> list[ModelRequest]:
    return [request for request in played.requests if request.schema_name == name]


# --- words --------------------------------------------------------------------------------------


@invariant
def v_18(played: Played) -> None:
    """At most one message of kind `ai` in a turn."""
    assert sum(message.kind == "ai" for message in played.done.messages) <= 1


@invariant
def v_19(played: Played) -> None:
    """In a message turn, what went out before the `ai` message is of its run; an idle message is alone, unless a
    tool of the idle speaker started a flow, which speaks after it."""
    messages = played.done.messages
    for index, message in enumerate(messages):
        if message.kind == "ai" and isinstance(played.given.input, Message):
            assert all(earlier.run_id == message.run_id for earlier in messages[:index])
        if message.run_id is None:
            assert index == 0
            started = any(line.kind == "idle" and line.next is not None for line in played.done.outcomes)
            assert len(messages) == 1 or started


@invariant
def v_20(played: Played) -> None:
    """Under silence: no messages, no speak call; without `understand` no call at all."""
    silenced = played.given.silenced
    if silenced is not None:
        understands = isinstance(silenced, dict) and silenced["understand"]
        assert not played.done.messages
        assert not _calls(played, "speak")
        assert understands or not played.requests


@invariant
def v_21(played: Played) -> None:
    """`lastAssistantAt` is now if the assistant said something in this turn; else it is as before."""
    outbound = isinstance(played.given.input, Event) and played.given.input.name == "out"
    spoke = bool(played.done.messages) or any(act.spoke for act in played.acted) or outbound
    assert played.after.last_assistant_at == (played.given.now if spoke else played.before.last_assistant_at)


@invariant
def v_22(played: Played) -> None:
    """A message that nobody answers: somebody asks, an action spoke, or a call failed."""
    listens = isinstance(played.given.input, Message) and played.given.silenced is None and not played.ignored
    if listens and played.agent.plan.idle is not None and not played.done.messages:
        asking = any(run.status == "asking" for run in played.after.runs)
        failed = any(line.code in PROVIDER_CODES for line in played.done.outcomes)
        assert asking or failed or any(act.spoke for act in played.acted)


@invariant
def v_23(played: Played) -> None:
    """What the model phrased is never blank; `afterMs` is a whole number, 0 or more."""
    for message in played.done.messages:
        assert message.kind != "ai" or message.text.strip()
        assert type(message.after_ms) is int
        assert message.after_ms >= 0


# --- calls --------------------------------------------------------------------------------------


@invariant
def v_24(played: Played) -> None:
    """`llmCalls` is what the provider saw: one summary, one understand before any speak, so many rounds."""
    names = [request.schema_name for request in played.requests]
    assert played.done.llm_calls == len(names)
    assert names.count("summary") <= 1
    assert names.count("understand") <= 1
    assert names.count("speak") <= played.agent.plan.max_tool_loops + 1
    assert names == sorted(names, key=["summary", "understand", "speak"].index) or names[:1] == ["understand"]
    assert "understand" not in names or names.index("understand") <= names.count("summary")


@invariant
def v_25(played: Played) -> None:
    """No understand call unless the input is a message."""
    assert isinstance(played.given.input, Message) or not _calls(played, "understand")


@invariant
def v_26(played: Played) -> None:
    """No call in an ignored turn."""
    assert not (played.ignored and played.requests)


@invariant
def v_27(played: Played) -> None:
    """The last speak call of a turn that used tools up to the limit offers none."""
    speaks = _calls(played, "speak")
    if len(speaks) == played.agent.plan.max_tool_loops + 1:
        assert not speaks[-1].tools
