"""Tools on their way to the core: what a handler gets, what becomes of what it gives (D-43 to D-48).

A tool of the 3.x form is `handler(ctx, args)`; a `falai.Tool`, or a function, is called as the core
calls it, with the same context. Whatever a handler does, the model reads something: nothing raises
here but what is no `Exception`. Directives are only noted: they belong to the phase after the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from falai.classic.directive import Directive, members_of
from falai.classic.errors import ToolExecutionError
from falai.classic.handling import HandlerContext, Wants
from falai.classic.hooks import settled
from falai.classic.named import named, snake_name
from falai.classic.options import TOOL
from falai.classic.response import ExecutedStep, ToolCall
from falai.classic.state import CURRENT, Emission, TurnState, check_emitted
from falai.classic.tools import is_tool
from falai.classic.writing import write
from falai.errors import FlowConfigurationError, Problem, words_of
from falai.flow.functions import as_tool, plan_tool
from falai.flow.handlers import ToolContext as CoreContext
from falai.flow.handlers import ToolResult as CoreResult
from falai.flow.places import Place, Wire, is_object
from falai.flow.plan import ToolPlan
from falai.flow.values import is_known
from falai.model.effects import ToolAnswer, ToolUse
from falai.model.tools import what_raised
from falai.session.jsontext import copied, json_text, quoted, show
from falai.session.model import Run

__all__ = ["BoundTool", "ToolContext", "ToolResult", "bound", "call_shorthand", "missing_tool"]

_RESULT = ("data", "success", "error", "directive", "dataUpdate", "contextUpdate")


@dataclass(frozen=True, kw_only=True)
class ToolResult:
    """What a handler may give beside a plain value (D-45); a mapping with one of these members is the same.

    The model reads `data`, or, when `success` is false, that it failed and `error`; an `error` with neither
    `success` nor `data` says as much. `directive` is as if
    it had been dispatched last; `data_update` and `context_update` are written at once.
    """

    data: Any = None
    success: bool | None = None
    error: str | None = None
    directive: Directive | Mapping[str, Any] | None = None
    data_update: Mapping[str, Any] | None = None
    context_update: Mapping[str, Any] | None = None


@dataclass(slots=True, kw_only=True)
class ToolContext(HandlerContext):
    """What a tool's handler gets (D-44).

    `step` is the step that speaks, `None` where no flow does. `metadata` is the session's. `run` and
    `now` are as in a tool of the core.
    """

    step: ExecutedStep | None
    metadata: Mapping[str, Any]
    run: Run | None
    now: datetime

    def get_field(self, key: str) -> Any:
        """The value of a field, `None` when it has none."""
        return self.data.get(key)

    def set_field(self, key: str, value: Any) -> None:
        """Writes one field, as `update_data` does."""
        self.update_data({key: value})

    def has_field(self, key: str) -> bool:
        """Whether the field is known."""
        return is_known(self.data.get(key))


Handler = Callable[[ToolContext, Wire], Any]
_FAILED: Final = "the tool did not succeed"
_CALL: Final[ContextVar[Wants | None]] = ContextVar("falai.classic.call", default=None)


class BoundTool(NamedTuple):
    """A tool as the core calls it, and its handler as a hook calls it."""

    plan: ToolPlan
    run: Handler


def bound(tool: Any) -> BoundTool:
    """The tool, made ready. Raises FlowConfigurationError for what cannot be called as one."""
    plan, run = _made(tool)
    return BoundTool(_adapted(plan, run), run)


def missing_tool(use: ToolUse) -> ToolAnswer:
    """What the model reads of a call of a tool that is not there (D-46)."""
    if (state := CURRENT.get()) is not None:
        state.tool_calls.append(ToolCall(use.name, use.arguments))
    words = json_text({"success": False, "error": f"there is no tool named {quoted(use.name)}"})
    return ToolAnswer(words, error="unknown")


async def call_shorthand(state: TurnState, emitter: str, given: Any) -> None:
    """Calls a step's own `prepare` or `finalize`: a function of context and data, or a tool (D-80).

    Raises what the function raises, and ToolExecutionError when the tool fails.
    """
    if given is None:
        return
    if is_tool(given):
        await _run_as_hook(state, emitter, _found(state, given) if isinstance(given, str) else bound(given))
    else:
        state.emit(emitter, await settled(given(state.context, state.turn.session.data)))


async def _run_as_hook(state: TurnState, emitter: str, tool: BoundTool) -> None:
    """Runs a tool without arguments; what it emits counts as the hook's."""
    plan, run = tool
    call, turn = Wants(state, emitter), state.turn
    context = CoreContext(state.context, turn.session.data, state.history, state.current(), turn.now_at)
    try:
        result = _members(await _handled(call, run, {}, context))
    except Exception as error:
        raise ToolExecutionError(plan.id, words_of(error)) from error
    if _has_failed(result):
        raise ToolExecutionError(plan.id, result.error or _FAILED)
    await _write(call)
    for directive in call.directives:
        state.emit(emitter, directive)


