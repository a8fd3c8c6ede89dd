from __future__ import annotations

from typing import Any

import pytest

from classic.talking import Talk, flow
from falai.classic.errors import DataValidationError, ToolExecutionError


class Log:
    """Hooks that note that they were called."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def hooks(self, name: str, *kinds: str) -> dict[str, Any]:
        return {kind: self._hook(f"{name}.{kind}") for kind in kinds}

    def function(self, name: str, directive: Any = None) -> Any:
        def call(context: Any, data: Any) -> Any:
            self.lines.append(name)
            return directive

        return call

    def _hook(self, name: str) -> Any:
        def call(ctx: Any, *reason: str) -> None:
            self.lines.append(" ".join((name, *reason)))

        return call

    def taken(self) -> list[str]:
        taken, self.lines = self.lines, []
        return taken


STEP = ("onEnter", "prepare", "finalize", "onExit")


def step(id: str, log: Log, **options: Any) -> dict[str, Any]:
    return {
        "id": id, "prompt": f"Step {id}.", "prepare": log.function(f"{id}:prepare"),
        "finalize": log.function(f"{id}:finalize"), "hooks": log.hooks(id, *STEP), **options,
    }  # fmt: skip


def test_the_hooks_of_a_flow_are_called_in_their_order() -> None:
    """D-16, D-80: each of a step once per entry, `prepare` and `finalize` around each utterance."""
    log = Log()
    talk = Talk(flow("A", step("a1", log), step("a2", log), hooks=log.hooks("A", "onEnter", "onExit", "onComplete")))
    talk.says(speak="One.")
    assert log.taken() == ["A.onEnter", "a1.onEnter", "a1:prepare", "a1.prepare", "a1:finalize", "a1.finalize"]
    talk.says(speak="Two.")
    assert log.taken() == [
        "a1.onExit completed", "a2.onEnter", "a2:prepare", "a2.prepare", "a2:finalize", "a2.finalize",
        "a2.onExit completed", "A.onExit completed", "A.onComplete",
    ]  # fmt: skip


def test_a_step_that_asks_again_is_prepared_again_and_not_entered() -> None:
    """D-80: `prepare` before each utterance, `onEnter` once per entry."""
    log = Log()
    talk = Talk(flow("A", step("a1", log, collect=["size"]), step("a2", log)))
    talk.says(understand={"fields": {}}, speak="Size?")
    log.taken()
    talk.says(understand={"fields": {}}, speak="Size?")
    assert log.taken() == ["a1:prepare", "a1.prepare", "a1:finalize", "a1.finalize"]


def test_an_auto_step_is_entered_and_prepared() -> None:
    """D-80: `prepare` is the run of an auto step."""
    log = Log()
    auto = {
        "id": "go",
        "auto": True,
        "prepare": log.function("go"),
        "hooks": log.hooks("go", "onEnter", "prepare", "onExit"),
    }
    talk = Talk(flow("A", auto, step("a1", log), hooks=log.hooks("A", "onEnter")))
    talk.says(speak="One.")
    assert log.taken()[:5] == ["A.onEnter", "go.onEnter", "go", "go.prepare", "go.onExit completed"]


def test_a_flow_that_passes_over_steps_until_its_limit_ends_it_was_not_entered() -> None:
    """Nor is it left, though of so many steps a run keeps only the last lines (D-80)."""
    log = Log()
    asks = step("ask", log, collect=["size"], branches=[{"then": "ask"}])
    talk = Talk(flow("A", asks, hooks=log.hooks("A", "onEnter", "onExit")))
    result = talk.says(understand={"fields": {"size": 4}}, speak="Hello.")
    assert [end.run.outcomes[-1].code for end in result.ended] == ["step-loop"]
    assert log.taken() == []


def test_a_step_where_all_is_known_is_not_entered_and_does_not_enter_the_flow() -> None:
    """D-80: the flow is entered with the first thing that it does, also behind such a step."""
    log = Log()
    asks = step("ask", log, collect=["size"])
    talk = Talk(flow("A", asks, step("a1", log), step("a2", log), hooks=log.hooks("A", "onEnter")))
    talk.says(understand={"fields": {"size": 4}}, speak="One.")
    assert log.taken() == ["A.onEnter", "a1.onEnter", "a1:prepare", "a1.prepare", "a1:finalize", "a1.finalize"]
    talk.says(speak="Two.")
    assert log.taken()[:2] == ["a1.onExit completed", "a2.onEnter"]


@pytest.mark.parametrize(
    ("directive", "reason"),
    [
        ({"goTo": "B"}, "goto_flow"),
        ({"goToStep": "a3"}, "goto_step"),
        ({"abort": "x"}, "aborted"),
        ({"complete": True}, "completed"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else value,
)
def test_what_is_left_hears_why(directive: Any, reason: str) -> None:
    """D-80: `onExit` of the step, and of the flow when that is left."""
    log = Log()
    a = flow(
        "A",
        step("a1", log, finalize=log.function("f", directive)),
        step("a2", log),
        step("a3", log),
        hooks=log.hooks("A", "onExit"),
    )
    talk = Talk(a, flow("B", {"id": "b1", "prompt": "B."}, when="never"))
    talk.says(understand={"flows": {"a": 90}}, speak="One.")
    exits = [entry for entry in log.taken() if "onExit" in entry]
    assert exits == [f"a1.onExit {reason}", *([f"A.onExit {reason}"] if reason != "goto_step" else [])]


def test_a_step_that_waits_unspoken_is_entered_when_it_speaks() -> None:
    """D-94, D-80: `onEnter` comes before it speaks, with the next message."""
    log = Log()
    a = flow("A", step("a1", log, finalize=log.function("f", {"goTo": "B"})))
    talk = Talk(a, flow("B", step("b1", log), hooks=log.hooks("B", "onEnter"), when="never"))
    talk.says(understand={"flows": {"a": 90}}, speak="One.")
    assert not any(entry.startswith(("B", "b1")) for entry in log.taken())
    talk.says(understand={"flows": {"b": 90}}, speak="B.")
    assert log.taken()[:2] == ["B.onEnter", "b1.onEnter"]


def test_a_flow_that_is_left_before_it_was_entered_has_nothing_to_leave() -> None:
    """D-80: a step that waited unspoken, and is left by a redirect, hears nothing."""
    log = Log()
    a = flow("A", step("a1", log, finalize=log.function("f", {"goTo": "B"})))
    signals = [
        {"id": "s", "phase": "pre", "if": lambda ctx: ctx.context.get("go"), "handler": lambda ctx: {"goTo": "C"}}
    ]
    b = flow("B", step("b1", log), hooks=log.hooks("B", "onExit"), when="never")
    talk = Talk(a, b, flow("C", {"id": "c1", "prompt": "C."}, when="never"), signals=signals)
    talk.says(understand={"flows": {"a": 90}}, speak="One.")
    log.taken()
    talk.context["go"] = True
    talk.says(understand={"flows": {"b": 90}}, speak="C.")
    assert log.taken() == []


def test_a_flow_is_entered_once_however_its_first_step_was_left() -> None:
    """D-80: an auto step that a branch led on; a step that moved on before it said anything; one that asked for what it requires."""
    log = Log()
    auto = {"id": "go", "auto": True, "branches": [{"then": "a1"}]}
    talk = Talk(flow("A", auto, {"id": "a1", "prompt": "One."}, step("a2", log), hooks=log.hooks("A", "onEnter")))
    talk.says(speak="One.")
    talk.says(speak="Two.")
    assert log.taken().count("A.onEnter") == 1

    moves = iter([{"goToStep": "a2", "halt": True}, None])
    first = {"id": "a1", "prompt": "One.", "prepare": lambda *_: next(moves)}
    talk = Talk(flow("A", first, {"id": "a2", "prompt": "Two."}, hooks=log.hooks("A", "onEnter")))
    talk.says()
    talk.says(speak="Two.")
    assert log.taken() == ["A.onEnter"]

    needy = {"id": "a1", "prompt": "One.", "requires": ["name"]}
    talk = Talk(flow("A", needy, {"id": "a2", "prompt": "Two."}, hooks=log.hooks("A", "onEnter")))
    talk.says(understand={"fields": {}}, speak="Name?")
    talk.says(understand={"fields": {"name": "Ana"}}, speak="One.")
    assert log.taken() == ["A.onEnter"]


def test_a_flow_whose_premise_fails_is_left_before_another_is_entered() -> None:
    """D-80, D-95: `onExit` comes when it is left, also when the core ends it by itself."""
    log, open_ = Log(), iter([True, False])
    a = flow(
        "A", step("a1", log), step("a2", log), hooks=log.hooks("A", "onExit"), **{"if": lambda _: next(open_, False)}
    )
    b = flow("B", step("b1", log), hooks=log.hooks("B", "onEnter"), when="else")
    talk = Talk(a, b)
    talk.says(understand={"flows": {"a": 90}}, speak="One.")
    talk.says(understand={"flows": {"b": 90}}, speak="B.")
    heard = [entry for entry in log.taken() if entry.startswith(("A.", "B."))]
    assert heard == ["A.onExit aborted", "B.onEnter"]


# --- errors -------------------------------------------------------------------------------------


def raising(*given: Any) -> Any:
    raise LookupError("gone")


@pytest.mark.parametrize("place", ["prepare", "hooks.onEnter", "hooks.prepare", "onComplete", "onEnter"])
def test_these_hooks_raise_out_of_the_turn(place: str) -> None:
    """D-81."""
    own: dict[str, Any] = {"id": "a1", "prompt": "One."}
    hooks: dict[str, Any] = {}
    if place == "prepare":
        own["prepare"] = raising
    elif place.startswith("hooks."):
        own["hooks"] = {place.removeprefix("hooks."): raising}
    else:
        hooks = {place: raising}
    talk = Talk(flow("A", own, hooks=hooks))
    with pytest.raises(LookupError, match="gone"):
        talk.says(speak="One.")


def test_finalize_and_on_exit_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    """D-81, D-27: at ERROR; the turn stands, and the reason says that `finalize` failed."""
    own = {"id": "a1", "prompt": "One.", "finalize": raising, "hooks": {"onExit": raising}}
    talk = Talk(flow("A", own))
    talk.says(speak="One.")
    assert talk.said == ["One."]
    assert "finalize_error" in talk.state.marks
    errors = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert [error.partition(" raised")[0] for error in errors] == ["hook:finalize:a1", "hook:onExit:a1"]


def test_a_tool_may_serve_as_prepare() -> None:
    """D-80: it runs without arguments, its directives count, by its id or itself."""
    make = {
        "id": "t",
        "parameters": {"type": "object"},
        "handler": lambda ctx, args: {"directive": {"reply": "From a tool."}},
    }
    talk = Talk(flow("A", {"id": "a1", "prompt": "One.", "prepare": "t"}), tools=[make])
    talk.says()
    assert talk.said == ["From a tool."]


def test_a_tool_that_fails_as_a_hook_raises() -> None:
    """D-80, D-83: with the tool's id."""
    make = {"id": "t", "parameters": {"type": "object"}, "handler": raising}
    talk = Talk(flow("A", {"id": "a1", "prompt": "One.", "prepare": make}))
    with pytest.raises(ToolExecutionError) as raised:
        talk.says()
    assert raised.value.tool_id == "t"


