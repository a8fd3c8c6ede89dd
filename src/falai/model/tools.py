"""Tool calls on their way through the gates (M-9.6, M-9.7, F-14).

A driver answers `UseTools` with `run_tools`. Whatever a tool does, the model reads text back:
nothing raises here but what is no `Exception`, as a cancellation.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Final

from falai.errors import words_of
from falai.flow.definition import Move, ToFlow
from falai.flow.handlers import ToolResult
from falai.flow.moves import NOTHING, Beside, aim_of, read_beside
from falai.flow.plan import FlowPlan, ToolPlan
from falai.log import line
from falai.model.effects import ToolAnswer, ToolUse, UseTools
from falai.model.lenient import as_object
from falai.model.redaction import without_secrets
from falai.session.jsontext import json_text, quoted, to_plain
from falai.session.model import Run

__all__ = ["batches", "run_tools", "use_tool", "what_raised"]

_LOG: Final = logging.getLogger(__name__)


def batches(calls: Sequence[ToolUse]) -> Iterator[tuple[ToolUse, ...]]:
    """The calls in order: neighbours that are all safe together, every other call alone (M-9.6)."""
    together: list[ToolUse] = []
    for call in calls:
        if _is_safe(call):
            together.append(call)
            continue
        if together:
            yield tuple(together)
            together = []
        yield (call,)
    if together:
        yield tuple(together)


async def use_tool(call: ToolUse) -> ToolAnswer:
    """One call through its gates."""
    from asyncio import CancelledError  # heavy for an import, and there when this runs

    if call.tool is None:
        return _refused("unknown", f"there is no tool named {json_text(call.name)}")
    try:
        return await _refusal(call.tool, call) or await _result(call.tool, call)
    except CancelledError as error:
        if _is_cancelled():
            raise
        return _raised(call.tool, call, error)  # a tool waited for what somebody else had cancelled
    except Exception as error:  # noqa: BLE001  # the model reads what went wrong (M-9.7)
        return _raised(call.tool, call, error)


async def run_tools(
    effect: UseTools, each: Callable[[ToolUse], Coroutine[Any, Any, ToolAnswer]] = use_tool
) -> list[ToolAnswer]:
    """One answer a call, in order; the calls run side by side, `each` of them by this function."""
    if len(effect.calls) == 1:
        return [await each(effect.calls[0])]
    import asyncio  # heavy for an import, and there when this runs

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(each(call)) for call in effect.calls]
    return [task.result() for task in tasks]


def _is_safe(call: ToolUse) -> bool:
    tool = call.tool
    if tool is None:
        return False
    try:
        if tool.is_destructive is not None and tool.is_destructive(call.arguments):
            return False
        harmless = tool.is_concurrency_safe or tool.is_read_only
        return harmless is not None and harmless(call.arguments) is True
    except Exception:  # noqa: BLE001  # a gate that raises counts as not safe
        return False


def _is_cancelled() -> bool:
    """Whether the turn itself is to end."""
    from asyncio import current_task

    task = current_task()
    return task is not None and task.cancelling() > 0


def what_raised(tool_id: str, run: Run | None, error: BaseException) -> str:
    """Logs that a tool raised; gives its words as the model may read them."""
    detail = error if _LOG.isEnabledFor(logging.DEBUG) else None  # its words may be a customer's
    extra = line("tool.raised", run, function=tool_id)
    _LOG.warning("tool %s raised %s", tool_id, type(error).__name__, exc_info=detail, extra=extra)
    return without_secrets(words_of(error))


def _raised(tool: ToolPlan, call: ToolUse, error: BaseException) -> ToolAnswer:
    return _refused(type(error).__name__, what_raised(tool.id, call.context.run, error))


async def _refusal(tool: ToolPlan, call: ToolUse) -> ToolAnswer | None:
    """What stops the call at a gate; `None` lets it pass, and so does a gate that returns nothing."""
    if tool.validate_input is not None:
        verdict = _verdict(await _settled(tool.validate_input(call.arguments, call.context)), "valid")
        if not verdict["valid"]:
            more = {"correctedInput": corrected} if (corrected := verdict.get("correctedInput")) is not None else {}
            return _refused(
                "validation", f"validation failed: {verdict.get('error') or 'the arguments are not valid'}", **more
            )
    if tool.check_permissions is not None:
        verdict = _verdict(await _settled(tool.check_permissions(call.arguments, call.context)), "allowed")
        if not verdict["allowed"]:
            return _refused("permission", f"permission denied: {verdict.get('reason') or 'this call is not allowed'}")
    return None


async def _result(tool: ToolPlan, call: ToolUse) -> ToolAnswer:
    found = _members(await _settled(tool.handler(call.arguments, call.context)))
    beside = _beside(tool, call.flow, found)
    content = _cut(_text(found.value), tool.max_result_size_chars)
    return ToolAnswer(content, to_plain(as_object(found.data), "data"), move=beside.move, say=beside.say)


def _members(found: Any) -> ToolResult:
    """A result as an object. What is neither that nor in wire form is the value itself: words that a
    tool found never get lost."""
    if isinstance(found, ToolResult):
        return found
    if not isinstance(found, Mapping):
        return ToolResult(found)
    members = as_object(found)
    return ToolResult(*(members.get(key) for key in ("value", "data", "move", "say")))


def _beside(tool: ToolPlan, flow: FlowPlan | None, found: ToolResult) -> Beside:
    """The move and the text of a result. Raises `ValueError` for what is wrong, as a handler may raise."""
    if found.move is None and found.say is None:
        return NOTHING
    try:
        beside = read_beside(found.move, found.say, tool.moves)
        if beside.move is not None:
            _check_move(beside.move, flow)
    except ValueError as wrong:
        raise ValueError(f"the tool {quoted(tool.id)} {wrong}") from None
    return beside


def _check_move(move: Move, flow: FlowPlan | None) -> None:
    """A move is one of the run's, in its flow; without a run only a flow can be started."""
    aim = aim_of(move)
    if flow is None and not isinstance(move, ToFlow):
        raise ValueError(f"returned a move to {aim.words}, and there is no run to move")
    if flow is not None and aim.kind == "step" and flow.step(aim.name) is None:
        raise ValueError(f"returned a move to {aim.words}, and the flow {quoted(flow.id)} has no such step")


def _verdict(given: Any, key: str) -> Mapping[str, Any]:
    if given is None:
        return {key: True}
    return {key: given is True, **as_object(given)}


async def _settled(result: Any) -> Any:
    return await result if inspect.isawaitable(result) else result


def _text(value: Any) -> str:
    """What the model reads of a value (F-14.3)."""
    if value is None:
        return '{"ok":true}'
    try:
        plain = to_plain(value)
        return plain if isinstance(plain, str) else json_text(plain)
    except (TypeError, ValueError, RecursionError):
        return "[the tool returned something that cannot be written as JSON]"


def _cut(text: str, limit: int | None) -> str:
    if limit is None or limit <= 0 or len(text) <= limit:
        return text
    return f"{text[:limit]}\n[cut: the result has {len(text)} characters, {limit} are shown]"


def _refused(why: str, error: str, **more: Any) -> ToolAnswer:
    return ToolAnswer(_text({"error": error, **more}), error=why)
