"""The tools of MCP servers, as tools of an agent (F-14)::

    async with mcp_tools(["uvx", "orders-server"], allow=["find_order"]) as tools:
        agent = Agent(name="Ana", model="openai:gpt-5-mini", tools=tools, flows=flows)

A connection is held by a task of its own, so that what breaks in it reaches no turn but as the
answer of a tool that failed. The next call opens it again. The server checks the arguments, as the
protocol has it; what it refuses is what the model reads.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import urlsplit

from falai.errors import words_of
from falai.flow.functions import Tool
from falai.flow.handlers import ToolContext, ToolResult
from falai.model.redaction import without_secrets
from falai.session.jsontext import is_object

if TYPE_CHECKING:
    import mcp_types as wire
    from mcp import Client

__all__ = ["mcp_tools"]

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
_SECRET = re.compile(r"key|token|secret|password", re.IGNORECASE)
_PAGES: Final = 100

T = TypeVar("T")


@asynccontextmanager
async def mcp_tools(
    server: str | Sequence[str],
    *,
    allow: Collection[str] | None = None,
    prefix: str = "",
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout: float = 30.0,  # noqa: ASYNC109  # of each request, not of this block
    max_result_size_chars: int | None = None,
) -> AsyncGenerator[list[Tool], None]:
    """The tools of a server, usable while the block lasts and in its event loop.

    `server` is the URL of a streamable HTTP endpoint, or a command with its arguments that is started
    and speaks over its standard streams; `headers` are for the one, `env` (beside the few variables
    that are inherited) for the other. `allow` picks tools by the server's names; without it all are
    there. A tool's id is `prefix` and its name, with `_` for what no provider takes in a name.
    `timeout` is in seconds, of the opening and of each call; `max_result_size_chars` cuts each result.

    Raises `ImportError` with the command to run when the extra is not installed, `ConnectionError`
    when the server cannot be reached, and `ValueError` for names in `allow` that it does not have, two
    tools that would share an id, and options of the other kind of server.
    """
    if find_spec("mcp") is None:
        raise ImportError('tools of MCP servers need the package mcp: run pip install "falai[mcp]"')
    secrets = _secrets(env or {}, headers or {})
    connection = _Connection(_opener(server, env, headers, timeout), _label(server), timeout, secrets)
    try:
        listed = _allowed(await connection.ask(_list), allow, connection.label)
        yield [_tool(connection, *named, max_result_size_chars) for named in _named(listed, prefix, connection.label)]
    finally:
        await connection.close()


# --- the connection ---------------------------------------------------------------------------


class ConnectionLostError(ConnectionError):
    """The connection broke before the server answered."""


class _Connection:
    """The way to one server, made again when it broke."""

    def __init__(self, opener: Callable[[], Client], label: str, timeout: float, secrets: Collection[str]) -> None:
        self.label = label
        self.secrets = secrets
        self._opener = opener
        self._timeout = timeout
        self._loop = asyncio.get_running_loop()
        self._links: list[_Link] = []
        self._closed = False

    async def ask(self, request: Callable[[Client], Coroutine[Any, Any, T]], *, repeat: bool = False) -> T:
        """What the server answers; with `repeat`, asked once more when the connection breaks on the way.

        Raises `ConnectionError` when it cannot be opened or breaks, else what the request raises.
        """
        try:
            return await self._link().ask(request)
        except ConnectionLostError:
            if not repeat:
                raise
        return await self._link().ask(request)

    async def close(self) -> None:
        self._closed = True
        for link in self._links:
            await link.close()

    def _link(self) -> _Link:
        """The link that works, or a new one; those that broke end by themselves."""
        if self._closed:
            raise RuntimeError(f"the tools of {self.label} are closed: use them inside their `async with` block")
        if asyncio.get_running_loop() is not self._loop:
            raise RuntimeError(f"the tools of {self.label} belong to the event loop in which they were opened")
        self._links = [link for link in self._links if not link.ended]
        if not self._links or self._links[-1].broken:
            self._links.append(_Link(self._opener(), self.label, self._timeout, self.secrets))
        return self._links[-1]


class _Link:
    """One open connection and the task that holds it: a broken one cancels its own task and no other."""

    def __init__(self, client: Client, label: str, timeout: float, secrets: Collection[str]) -> None:
        self._client = client
        self._secrets = secrets
        self._label = label
        self._timeout = timeout
        self._opened = asyncio.get_running_loop().create_future()
        self._over = asyncio.Event()
        self._error: BaseException | None = None
        self._task = asyncio.create_task(self._hold())

    @property
    def ended(self) -> bool:
        return self._task.done()

    @property
    def broken(self) -> bool:
        return self._over.is_set() or self.ended

    async def ask(self, request: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        await asyncio.wait({self._opened, self._task}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED)
        if not self._opened.done():
            raise self._unreachable()
        asked = asyncio.create_task(request(self._client))
        try:
            await asyncio.wait({asked, self._task}, return_when=asyncio.FIRST_COMPLETED)
            return self._answer(asked)
        finally:
            asked.cancel()

    def _answer(self, asked: asyncio.Task[T]) -> T:
        from mcp import MCPError
        from mcp_types import CONNECTION_CLOSED

        if asked.done() and not asked.cancelled():
            try:
                return asked.result()
            except MCPError as error:
                if error.code != CONNECTION_CLOSED:
                    raise
        self._over.set()
        raise ConnectionLostError(
            f"the connection to {self._label} broke; whether the call was carried out is not known"
        )

    def _unreachable(self) -> ConnectionError:
        """Why it did not open; what has not opened in time is given up."""
        self._over.set()
        self._task.cancel()
        why = f"no answer within {self._timeout:g} s" if self._error is None else _reason(self._error)
        return ConnectionError(f"{self._label} cannot be reached: {without_secrets(why, self._secrets)}")

    async def close(self) -> None:
        """Ends the connection; a command that was started is stopped."""
        self._over.set()
        if not self._opened.done():
            self._task.cancel()
        await asyncio.wait({self._task})

    async def _hold(self) -> None:
        try:
            async with self._client:
                self._opened.set_result(None)
                await self._over.wait()
        except Exception as error:  # noqa: BLE001  # whatever a transport raises is why it broke
            self._error = error


def _reason(error: BaseException) -> str:
    """The first thing that went wrong: transports raise groups of groups."""
    if isinstance(error, BaseExceptionGroup):
        return _reason(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return words_of(error)


def _opener(
    server: str | Sequence[str], env: Mapping[str, str] | None, headers: Mapping[str, str] | None, timeout: float
) -> Callable[[], Client]:
    from mcp import Client, StdioServerParameters, stdio_client

    if isinstance(server, str):
        if env is not None:
            raise ValueError("env is for a command; a URL takes headers")
        return lambda: Client(_http(server, headers or {}, timeout), read_timeout_seconds=timeout)
    if headers is not None:
        raise ValueError("headers are for a URL; a command takes env")
    command, *arguments = server
    started = StdioServerParameters(command=command, args=arguments, env=dict(env or {}))
    log = sys.__stderr__ or sys.stderr  # a real file: whoever captures `sys.stderr` may have none
    return lambda: Client(stdio_client(started, errlog=log), read_timeout_seconds=timeout)


@asynccontextmanager
async def _http(url: str, headers: Mapping[str, str], timeout: float) -> AsyncGenerator[Any, None]:  # noqa: ASYNC109
    import httpx2  # the client of the library, which takes no headers otherwise
    from mcp.client.streamable_http import streamable_http_client

    quiet = httpx2.Timeout(timeout, read=None)  # a stream may be silent; each request has its own limit
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=quiet) as http,
        streamable_http_client(url, http_client=http) as streams,
    ):
        yield streams


def _secrets(env: Mapping[str, str], headers: Mapping[str, str]) -> list[str]:
    """What a server may quote and nobody should read: each header, and the variables that are named as a secret."""
    return [*headers.values(), *(value for name, value in env.items() if _SECRET.search(name))]


def _label(server: str | Sequence[str]) -> str:
    """The server's name in errors, without what may be secret in it."""
    if not isinstance(server, str):
        return f"the MCP server {server[0]}"
    url = urlsplit(server)
    return f"the MCP server {url.scheme}://{url.hostname}{url.path}"


