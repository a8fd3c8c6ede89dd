"""A real MCP server for tests: `python mcp_server.py` speaks over its standard streams, with a port over HTTP.

Each call is written to the file that `CALLS` names; over HTTP, `TOKEN` is asked for.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import EmbeddedResource, ImageContent, ResourceLink, TextContent, TextResourceContents, ToolAnnotations

app = MCPServer("orders")
READS = ToolAnnotations(read_only_hint=True)


def note(what: str) -> None:
    if "CALLS" in os.environ:
        with Path(os.environ["CALLS"]).open("a") as calls:
            calls.write(f"{what}\n")


def die_once(what: str) -> None:
    """Ends the process the first time that it is asked to."""
    seen = Path(os.environ["CALLS"]).read_text().splitlines()
    note(what)
    if what not in seen:
        os._exit(1)


@app.tool(annotations=READS)
async def find_order(number: int, sleep: float = 0) -> dict[str, Any]:
    """Look an order up."""
    note(f"find {number}")
    await asyncio.sleep(sleep)
    note(f"found {number}")
    return {"number": number, "état": "envoyée"}


@app.tool(name="orders.cancel", annotations=ToolAnnotations(destructive_hint=True))
def cancel(number: int) -> str:
    """Cancel an order."""
    note(f"cancel {number}")
    return "cancelled"


@app.tool()
def nothing() -> None:
    note("nothing")


@app.tool(annotations=READS)
def list_orders() -> list[int]:
    return [1, 2]


@app.tool(annotations=READS, structured_output=False)
def words() -> list[Any]:
    """Says things that are not all text."""
    return [
        TextContent(text="two"),
        ImageContent(data="AAAA", mime_type="image/png"),
        ResourceLink(name="terms", uri="https://shop.example/terms"),
        EmbeddedResource(resource=TextResourceContents(uri="file:///note", text="a note")),
        "\U0001f4e6",
    ]


@app.tool()
def environment(name: str) -> str:
    return os.environ.get(name, "absent")


@app.tool()
def quote_secrets() -> None:
    raise ToolError(f"refused: {os.environ['SHOP_TOKEN']}, then Bearer abc123def456")


@app.tool()
def process() -> int:
    return os.getpid()


@app.tool()
def die() -> None:
    os._exit(1)


@app.tool(annotations=READS)
def read_or_die() -> str:
    die_once("read")
    return "read"


@app.tool(annotations=ToolAnnotations(idempotent_hint=True))
def put_or_die() -> str:
    die_once("put")
    return "put"


@app.tool()
def write_or_die() -> str:
    die_once("write")
    return "written"


class Guarded:
    """The application behind a bearer token."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        allowed = dict(scope.get("headers", ())).get(b"authorization") == f"Bearer {os.environ['TOKEN']}".encode()
        if scope["type"] == "http" and not allowed:
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
        else:
            await self.inner(scope, receive, send)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        app.run()
    else:
        import uvicorn

        uvicorn.run(Guarded(app.streamable_http_app()), port=int(sys.argv[1]), log_level="error")
