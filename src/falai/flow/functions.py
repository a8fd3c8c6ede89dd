"""Actions and tools: an author's functions and what is said of them (F-12, F-14).

A handler gets its context first and its parameters by name. `@action` and `@tool` say what a
signature cannot; `Action` and `Tool` are made from data. A function is never changed or wrapped by
a decorator: it keeps its type, and what was said of it is kept beside it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, TypeVar, cast

from falai.errors import Problem
from falai.flow.definition import ActionFunction, Move, Param
from falai.flow.fields import read_parameters
from falai.flow.handlers import ActionContext, ToolContext, ToolResult, failed
from falai.flow.moves import Aim, read_aims
from falai.flow.places import Place
from falai.flow.plan import ActionPlan, ParamPlan, ToolPlan
from falai.flow.signatures import Parameter, arguments_of, described, json_schema, read_signature, takes_anything
from falai.flow.wire import action_name, to_wire
from falai.session.jsontext import show

__all__ = [
    "Action",
    "Param",
    "Tool",
    "ToolFunction",
    "action",
    "as_action",
    "as_tool",
    "plan_action",
    "plan_tool",
    "tool",
]

ToolFunction = Callable[..., ToolResult | None] | Callable[..., Awaitable[ToolResult | None]]
Arguments = Mapping[str, Any]
Flag = bool | Callable[[Arguments], bool] | None
Gate = Callable[[Arguments, ToolContext[Any]], Any]
Moves = Sequence[Move | Mapping[str, Any]] | None

A = TypeVar("A", bound=ActionFunction)
T = TypeVar("T", bound=ToolFunction)

ACTION, TOOL = "__falai_action__", "__falai_tool__"

_CODE = "bad-definition"


@dataclass(frozen=True)
class Action:
    """A host action: `run(context, **parameters)`, sync or async (F-12.1).

    `parameters` are parameter definitions in wire form (F-12.2); without them the signature counts.
    `moves` says where its result may send the run: ids of steps, which every flow that runs it has,
    `"end"`, `ToFlow("<flow>")`, `Reset()`. Without it, a result that moves is a failure.
    """

    name: str
    run: ActionFunction
    _: KW_ONLY
    parameters: Mapping[str, Any] | None = None
    description: str | None = None
    moves: Moves = None


@dataclass(frozen=True)
class Tool:
    """A tool of the model: `handler(context, **arguments)`, sync or async (F-14.1).

    `parameters` is a JSON schema; without one the handler's signature counts, unless it takes any
    keyword. `validate_input` and `check_permissions` are called as `gate(arguments, context)`; the
    flags are answers, or functions of the arguments. `moves` says where its result may send the run;
    the id of a step counts in each flow that has such a step.
    """

    id: str
    handler: ToolFunction
    _: KW_ONLY
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    validate_input: Gate | None = None
    check_permissions: Gate | None = None
    read_only: Flag = None
    concurrency_safe: Flag = None
    destructive: Flag = None
    max_result_size_chars: int | None = None
    moves: Moves = None


def action(*, name: str | None = None, description: str | None = None, moves: Moves = None) -> Callable[[A], A]:
    """Says what a function's signature cannot: its wire name (default: its own), what it is for, and where
    its result may send the run."""

    def mark(function: A) -> A:
        said = Action(name or function.__name__, function, description=description, moves=moves)
        setattr(function, ACTION, said)
        return function

    return mark


def tool(
    *,
    id: str | None = None,  # the wire name
    description: str | None = None,
    validate_input: Gate | None = None,
    check_permissions: Gate | None = None,
    read_only: Flag = None,
    concurrency_safe: Flag = None,
    destructive: Flag = None,
    max_result_size_chars: int | None = None,
    moves: Moves = None,
) -> Callable[[T], T]:
    """Says what a function's signature cannot: the tool's id (default: its name), gates, flags, and where
    its result may send the run."""

    def mark(function: T) -> T:
        said = Tool(
            id or function.__name__,
            function,
            description=description,
            validate_input=validate_input,
            check_permissions=check_permissions,
            read_only=read_only,
            concurrency_safe=concurrency_safe,
            destructive=destructive,
            max_result_size_chars=max_result_size_chars,
            moves=moves,
        )
        setattr(function, TOOL, said)
        return function

    return mark


def as_action(given: Any) -> Action | None:
    """The action of a function or an `Action`; `None` for anything else."""
    if isinstance(given, Action):
        return given
    if not callable(given):
        return None
    function = cast("ActionFunction", given)
    said: Action | None = getattr(function, ACTION, None)
    return replace(said, run=function) if said else Action(action_name(function), function)


def as_tool(given: Any) -> Tool | None:
    """The tool of a function or a `Tool`; `None` for anything else."""
    if isinstance(given, Tool):
        return given
    if not callable(given):
        return None
    function = cast("ToolFunction", given)
    said: Tool | None = getattr(function, TOOL, None)
    return replace(said, handler=function) if said else Tool(action_name(function), function)


def plan_action(action: Action, place: Place) -> tuple[ActionPlan | None, list[Problem]]:
    """The plan of an action, or what is wrong with it (F-12.2)."""
    if wrong := _no_function("run", action.run, place):
        return None, wrong
    problems = _text_problems(action.description, place)
    if action.parameters is None:
        parameters, unfit = read_signature(action.run)
        problems += [place.problem(_CODE, f"the function cannot be an action: {why}", _FIX) for why in unfit]
        plans: tuple[ParamPlan | None, ...] = tuple(p.plan for p in parameters)
        run = _checked_run(action.run, parameters)
    else:
        found, unfit_ones = read_parameters(to_wire(action.parameters), place.key("parameters"))
        problems += unfit_ones
        plans, run = tuple(found.values()), _plain_run(action.run)
    moves, unread = read_aims(action.moves, place)
    if problems := [*problems, *unread]:
        return None, problems
    description = action.description or described(action.run)
    return ActionPlan(action.name, description, tuple(p for p in plans if p), run, moves), []


def plan_tool(tool: Tool, place: Place) -> tuple[ToolPlan | None, list[Problem]]:
    """The plan of a tool, or what is wrong with it; its schema is looked at later (A4)."""
    if wrong := _no_function("handler", tool.handler, place):
        return None, wrong
    moves, problems = read_aims(tool.moves, place)
    problems = [*_text_problems(tool.description, place), *problems]
    if tool.parameters is None and not takes_anything(tool.handler):
        parameters, unfit = read_signature(tool.handler)
        problems += [place.problem(_CODE, f"the function cannot be a tool: {why}", _FIX) for why in unfit]
        made = _tool_of_signature(tool, moves, parameters)
    else:
        made = _tool_plan(tool, moves, tool.parameters, _plain_handler(tool.handler), tool.validate_input)
    return (None, problems) if problems else (made, [])


_FIX = "Write ctx, then parameters of the types str, int, float, bool, Literal or list, or others that pydantic knows"


def _no_function(key: str, given: object, place: Place) -> list[Problem]:
    if callable(given):
        return []
    fix = "Give it a function of (ctx, its parameters)"
    return [place.key(key).problem(_CODE, f"{key} is {show(given)}", fix)]


def _text_problems(description: Any, place: Place) -> list[Problem]:
    if description is None or isinstance(description, str):
        return []
    return [place.key("description").problem(_CODE, f"description is {show(description)}", "Write text")]


def _plain_run(run: Callable[..., Any]) -> Callable[[Any, Arguments], Any]:
    return lambda context, parameters: run(context, **parameters)


def _checked_run(run: Callable[..., Any], parameters: list[Parameter]) -> Callable[[Any, Arguments], Any]:
    """A value that the function's own types refuse is a failure of the action, not of the turn."""

    def call(context: ActionContext[Any], given: Arguments) -> Any:
        try:
            values = arguments_of(parameters, given)
        except ValueError as error:
            return failed(str(error))
        return run(context, **values)

    return call