# --- tools ------------------------------------------------------------------------------------


async def _list(client: Client) -> list[wire.Tool]:
    """All pages of the server's list; one that never ends is cut."""
    tools: list[wire.Tool] = []
    cursor = None
    for _ in range(_PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        if (cursor := page.next_cursor) is None:
            break
    return tools


def _allowed(listed: list[wire.Tool], allow: Collection[str] | None, label: str) -> list[wire.Tool]:
    names = [tool.name for tool in listed]
    if unknown := [name for name in allow or () if name not in names]:
        raise ValueError(f"{label} has no tool {', '.join(unknown)}; it has {', '.join(names)}")
    return [tool for tool in listed if allow is None or tool.name in allow]


def _named(listed: list[wire.Tool], prefix: str, label: str) -> list[tuple[str, wire.Tool]]:
    named: dict[str, wire.Tool] = {}
    for tool in listed:
        id = _ILLEGAL.sub("_", prefix + tool.name)
        if (other := named.setdefault(id, tool)) is not tool:
            raise ValueError(f"{label}: its tools {other.name} and {tool.name} would both be {id}; allow one of them")
    return list(named.items())


def _tool(connection: _Connection, id: str, tool: wire.Tool, max_result_size_chars: int | None) -> Tool:
    hints = tool.annotations
    reads = bool(hints and hints.read_only_hint)
    repeat = reads or bool(hints and hints.idempotent_hint)

    async def handle(_ctx: ToolContext[Any], /, **arguments: Any) -> ToolResult:
        result = await connection.ask(lambda client: client.call_tool(tool.name, arguments), repeat=repeat)
        if result.is_error:
            raise RuntimeError(without_secrets(_text(result.content), connection.secrets) or "the tool failed")
        return ToolResult(_value(result))

    return Tool(
        id,
        handle,
        description=tool.description,
        parameters={**tool.input_schema, "type": "object"},
        read_only=reads,
        destructive=bool(hints and hints.destructive_hint) and not reads,
        max_result_size_chars=max_result_size_chars,
    )


def _value(result: wire.CallToolResult) -> Any:
    """The structured content, which is whole; a lone `result` in it is how servers wrap what is no object."""
    found = result.structured_content
    if found is None:
        return _text(result.content) or None
    return found["result"] if is_object(found) and set(found) == {"result"} else found


def _text(content: Sequence[wire.ContentBlock]) -> str:
    return "\n".join(filter(None, map(_words, content)))


def _words(block: wire.ContentBlock) -> str:
    """What a model can read of a block; of what is no text, that it was there."""
    import mcp_types as wire

    match block:
        case wire.TextContent(text=text) | wire.EmbeddedResource(resource=wire.TextResourceContents(text=text)):
            return text
        case wire.ResourceLink(name=name, uri=uri):
            return f"[{name}: {uri}]"
        case wire.EmbeddedResource(resource=resource):
            return f"[{resource.mime_type or 'binary data'}, left out: {resource.uri}]"
        case _:
            return f"[{block.mime_type}, left out]"
