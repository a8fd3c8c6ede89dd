"""Tools of MCP servers, with real servers in processes of their own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from falai import Agent, Flow, Message, OnAnyMessage, Prompt, Tool
from falai.flow.build import AgentOptions, build_plan
from falai.flow.handlers import ToolContext
from falai.model.effects import ToolUse, UseTools
from falai.model.mcp import mcp_tools
from falai.model.port import ModelReply, ToolCall
from falai.model.tools import batches, run_tools
from falai.testing import ScriptedModel

pytestmark = pytest.mark.servers

SERVER = str(Path(__file__).with_name("mcp_server.py"))
COMMAND = [sys.executable, SERVER]
CONTEXT: ToolContext[Any] = ToolContext(None, {}, [], None, datetime(2026, 9, 20, tzinfo=UTC))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mcp") / "calls"


@pytest.fixture
def calls(log: Path) -> Path:
    """What the server was asked to do in this test."""
    log.write_text("")
    return log


@pytest.fixture(scope="module")
async def tools(log: Path) -> AsyncIterator[list[Tool]]:
    """The tools of one server for most tests; one that lets it die finds it back."""
    os.environ["FALAI_TEST_SECRET"] = "s"
    log.touch()
    async with mcp_tools(COMMAND, env={"CALLS": str(log), "GIVEN": "g"}, timeout=60) as found:
        yield found
    del os.environ["FALAI_TEST_SECRET"]


def _uses(tools: list[Tool], *asked: tuple[str, dict[str, Any]]) -> list[ToolUse]:
    plan, _ = build_plan(AgentOptions(name="Ana", tools=tools))
    known = {tool.id: tool for tool in plan.tools}
    return [ToolUse(id, known[id], arguments, CONTEXT) for id, arguments in asked]


async def _read(tools: list[Tool], id: str, **arguments: Any) -> str:
    """What the model reads of a call."""
    return (await run_tools(UseTools(tuple(_uses(tools, (id, arguments))))))[0].content


async def test_tools_come_with_what_the_server_says_of_them(tools: list[Tool]) -> None:
    """Names that a provider takes, description, schema; hints say what may run side by side (M-9.6)."""
    found = {tool.id: tool for tool in tools}
    assert {"find_order", "orders_cancel", "nothing", "list_orders"} <= set(found)
    assert found["find_order"].description == "Look an order up."
    schema = found["find_order"].parameters or {}
    assert (schema["type"], schema["required"]) == ("object", ["number"])
    reads, cancels = ("find_order", {"number": 1}), ("orders_cancel", {"number": 1})
    uses = _uses(tools, reads, reads, cancels, ("nothing", {}), reads)
    assert [len(batch) for batch in batches(uses)] == [2, 1, 1, 1]


async def test_what_the_model_reads(tools: list[Tool]) -> None:
    """Structured content as JSON, else the text; what is no text is named (F-14.3)."""
    assert await _read(tools, "find_order", number=7) == '{"number":7,"état":"envoyée"}'
    assert await _read(tools, "orders_cancel", number=7) == "cancelled"
    assert await _read(tools, "list_orders") == "[1,2]"
    assert await _read(tools, "nothing") == '{"ok":true}'
    said = await _read(tools, "words")
    assert said == "two\n[image/png, left out]\n[terms: https://shop.example/terms]\na note\n\U0001f4e6"


async def test_reads_run_side_by_side(tools: list[Tool], calls: Path) -> None:
    """Over one connection; the answers keep the order of the calls."""
    uses = _uses(tools, ("find_order", {"number": 1, "sleep": 0.3}), ("find_order", {"number": 2, "sleep": 0.3}))
    answers = await run_tools(UseTools(tuple(uses)))
    assert [json.loads(answer.content)["number"] for answer in answers] == [1, 2]
    assert [line.split()[0] for line in calls.read_text().splitlines()] == ["find", "find", "found", "found"]


async def test_what_the_server_refuses_is_read_by_the_model(tools: list[Tool]) -> None:
    """The server checks the arguments (M-9.7)."""
    assert "number" in json.loads(await _read(tools, "find_order", number="seven"))["error"]
    assert "number" in json.loads(await _read(tools, "find_order"))["error"]


async def test_a_secret_that_a_server_quotes_is_not_read() -> None:
    """Neither what is given to it as a secret, nor what looks like one."""
    async with mcp_tools(COMMAND, env={"SHOP_TOKEN": "tok-without-shape"}, timeout=60) as tools:
        told = await _read(tools, "quote_secrets")
    assert "refused: [secret], then Bearer [secret]" in json.loads(told)["error"]


async def test_what_the_author_may_set() -> None:
    """Which tools, by the server's names; a prefix that keeps servers apart; how much is read of a result."""
    async with mcp_tools(COMMAND, allow=["orders.cancel", "nothing"], prefix="shop.", max_result_size_chars=5) as tools:
        assert [tool.id for tool in tools] == ["shop_orders_cancel", "shop_nothing"]
        assert (await _read(tools, "shop_orders_cancel", number=1)).startswith("cance\n[")
    with pytest.raises(ValueError, match="has no tool pay; it has find_order"):
        async with mcp_tools(COMMAND, allow=["pay"]):
            pass


async def test_a_command_inherits_little(tools: list[Tool]) -> None:
    """What the author names, and no secret of the host's."""
    assert await _read(tools, "environment", name="GIVEN") == "g"
    assert await _read(tools, "environment", name="FALAI_TEST_SECRET") == "absent"