def _plain_handler(handler: Callable[..., Any]) -> Callable[[Arguments, Any], Any]:
    return lambda arguments, context: handler(context, **arguments)


def _tool_of_signature(tool: Tool, moves: tuple[Aim, ...], parameters: list[Parameter]) -> ToolPlan:
    def handle(arguments: Arguments, context: Any) -> Any:
        return tool.handler(context, **arguments_of(parameters, arguments))

    def validate(arguments: Arguments, context: Any) -> Any:
        try:
            arguments_of(parameters, arguments)
        except ValueError as error:
            return {"valid": False, "error": str(error)}
        return None if tool.validate_input is None else tool.validate_input(arguments, context)

    return _tool_plan(tool, moves, json_schema(parameters), handle, validate)


def _tool_plan(
    tool: Tool,
    moves: tuple[Aim, ...],
    parameters: Mapping[str, Any] | None,
    handler: Callable[[Arguments, Any], Any],
    validate: Gate | None,
) -> ToolPlan:
    return ToolPlan(
        tool.id,
        tool.description or described(tool.handler),
        parameters,
        handler,
        validate,
        tool.check_permissions,
        _flag(tool.read_only),
        _flag(tool.concurrency_safe),
        _flag(tool.destructive),
        tool.max_result_size_chars,
        moves,
    )


def _flag(given: Flag) -> Callable[[Arguments], bool] | None:
    if given is None or callable(given):
        return given
    return lambda _: given
