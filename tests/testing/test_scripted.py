"""The scripted model: what it returns, records and refuses (M-23)."""

from __future__ import annotations

import pytest

from falai import ProviderError
from falai.model.port import ModelReply, ModelRequest, ToolCall, Usage
from falai.model.tasks import SummaryTask
from falai.testing import Pieces, Scripted, ScriptedModel

SUMMARY = SummaryTask(items=())


def _request(name: str = "speak", prompt: str = "Say hello.", system: str | None = "You are Ana.") -> ModelRequest:
    return ModelRequest(
        schema_name=name,  # type: ignore[arg-type]  # a test passes the three names
        prompt=prompt,
        system=system,
        history=(),
        context=None,
        schema={},
        task=SUMMARY,
    )


async def test_a_queue_for_each_schema_name() -> None:
    """A call takes the next reply of its own queue (M-23.1, M-23.2)."""
    model = ScriptedModel({"speak": [{"message": "one"}, {"message": "two"}], "understand": [{"asks": True}]})
    first = await model.complete(_request())
    judged = await model.complete(_request("understand"))
    second = await model.complete(_request())
    assert (first.message, second.message) == ("one", "two")
    assert first.structured == {"message": "one"}
    assert first.model == "mock"
    assert judged.message == '{"asks":true}'
    assert model.remaining() == {}


async def test_what_an_entry_may_be() -> None:
    """An object, bare text, a whole reply, a function of the request, an exception to raise (M-23.1, M-23.7)."""

    def echo(request: ModelRequest) -> Scripted:
        return {"message": request.prompt}

    whole = ModelReply(message="", tool_calls=(ToolCall("look", {}),))
    down = ProviderError("down", kind="overload")
    model = ScriptedModel({"speak": ["bare", whole, echo, lambda _: down, down, {"message": 7}]})
    bare = await model.complete(_request())
    assert (bare.message, bare.structured) == ("bare", None)
    assert await model.complete(_request()) is whole
    assert (await model.complete(_request(prompt="ping"))).message == "ping"
    for _ in range(2):
        with pytest.raises(ProviderError) as raised:
            await model.complete(_request())
        assert raised.value is down
    assert (await model.complete(_request())).message == '{"message":7}'


async def test_an_unforeseen_call_raises() -> None:
    """A call without a reply left raises a plain exception with the schema name and the number (M-23.3)."""
    model = ScriptedModel({"speak": [{"message": "one"}]})
    await model.complete(_request())
    with pytest.raises(RuntimeError, match=r'call 2, which is "understand" number 1') as raised:
        await model.complete(_request("understand"))
    assert not isinstance(raised.value, ProviderError)
    with pytest.raises(RuntimeError, match=r'call 3, which is "speak" number 2'):
        await model.complete(_request())


async def test_every_call_is_recorded() -> None:
    """Also one that fails: name, prompt, system, both together, and the whole request (M-23.4)."""
    model = ScriptedModel()
    request = _request()
    with pytest.raises(RuntimeError):
        await model.complete(request)
    (call,) = model.calls
    assert (call.schema_name, call.prompt, call.system) == ("speak", "Say hello.", "You are Ana.")
    assert call.text == "You are Ana.\n\nSay hello."
    assert call.request is request


async def test_what_is_left() -> None:
    """`remaining` gives the replies that no call took; `feed` adds to them; `clear` forgets everything."""
    model = ScriptedModel({"speak": [{"message": "one"}], "understand": []})
    model.feed("summary", "short")
    model.feed("speak", "two")
    assert model.remaining() == {"speak": [{"message": "one"}, "two"], "summary": ["short"]}
    await model.complete(_request())
    model.clear()
    assert (model.remaining(), model.calls) == ({}, [])


async def test_usage_is_off_by_default() -> None:
    """With the switch on, characters count as tokens; a reply's own usage stays (M-23.5)."""
    own = Usage(1, 2, 3)
    script: list[Scripted] = [{"message": "olá"}, ModelReply(message="x", usage=own)]
    silent, counting = ScriptedModel({"speak": script}), ScriptedModel({"speak": script}, usage=True)
    assert (await silent.complete(_request())).usage is None
    assert (await counting.complete(_request())).usage == Usage(len("You are Ana.Say hello."), 3, 0)
    assert (await counting.complete(_request())).usage is own


async def test_streaming() -> None:
    """One chunk with everything, or the pieces that the script gives; the last one carries the reply (M-23.7)."""
    model = ScriptedModel({"speak": [{"message": "all"}, Pieces(["Hel", "lo"], structured={"message": "Hello"})]})
    (only,) = [chunk async for chunk in model.stream(_request())]
    assert (only.delta, only.accumulated) == ("all", "all")
    assert only.reply is not None
    assert only.reply.structured == {"message": "all"}
    first, last = [chunk async for chunk in model.stream(_request())]
    assert (first.delta, first.accumulated, first.reply) == ("Hel", "Hel", None)
    assert (last.delta, last.accumulated) == ("lo", "Hello")
    assert last.reply is not None
    assert (last.reply.message, last.reply.structured) == ("Hello", {"message": "Hello"})


async def test_a_stream_raises_as_a_call_does() -> None:
    """An exception of the script, and an empty script, are raised by the iteration."""
    model = ScriptedModel({"speak": [ProviderError("down")]})
    with pytest.raises(ProviderError):
        [chunk async for chunk in model.stream(_request())]
    with pytest.raises(RuntimeError, match="speak"):
        [chunk async for chunk in model.stream(_request())]
