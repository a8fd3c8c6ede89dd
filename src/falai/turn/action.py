"""A `do` step: the action is asked for, and what came back decides where the run goes (T-11.9 to T-11.20)."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from functools import partial
from typing import Any, Literal, cast

import msgspec

from falai.errors import words_of
from falai.flow.definition import Do, Move
from falai.flow.durations import is_duration, parse_duration
from falai.flow.handlers import ActionContext, ActionResult
from falai.flow.moves import NOTHING, Beside, read_beside
from falai.flow.plan import ActionPlan, FlowPlan, target_of
from falai.flow.templates import render_deep
from falai.model.tasks import Acted
from falai.session import keys
from falai.session.jsontext import json_text, quoted, to_plain
from falai.session.model import Run
from falai.turn.advance import park
from falai.turn.effects import Act, Effect
from falai.turn.follow import follow
from falai.turn.lines import key_of, label, run_line
from falai.turn.state import Turn

__all__ = ["perform", "read_result"]

_CODES = {"skipped": "action-skipped", "failed": "action-failed"}


class Done(msgspec.Struct, frozen=True):
    """What came of an action, read (T-11.14, T-11.18). `words` are `None` when it gave none."""

    status: Literal["ok", "skipped", "failed", "deferred"]
    words: str | None = None
    spoke: bool = False
    defer: str = ""
    move: Move | None = None
    """Where the run goes in place of the step's `then` or `onFail`."""
    say: str | None = None


def perform(turn: Turn, run: Run, flow: FlowPlan, step: Do) -> Generator[Effect, Any, None]:
    """Runs the step's action, also under a closed gate, and moves the run by its result."""
    name = cast(str, step.do)
    done = yield from _act(turn, run, name, step)
    turn.acted.append(Acted(name, done.status, done.words))
    if done.spoke:
        turn.has_spoken(run)
    if done.say is not None:
        _say(turn, run, done.say)
    if done.status == "deferred":
        _defer(turn, run, done)
        return
    target = done.move or (target_of(step.on_fail) if done.status == "failed" else None) or target_of(step.then)
    words = done.words or None if done.status == "ok" else done.words
    run_line(
        turn, run, "do", done.status, _CODES.get(done.status),
        key=key_of(run), detail=words, next=label(target, flow.id),
    )  # fmt: skip
    follow(turn, run, flow, step, target)


def _say(turn: Turn, run: Run, text: str) -> None:
    """Sends an action's text as a `say` step would; with the gate closed a line says that it did not go out."""
    key = key_of(run)
    if turn.gate is not None:
        run_line(turn, run, "say", "skipped", "silenced", key=key, detail=turn.gate.reason)
        return
    turn.send(text, "verbatim", key, run)
    run_line(turn, run, "say", "ok", key=key)


def _act(turn: Turn, run: Run, name: str, step: Do) -> Generator[Effect, Any, Done]:
    action = turn.plan.actions.get(name)
    if action is None:
        return Done("failed", f"no action is registered as {quoted(name)}")
    parameters = render_deep(step.with_ or {}, turn.roots(run))
    try:
        raw = yield Act(action, parameters, _context(turn, run))
    except Exception as error:  # noqa: BLE001  whatever an action raises is its failure (T-11.13)
        return Done("failed", words_of(error))
    return read_result(action, raw)


def _context(turn: Turn, run: Run) -> ActionContext[Any]:
    session = turn.session

    def set_fields(patch: Mapping[str, Any]) -> None:
        for field, value in to_plain(patch, "set").items():  # all of it, or nothing
            turn.write(field, value, "action")

    return ActionContext(
        context=turn.given.context,
        data=session.data,
        input=run.input,
        run=run,
        session_id=session.id,
        key=key_of(run),
        dedupe_key=run.dedupe_key,
        silenced=None if turn.gate is None else turn.gate.reason,
        now=turn.now_at,
        set=set_fields,
    )


def read_result(action: ActionPlan, raw: object) -> Done:
    """Reads what an action returned; the first of `ok`, `skipped`, `failed`, `defer` counts (T-11.18).

    A result that cannot be read, its move and its text included, is a failure that says why (T-11.17).
    """
    given = _members(raw)
    try:
        return _with_beside(_read(given), read_beside(given.get("move"), given.get("say"), action.moves))
    except ValueError as wrong:
        return Done("failed", f"action {quoted(action.name)} {wrong}")


def _with_beside(done: Done, beside: Beside) -> Done:
    if beside is NOTHING:
        return done
    if done.status == "deferred" and beside.move is not None:
        raise ValueError("returned a move beside defer, and a deferred action stays where it is")
    return Done(done.status, done.words, done.spoke, done.defer, beside.move, beside.say)


def _read(given: Mapping[str, Any]) -> Done:
    kind = next((key for key in ("ok", "skipped", "failed", "defer") if given.get(key) is not None), None)
    if kind == "ok" and given["ok"] is True:
        return Done("ok", _words(given.get("detail")), spoke=given.get("spoke") is True)
    if kind == "skipped":
        return Done("skipped", _words(given["skipped"]))
    if kind == "failed":
        return Done("failed", _words(given["failed"]))
    if kind == "defer":
        return _read_defer(given)
    raise ValueError("returned no usable result")


def _read_defer(given: Mapping[str, Any]) -> Done:
    duration = given["defer"]
    if is_duration(duration):
        return Done("deferred", _words(given.get("detail")), defer=duration)
    raise ValueError(f'deferred by "{_words(duration)}", which is no duration')


def _members(raw: object) -> Mapping[str, Any]:
    if isinstance(raw, ActionResult):
        return {key: getattr(raw, key) for key in ActionResult.__slots__}
    return cast(Mapping[str, Any], raw) if isinstance(raw, Mapping) else {}


def _words(value: Any) -> str | None:
    """Words as text; what is no text becomes its JSON text."""
    try:
        plain = to_plain(value)
    except TypeError:
        return words_of(value)
    return plain if plain is None or isinstance(plain, str) else json_text(plain)


def _defer(turn: Turn, run: Run, done: Done) -> None:
    """Parks until the next try of the same visit (T-11.19)."""
    at_ms = turn.due(turn.now_ms + parse_duration(done.defer))
    until = park(turn, run, at_ms, partial(keys.wake_key, run.id, run.step_id or ""))
    run_line(turn, run, "do", "deferred", "action-deferred", key=key_of(run), detail=done.words, until=until)
