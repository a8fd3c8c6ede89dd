"""Tool calls through their gates (M-9.6, M-9.7, F-14)."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from falai.flow.handlers import ToolContext, ToolResult
from falai.flow.plan import ToolPlan
from falai.model.effects import ToolAnswer, ToolUse, UseTools
from falai.model.tools import batches, run_tools

CONTEXT: ToolContext[Any] = ToolContext(None, {}, [], None, datetime(2026, 9, 20, tzinfo=UTC))


def _nothing(args: Any, ctx: Any) -> None:
    return None


def _use(id: str = "t", handler: Callable[[Mapping[str, Any], Any], Any] = _nothing, **gates: Any) -> ToolUse:
    return ToolUse(id, ToolPlan(id, None, None, handler, **gates), {"a": 1}, CONTEXT)


async def _answer(use: ToolUse) -> ToolAnswer:
    return (await run_tools(UseTools((use,))))[0]


async def _error(use: ToolUse) -> Any:
    return json.loads((await _answer(use)).content)


def _yes(args: Any) -> bool:
    return True


def _no(args: Any) -> bool:
    return False


def _raises(*args: Any) -> Any:
    raise RuntimeError("gate down")


@pytest.mark.parametrize(
    ("gates", "safe"),
    [
        ({}, False),
        ({"is_read_only": _yes}, True),
        ({"is_read_only": _yes, "is_concurrency_safe": _no}, False),
        ({"is_concurrency_safe": _yes}, True),
        ({"is_concurrency_safe": _yes, "is_destructive": _yes}, False),
        ({"is_concurrency_safe": _yes, "is_destructive": _no}, True),
        ({"is_concurrency_safe": _raises}, False),
        ({"is_read_only": _yes, "is_destructive": _raises}, False),
    ],
)
def test_which_calls_are_safe(gates: dict[str, Any], safe: bool) -> None:
    """Safe neighbours run together; a gate that raises counts as not safe (M-9.6)."""
    calls = [_use("a", **gates), _use("b", **gates)]
    assert [len(batch) for batch in batches(calls)] == ([2] if safe else [1, 1])


def test_batches_keep_the_order() -> None:
    """Maximal runs of safe calls; an unknown tool is never safe."""
    calls = [
        _use("a", is_read_only=_yes), _use("b", is_read_only=_yes), _use("c"), _use("d", is_read_only=_yes),
        ToolUse("gone", None, {}, CONTEXT), _use("e", is_read_only=_yes), _use("f", is_read_only=_yes),
    ]  # fmt: skip
    assert [[call.name for call in batch] for batch in batches(calls)] == [
        ["a", "b"],
        ["c"],
        ["d"],
        ["gone"],
        ["e", "f"],
    ]


async def test_a_batch_runs_side_by_side_and_answers_in_order() -> None:
    """Whatever finishes first (M-9.6)."""
    started: list[str] = []
    all_started = asyncio.Event()

    def handler(name: str) -> Any:
        async def run(args: Any, ctx: Any) -> Any:
            started.append(name)
            if len(started) == 2:
                all_started.set()
            await all_started.wait()  # only both together get past this
            return {"value": name, "data": {name: 1}}

        return run

    answers = await run_tools(UseTools((_use("a", handler("a")), _use("b", handler("b")))))
    assert answers == [ToolAnswer("a", {"a": 1}), ToolAnswer("b", {"b": 1})]


@pytest.mark.parametrize(
    ("result", "content", "data"),
    [
        ("bare words", "bare words", {}),
        ([1, "a"], '[1,"a"]', {}),
        (None, '{"ok":true}', {}),
        ({}, '{"ok":true}', {}),
        ({"value": "text"}, "text", {}),
        ({"value": "half a \ud83d"}, "half a \ufffd", {}),
        ({"value": {"left": 3, "é": [1.0, None]}}, '{"left":3,"é":[1,null]}', {}),
        ({"value": False}, "false", {}),
        ({"value": "x", "data": {"k": None}}, "x", {"k": None}),
        ({"value": "x", "data": "no object"}, "x", {}),
        (ToolResult({"n": 1}, {"k": 2}), '{"n":1}', {"k": 2}),
        (ToolResult(), '{"ok":true}', {}),
    ],
)
async def test_what_the_model_reads_of_a_result(result: Any, content: str, data: Any) -> None:
    """F-14.3, F-14.4; sync and async handlers alike."""

    async def later(args: Any, ctx: Any) -> Any:
        return result

    for handler in (lambda args, ctx: result, later):
        answer = await _answer(_use(handler=handler))
        assert (answer.content, answer.data or {}) == (content, data)


async def test_a_value_without_a_json_form_is_said_to_be_one() -> None:
    """It does not raise (F-14.3)."""
    answer = await _answer(_use(handler=lambda args, ctx: {"value": object(), "data": {"k": 1}}))
    assert "JSON" in answer.content
    assert answer.data == {"k": 1}


@pytest.mark.parametrize(("limit", "cut"), [(None, False), (0, False), (-1, False), (10, False), (9, True)])
async def test_a_long_result_is_cut_with_a_notice(limit: int | None, cut: bool) -> None:
    """The notice stands on a line of its own and holds both lengths (M-9.7)."""
    use = _use(handler=lambda args, ctx: {"value": "0123456789"}, max_result_size_chars=limit)
    content = (await _answer(use)).content
    if cut:
        assert content.startswith("012345678\n[")
        assert all(length in content for length in ("10", "9"))
    else:
        assert content == "0123456789"


async def test_an_unknown_tool_is_named() -> None:
    """M-9.7, first row."""
    assert '"pay"' in (await _error(ToolUse("pay", None, {}, CONTEXT)))["error"]


async def test_gates_stop_a_call_in_their_order() -> None:
    """Validation first, permission second; the handler does not run (M-9.7)."""
    ran: list[str] = []

    def handler(args: Any, ctx: Any) -> None:
        ran.append("handler")

    def invalid(args: Any, ctx: Any) -> Any:
        return {"valid": False, "error": "no such day", "correctedInput": {"a": 2}}

    async def forbidden(args: Any, ctx: Any) -> Any:
        return {"allowed": False, "reason": "too late"}

    found = await _error(_use(handler=handler, validate_input=invalid, check_permissions=_raises))
    assert "validation" in found["error"]
    assert "no such day" in found["error"]
    assert found["correctedInput"] == {"a": 2}
    found = await _error(_use(handler=handler, validate_input=lambda a, c: {"valid": False}))
    assert list(found) == ["error"]
    found = await _error(
        _use(handler=handler, validate_input=lambda a, c: {"valid": True}, check_permissions=forbidden)
    )
    assert "permission" in found["error"]
    assert "too late" in found["error"]
    assert ran == []


async def test_a_gate_that_returns_nothing_lets_the_call_pass() -> None:
    """M-9.7."""
    use = _use(handler=lambda a, c: {"value": "done"}, validate_input=_nothing, check_permissions=_nothing)
    assert (await _answer(use)).content == "done"


@pytest.mark.parametrize("where", ["handler", "validate_input", "check_permissions"])
async def test_what_raises_is_read_by_the_model_and_logged(where: str, caplog: pytest.LogCaptureFixture) -> None:
    """The exception's text; nothing gets out (M-9.7)."""
    use = _use(**{where: _raises})
    with caplog.at_level(logging.WARNING, logger="falai"):
        assert await _error(use) == {"error": "gate down"}
    assert len(caplog.records) == 1


