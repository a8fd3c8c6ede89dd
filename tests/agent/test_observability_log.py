"""The log lines: all are on one page, say where they happened, and never what was said."""

from __future__ import annotations

import ast
import asyncio
import logging
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agent.seen import desk, play, reply, script
from falai import Action, Agent, Message, ProviderError, Tool
from falai.model import ToolCall

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "falai"
PAGE = ROOT / "docs" / "reference" / "observability.md"
LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
PARAMETERS = {"action", "run", "session", "flow", "step"}


class Line(NamedTuple):
    """A line as the page or the code has it."""

    action: str
    level: str
    more: frozenset[str]


def _on_the_page() -> Iterator[Line]:
    rows = re.findall(r"^\| `(\w+\.\w+)` \| (\w+) \| .* \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    for action, level, more in rows:
        yield Line(action, level, frozenset(re.findall(r"`(\w+)`", more)))


def _in_the_code() -> Iterator[Line | str]:
    """The lines, and the places where something is logged that is none."""
    for file in sorted(SRC.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        makers = {node.lineno: node.value for node in ast.walk(tree) if isinstance(node, ast.Assign) and _names(node)}
        loggers = {"logging", "_LOG", "_log", "LOG", "log", "logger"}
        for node in ast.walk(tree):
            match node:
                case ast.Call(ast.Attribute(ast.Name(logger), level)) if logger in loggers and level in LEVELS:
                    yield _line(node, level, makers) or f"{file.relative_to(SRC)}:{node.lineno}"
                case _:
                    pass


def _names(node: ast.Assign) -> bool:
    return [getattr(target, "id", "") for target in node.targets] == ["extra"]


def _line(call: ast.Call, level: str, makers: dict[int, ast.expr]) -> Line | None:
    extra = next((given.value for given in call.keywords if given.arg == "extra"), None)
    if isinstance(extra, ast.Name):  # made just above
        extra = makers.get(max((made for made in makers if made < call.lineno), default=0))
    match extra:
        case ast.Call(ast.Name("line"), [ast.Constant(str(action)), *_], keywords):
            more = {given.arg for given in keywords if given.arg is not None}
            return Line(action, level, frozenset(more - PARAMETERS))
        case _:
            return None


def test_every_line_is_on_the_page() -> None:
    """The page has the lines of the code, with their levels and attributes, and no others; each name once."""
    found = list(_in_the_code())
    assert [place for place in found if isinstance(place, str)] == [], 'a line is logged with extra=line("its.action")'
    page = list(_on_the_page())
    assert sorted(line for line in found if isinstance(line, Line)) == sorted(page)
    assert len({line.action for line in page}) == len(page)


def test_the_page_would_notice() -> None:
    """The check itself sees the lines: a page that it could not read would agree with any code."""
    assert {"turn.started", "speak.failed", "agent.warning"} <= {line.action for line in _on_the_page()}


# --- at work ----------------------------------------------------------------------------------


def _raises(ctx: Any, **given: Any) -> Any:
    raise ValueError("sesame-exception")


def _raising(model: Any) -> Agent[Any]:
    who, day = {"who": {"type": "string"}}, {"type": "object", "properties": {"day": {"type": "string"}}}
    return desk(
        model, actions=[Action("note", _raises, parameters=who)], tools=[Tool("slots", _raises, parameters=day)]
    )


def _told(log: pytest.LogCaptureFixture) -> list[tuple[Any, ...]]:
    return [tuple(vars(record)[key] for key in ("action", "session", "flow", "step")) for record in log.records]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_a_turn_at_debug_level(caplog: pytest.LogCaptureFixture, streamed: bool) -> None:
    """Begin and end of the turn, and whatever it does, with session, flow and step."""
    with caplog.at_level(logging.DEBUG, logger="falai"):
        await play(desk(script()), streamed=streamed)
    assert _told(caplog) == [
        ("turn.started", "s1", None, None),
        ("model.called", "s1", None, None),
        ("action.ran", "s1", "book", "tell"),
        ("model.called", "s1", None, None),
        ("tool.ran", "s1", "book", "when"),
        ("model.called", "s1", None, None),
        ("turn.finished", "s1", None, None),
    ]
    last = vars(caplog.records[-1])
    assert (last["messages"], last["llm_calls"], last["changed"]) == (1, 3, True)


@pytest.mark.parametrize("agent", [desk, _raising], ids=["all well", "code that raises"])
async def test_no_line_says_what_was_said(caplog: pytest.LogCaptureFixture, agent: Any) -> None:
    """No message, value, prompt, argument, result or exception's text, at any level that is not asked for."""
    with caplog.at_level(logging.INFO, logger="falai"):
        await play(agent(script()))
    assert caplog.records
    assert "sesame" not in caplog.text
    assert "sesame" not in str([vars(record) for record in caplog.records])


async def test_code_that_raises_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """Nobody else would hear of it: the turn goes on (T-11.13, M-9.7)."""
    with caplog.at_level(logging.WARNING, logger="falai"):
        await play(_raising(script()))
    assert _told(caplog) == [("action.raised", "s1", "book", "tell"), ("tool.raised", "s1", "book", "when")]
    assert [record.getMessage() for record in caplog.records] == [
        "action note raised ValueError",
        "tool slots raised ValueError",
    ]


async def test_a_traceback_is_there_at_debug_level(caplog: pytest.LogCaptureFixture) -> None:
    """Who looks for a mistake needs the line in which it is."""
    with caplog.at_level(logging.DEBUG, logger="falai"):
        await play(_raising(script()))
    raised = [record for record in caplog.records if vars(record)["action"].endswith(".raised")]
    assert [str(record.exc_info and record.exc_info[1]) for record in raised] == ["sesame-exception"] * 2


async def test_a_failed_reply_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    """It comes from far below the turn, and knows its session all the same."""
    model = script(speak=[ProviderError("sesame-words", kind="rate", body="sesame-body")])
    with caplog.at_level(logging.INFO, logger="falai"):
        await play(desk(model))
    assert _told(caplog) == [("speak.failed", "s1", "book", "when"), ("turn.finished", "s1", None, None)]
    assert (vars(caplog.records[0])["kind"], vars(caplog.records[0])["code"]) == ("rate", "provider-unavailable")
    assert "sesame" not in caplog.text


async def test_a_turn_that_raises_is_the_callers_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    """It is no warning, since the caller has the error itself; the kind is told."""
    with caplog.at_level(logging.INFO, logger="falai"), pytest.raises(ProviderError):
        await play(desk(script(understand=[ProviderError("sesame-words", kind="overload")])))
    [record] = caplog.records
    assert (vars(record)["action"], record.levelname, vars(record)["error"]) == ("turn.failed", "INFO", "overload")
    assert "sesame" not in caplog.text


async def test_a_made_up_tool_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    """Its name is the model's text."""
    model = script(speak=[reply(None, ToolCall("sesame", {}), tokens=1), reply({"message": "Hi"}, tokens=1)])
    with caplog.at_level(logging.DEBUG, logger="falai"):
        await play(desk(model))
    assert "sesame" not in caplog.text


async def test_lines_of_turns_side_by_side_name_their_own_session(caplog: pytest.LogCaptureFixture) -> None:
    """Streamed or not, and when another task goes on reading a stream."""
    down = [ProviderError("down", kind="rate")]

    async def read_by_tasks(session: str) -> None:
        items = desk(script(speak=list(down))).turn_stream(session, Message("book", id="m1"))
        while await asyncio.create_task(anext(items, None)) is not None:
            await asyncio.sleep(0)

    with caplog.at_level(logging.WARNING, logger="falai"):
        whole = (play(desk(script(speak=list(down))), session=f"s{n}") for n in range(4))
        await asyncio.gather(*whole, *(read_by_tasks(f"t{n}") for n in range(4)))
    assert sorted(session for _, session, _, _ in _told(caplog)) == ["s0", "s1", "s2", "s3", "t0", "t1", "t2", "t3"]


# --- what the program configures, and what it does not ----------------------------------------

_AGENT = "Agent(name='Ana', model='lexical', fields={'x': Field(str)}, flows=[Flow('f', on=[OnAnyMessage()], steps=[Collect('c', ['x'])])]"


def _program(text: str) -> subprocess.CompletedProcess[str]:
    lines = ["import logging", "from falai import *", text]
    return subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, check=True, text=True)


def test_a_program_that_configured_nothing_sees_warnings() -> None:
    """An author's mistakes are told without any set-up; no handler is added for that."""
    done = _program(f"{_AGENT})\nprint(logging.getLogger('falai').handlers, logging.getLogger().handlers)")
    assert '[Agent] flow "f", step "c"' in done.stderr
    assert done.stdout == "[] []\n"


def test_debug_sets_the_level_and_nothing_else() -> None:
    """Where lines go stays the program's matter; `basicConfig` is enough."""
    played = "logging.basicConfig(format='%(levelname)s %(action)s %(session)s')\n{}\na.turn_sync('s1', Message('hi'))"
    quiet = _program(played.format(f"a = {_AGENT})"))
    assert quiet.stderr.splitlines() == ["WARNING agent.warning None"]
    told = _program(played.format(f"a = {_AGENT}, debug=True)")).stderr.splitlines()
    assert told[1] == "DEBUG turn.started s1"
    assert told[-1] == "INFO turn.finished s1"