# --- data and context ---------------------------------------------------------------------------


def test_on_data_update_hears_of_a_batch_the_flows_first_and_may_change_it() -> None:
    """D-80: new and previous data; what it returns is the data."""
    heard: list[Any] = []

    def of_flow(new: Any, previous: Any) -> Any:
        heard.append(("flow", new, previous))
        return {**new, "size": new["size"] + 1}

    async def of_agent(new: Any, previous: Any) -> None:
        heard.append(("agent", new, previous))

    own = {"id": "a1", "prompt": "One.", "prepare": lambda context, data: {"dataUpdate": {"size": 1, "name": "Ana"}}}
    talk = Talk(flow("A", own, hooks={"onDataUpdate": of_flow}), hooks={"onDataUpdate": of_agent})
    talk.says(speak="One.")
    assert heard == [("flow", {"size": 1, "name": "Ana"}, {}), ("agent", {"size": 2, "name": "Ana"}, {})]
    assert talk.data == {"size": 2, "name": "Ana"}


def test_on_data_update_hears_of_what_the_model_read() -> None:
    """D-80: of the fields of the message, and of those that came with the reply."""
    heard: list[Any] = []
    talk = Talk(
        flow("A", {"id": "a1", "collect": ["size", "name"]}),
        hooks={"onDataUpdate": lambda new, previous: heard.append(new)},
    )
    talk.says(understand={"fields": {"size": 3}}, speak={"message": "Hello.", "name": "Ana"})
    assert heard == [{"size": 3}, {"size": 3, "name": "Ana"}]