def _found(state: TurnState, id: str) -> BoundTool:
    """The tool with this id, as the current step sees it."""
    run = state.current()
    part = None if run is None else state.compiled.part(run)
    return state.compiled.tools_for(run.flow_id if run else None, part.own if part else None)[id]


def _made(tool: Any) -> tuple[ToolPlan, Handler]:
    """The tool as the core has it, and its handler as 3.x calls it."""
    if is_object(tool):
        wire = named(tool, TOOL)
        if not callable(wire.get("handler")):
            what = f"the tool {quoted(wire['id'])} has as its handler: {show(wire.get('handler'))}"
            raise FlowConfigurationError(Problem("bad-tool", "injectTools", what, "Give it a function of (ctx, args)"))
        return _of_mapping(wire), wire["handler"]
    made = as_tool(tool)
    assert made is not None  # the options are checked
    plan, problems = plan_tool(made, Place(f"tool {quoted(made.id)}"))
    if plan is None:
        raise FlowConfigurationError(problems)
    run = plan.handler
    return plan, lambda context, arguments: run(arguments, context)


def _of_mapping(tool: Wire) -> ToolPlan:
    return ToolPlan(
        tool["id"],
        tool.get("description"),
        tool.get("parameters"),
        tool["handler"],
        tool.get("validateInput"),
        tool.get("checkPermissions"),
        _flag(tool.get("isReadOnly")),
        _flag(tool.get("isConcurrencySafe")),
        _flag(tool.get("isDestructive")),
        tool.get("maxResultSizeChars"),
    )


def _flag(given: Any) -> Callable[[Wire], bool] | None:
    """A flag is an answer, or a function of the arguments."""
    if given is None:
        return None
    return lambda arguments: bool(given(arguments) if callable(given) else given)


def _adapted(plan: ToolPlan, run: Handler) -> ToolPlan:
    """The plan whose handler is the way through here. Its first gate only takes the call's place in the order."""

    def begin(arguments: Wire, _: Any) -> None:
        state = CURRENT.get()
        assert state is not None  # tools are called in a turn
        state.calls.append(Wants(state, f"tool:{plan.id}"))
        state.tool_calls.append(ToolCall(plan.id, arguments))
        _CALL.set(state.calls[-1])

    async def handle(arguments: Wire, context: CoreContext[Any]) -> Any:
        call = _CALL.get()
        assert call is not None  # the gate comes first
        try:
            if refused := await _refusal(plan, arguments, context):
                return refused
            given = await _handled(call, run, arguments, context)
        except Exception as error:  # noqa: BLE001  the model reads what went wrong (D-46)
            call.directives.clear()
            return _failure(what_raised(plan.id, context.run, error))
        await _keep(call)
        return _read(given, _last_reply(call))

    return replace(plan, handler=handle, validate_input=begin, check_permissions=None)