async def test_a_nameless_exception_has_at_least_its_kind() -> None:
    """An empty text would tell the model nothing."""

    def handler(args: Any, ctx: Any) -> None:
        raise KeyError

    assert await _error(_use(handler=handler)) == {"error": "KeyError"}


async def test_an_exception_without_words_has_its_kind() -> None:
    """What raises when it is put into words is still only the tool's failure."""

    class SpeechlessError(Exception):
        def __str__(self) -> str:
            raise ValueError("no words")

    def handler(args: Any, ctx: Any) -> None:
        raise SpeechlessError

    assert await _error(_use(handler=handler)) == {"error": "SpeechlessError"}


async def test_cancelling_the_turn_cancels_its_tools() -> None:
    """Cancellation is no tool's failure: it goes out, and every running tool is stopped."""
    stopped: list[str] = []

    async def handler(args: Any, ctx: Any) -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            stopped.append("one")
            raise

    task = asyncio.create_task(run_tools(UseTools((_use(handler=handler), _use(handler=handler)))))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert stopped == ["one", "one"]


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_tool_that_waits_for_something_cancelled_has_failed(calls: int) -> None:
    """Only the turn's own cancellation goes out; this one the model reads (M-9.7)."""

    async def handler(args: Any, ctx: Any) -> None:
        other = asyncio.create_task(asyncio.sleep(60))
        other.cancel()
        await other

    answers = await run_tools(UseTools((_use(handler=handler),) * calls))
    assert [json.loads(answer.content) for answer in answers] == [{"error": "CancelledError"}] * calls