async def test_a_call_that_takes_too_long_is_given_up() -> None:
    """The model reads that it timed out, and the connection goes on."""
    async with mcp_tools(COMMAND, timeout=4) as tools:
        assert "timed out" in json.loads(await _read(tools, "find_order", number=1, sleep=60))["error"]
        assert json.loads(await _read(tools, "find_order", number=2))["number"] == 2


async def test_a_server_that_dies_is_started_again(tools: list[Tool], calls: Path) -> None:
    """What was under way may have been done: the model is told. The next call finds a new process."""
    assert "broke; whether the call was carried out is not known" in await _read(tools, "die")
    assert await _read(tools, "nothing") == '{"ok":true}'
    assert "broke" in await _read(tools, "write_or_die")
    assert calls.read_text().splitlines() == ["nothing", "write"], "it is not done twice"
    assert await _read(tools, "write_or_die") == "written"


@pytest.mark.parametrize(("tool", "said"), [("read_or_die", "read"), ("put_or_die", "put")])
async def test_what_may_be_repeated_is(tools: list[Tool], calls: Path, tool: str, said: str) -> None:
    """A call that only reads, or that the server calls idempotent, is made again when the server died."""
    assert await _read(tools, tool) == said
    assert calls.read_text().splitlines() == [said, said]


async def test_a_cancelled_turn_leaves_the_connection_alone(tools: list[Tool]) -> None:
    """Its call is given up; others go on."""
    call = asyncio.create_task(_read(tools, "find_order", number=1, sleep=60))
    await asyncio.sleep(0.1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert json.loads(await _read(tools, "find_order", number=2))["number"] == 2


async def test_behind_its_block_the_server_is_gone() -> None:
    """The process ends, and a tool that is called says what is wrong."""
    async with mcp_tools(COMMAND) as tools:
        process = Path("/proc", await _read(tools, "process"))
        assert process.exists()
    assert not process.exists()
    assert "inside their `async with` block" in await _read(tools, "process")


async def test_another_event_loop_is_told_apart(tools: list[Tool]) -> None:
    """A connection lives in one loop; waiting in another would never end."""
    said = await asyncio.to_thread(lambda: asyncio.run(_read(tools, "nothing")))
    assert "event loop" in json.loads(said)["error"]


@pytest.mark.parametrize(
    ("server", "name"),
    [
        (["/nowhere/server", "--key=secret"], "the MCP server /nowhere/server"),
        ([sys.executable, "-c", "print('hello')"], "the MCP server"),
        ([sys.executable, "-c", "import time; time.sleep(60)"], "the MCP server"),
        ("http://user:secret@127.0.0.1:1/mcp?key=secret", "the MCP server http://127.0.0.1/mcp"),
    ],
)
async def test_a_server_that_cannot_be_reached(server: Any, name: str) -> None:
    """The error names it, and shows nothing that may be secret."""
    with pytest.raises(ConnectionError, match=f"^{name}.* cannot be reached: ") as raised:
        async with mcp_tools(server, timeout=2):
            pass
    assert "secret" not in str(raised.value)


async def test_options_of_the_other_kind_are_refused() -> None:
    """A URL has no environment, a command no headers."""
    for server, options in ((COMMAND, {"headers": {}}), ("http://127.0.0.1:1/mcp", {"env": {}})):
        with pytest.raises(ValueError, match="takes"):
            async with mcp_tools(server, **options):
                pass


# --- over HTTP ----------------------------------------------------------------------------------


@contextmanager
def _http_server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([*COMMAND, str(port)], env={**os.environ, "TOKEN": "t0"}, stderr=subprocess.DEVNULL)
    try:
        _await_port(process, port)
        yield process
    finally:
        process.kill()
        process.wait()


def _await_port(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(600):
        assert process.poll() is None
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the server did not start")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def test_over_http_with_headers() -> None:
    """The same tools; a server that went away and came back is found again, and no turn is harmed."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    with _http_server(port):
        with pytest.raises(ConnectionError, match="cannot be reached"):
            async with mcp_tools(url):
                pass
        async with mcp_tools(url, headers={"authorization": "Bearer t0"}, timeout=10) as tools:
            assert json.loads(await _read(tools, "find_order", number=1))["number"] == 1
            assert "number" in json.loads(await _read(tools, "find_order", number="x"))["error"]
            assert "error" in json.loads(await _read(tools, "die"))
            assert "error" in json.loads(await _read(tools, "nothing"))
            with _http_server(port):
                assert await _read(tools, "nothing") == '{"ok":true}'


# --- in a turn ----------------------------------------------------------------------------------


async def test_a_turn_uses_them(tools: list[Tool], calls: Path) -> None:
    """Two rounds: the call, then the reply that has read its result (M-9)."""
    model = ScriptedModel(
        {
            "speak": [
                ModelReply(tool_calls=(ToolCall("find_order", {"number": 7}), ToolCall("orders_cancel", "{}"))),
                {"message": "It is on its way."},
            ]
        }
    )
    flows = [Flow("talk", on=[OnAnyMessage()], steps=[Prompt("help", "Help.")])]
    agent = Agent(name="Ana", model=model, flows=flows, tools=tools)
    result = await agent.turn("s1", Message("where is order 7?", id="m1"))
    assert [message.text for message in result.messages] == ["It is on its way."]
    _, found, refused = model.calls[1].request.history[-3:]
    assert found["content"] == '{"number":7,"état":"envoyée"}'
    assert "number" in json.loads(refused["content"])["error"]
    assert calls.read_text().splitlines() == ["find 7", "found 7"]