def test_on_context_update_hears_of_a_write() -> None:
    """D-80: new and previous, the flow's first."""
    heard: list[Any] = []

    def hook(who: str) -> Any:
        return lambda new, previous: heard.append((who, dict(new), dict(previous)))

    own = {"id": "a1", "prompt": "One.", "prepare": lambda context, data: {"contextUpdate": {"x": 2}}}
    talk = Talk(
        flow("A", own, hooks={"onContextUpdate": hook("flow")}),
        hooks={"onContextUpdate": hook("agent")},
        context={"x": 1},
    )
    talk.says(speak="One.")
    assert heard == [("flow", {"x": 2}, {"x": 1}), ("agent", {"x": 2}, {"x": 1})]


def test_an_on_data_update_that_raises_ends_the_turn() -> None:
    """D-81."""
    talk = Talk(flow("A", {"id": "a1", "collect": ["size"]}), hooks={"onDataUpdate": raising})
    with pytest.raises(LookupError):
        talk.says(understand={"fields": {"size": 3}})


@pytest.mark.parametrize("wrong", [{"size": "big"}, {"colour": "red"}])
def test_what_an_on_data_update_returns_has_to_fit(wrong: dict[str, Any]) -> None:
    """D-56, D-80: the error names the hook; what stands there already is not looked at again."""
    talk = Talk(
        flow("A", {"id": "a1", "collect": ["size"]}), hooks={"onDataUpdate": lambda new, previous: {**new, **wrong}}
    )
    with pytest.raises(DataValidationError, match="hook:onDataUpdate"):
        talk.says(understand={"fields": {"size": 3}})