async def _handled(call: Wants, run: Handler, arguments: Wire, context: CoreContext[Any]) -> Any:
    """What the handler gave; what it wants written, and all that it emits, is with the call."""
    state = call.state
    own = ToolContext(
        context=dict(state.context) if is_object(state.context) else state.context,
        data=copied(state.turn.session.data),
        history=context.history,
        step=_step(state, context.run),
        metadata=state.session.metadata,
        run=context.run,
        now=context.now,
        _wants=call,
    )
    given = await settled(run(own, arguments))
    result = _members(given)
    own.update_data(result.data_update or {})
    own.update_context(result.context_update or {})
    own.dispatch(result.directive)
    return given


async def _write(call: Wants) -> None:
    await write(call.state, {"dataUpdate": call.data, "contextUpdate": call.context}, [call.emitter])


async def _keep(call: Wants) -> None:
    """Writes what the call wants written, and puts the emissions of all calls in the order of the calls.

    A hook that raises and an invalid directive end the turn, and not the call alone (D-62, D-81): the
    error is kept for whoever made the turn.
    """
    state = call.state
    try:
        await _write(call)
        for directive in call.directives:
            check_emitted(call.emitter, directive)
    except Exception as error:  # noqa: BLE001  it is raised again behind the speaking call
        state.wrong = state.wrong or error
        call.directives.clear()
    state.emissions = [Emission(made.emitter, directive) for made in state.calls for directive in made.directives]


def _members(given: Any) -> ToolResult:
    """A handler's result; what has none of the members is the value itself (D-45)."""
    if isinstance(given, ToolResult):
        return given
    if isinstance(given, CoreResult):
        return ToolResult(data_update=given.data)
    found = named(given, _RESULT) if is_object(given) else {}
    if not any(name in found for name in _RESULT):
        return ToolResult(data=given)
    return ToolResult(**{snake_name(name): found[name] for name in _RESULT if name in found})


def _read(given: Any, say: str | None) -> CoreResult:
    """What the model reads, and the text that ends the rounds (D-45, D-48)."""
    if isinstance(given, CoreResult):
        return CoreResult(given.value, move=given.move, say=say or given.say)
    result = _members(given)
    return _failure(result.error or _FAILED, say) if _has_failed(result) else CoreResult(result.data, say=say)


def _has_failed(result: ToolResult) -> bool:
    """Also of an error alone: a model that reads that all is well would say so."""
    return result.success is False or (result.success is None and result.data is None and result.error is not None)


def _last_reply(call: Wants) -> str | None:
    replies = [members_of(directive).get("reply") for directive in call.directives]
    return next((reply for reply in reversed(replies) if isinstance(reply, str) and reply.strip()), None)


async def _refusal(plan: ToolPlan, arguments: Wire, context: CoreContext[Any]) -> CoreResult | None:
    """What stops the call at one of the tool's own gates; a gate that gives nothing lets it pass."""
    if plan.validate_input is not None:
        verdict = _verdict(await settled(plan.validate_input(arguments, context)), "valid")
        if not verdict["valid"]:
            return _failure(f"validation failed: {verdict.get('error') or 'the arguments are not valid'}")
    if plan.check_permissions is not None:
        verdict = _verdict(await settled(plan.check_permissions(arguments, context)), "allowed")
        if not verdict["allowed"]:
            return _failure(f"permission denied: {verdict.get('reason') or 'this call is not allowed'}")
    return None


def _verdict(given: Any, key: str) -> Wire:
    if given is None:
        return {key: True}
    return {**given, key: given.get(key) is True} if is_object(given) else {key: given is True}


def _failure(why: str, say: str | None = None) -> CoreResult:
    return CoreResult({"success": False, "error": why}, say=say)


def _step(state: TurnState, run: Run | None) -> ExecutedStep | None:
    if run is None or run.step_id is None:
        return None
    part = state.compiled.part(run)
    return ExecutedStep(run.step_id if part is None else part.own, run.flow_id)
