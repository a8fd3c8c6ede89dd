"""What a call through falai's port costs beside the bare SDK: CPU of this process, against a server on loopback.

Both sides ask the same server, which is a process of its own, for the same reply to the same
prompt, history and schema, and read the object out of it; the connection stays open. Ratios are
taken pair by pair in one run, ours and the SDK's in turn, and the median counts. Exit code 1 when
the whole call is over its limit. The streamed call is shown without one: half as much again goes to
pydantic-ai's own handling of each piece.

    python -m benchmarks.adapter
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from statistics import median
from time import process_time
from typing import Any

LIMIT = 1.4
PAIRS = 300
WARM = 30

Call = Callable[[], Awaitable[Any]]


# --- the server -------------------------------------------------------------------------------

REPLY = {"message": "Hello, this is Ana. How many people are you, and from when?", "size": None, "start": "19:00"}
USAGE = {
    "prompt_tokens": 600, "completion_tokens": 30, "total_tokens": 630, "prompt_tokens_details": {"cached_tokens": 512},
}  # fmt: skip
HEAD = {"id": "x", "created": 1, "model": "gpt-5-mini"}


def whole() -> bytes:
    """The reply as one completion."""
    message = {"role": "assistant", "content": json.dumps(REPLY)}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({**HEAD, "object": "chat.completion", "choices": [choice], "usage": USAGE}).encode()


def stream() -> bytes:
    """The reply as a stream, five letters at a time."""
    text = json.dumps(REPLY)
    deltas = [{"content": text[start : start + 5]} for start in range(0, len(text), 5)]
    choices = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    choices.append([{"index": 0, "delta": {}, "finish_reason": "stop"}])
    head = {**HEAD, "object": "chat.completion.chunk"}
    chunks = [*({**head, "choices": choice} for choice in choices), {**head, "choices": [], "usage": USAGE}]
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"


class Handler(BaseHTTPRequestHandler):
    """Gives the same reply to everybody, whole or streamed as it was asked for."""

    protocol_version = "HTTP/1.1"
    wbufsize = 65536  # head and body in one packet, or each request waits for a delayed acknowledgement

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = stream() if asked.get("stream") else whole()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if asked.get("stream") else "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Says nothing."""


def serve() -> None:
    """Says its port, and answers until it is ended."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()


# --- both sides -------------------------------------------------------------------------------


@asynccontextmanager
async def both(base_url: str) -> AsyncIterator[dict[str, tuple[Call, Call]]]:
    """The calls to compare: what is measured, then ours and the SDK's."""
    from openai import AsyncOpenAI

    from falai.model import PydanticAIModel

    model = PydanticAIModel("openai:gpt-5-mini", base_url=base_url, api_key="made-up")
    async with AsyncOpenAI(base_url=base_url, api_key="made-up", max_retries=0) as sdk:
        try:
            yield {
                "a whole call": (lambda: ours(model), lambda: bare(sdk)),
                "a streamed call": (lambda: ours_streamed(model), lambda: bare_streamed(sdk)),
            }
        finally:
            await model.aclose()


def request() -> Any:
    """The request of both sides: a prefix, some history, a prompt, and a schema with an enum."""
    from falai.flow.plan import FieldPlan
    from falai.model.envelopes import speak_schema
    from falai.model.port import ModelRequest
    from falai.model.tasks import SummaryTask

    fields = {
        "size": FieldPlan("size", "string", enum=("1-10", "11-50"), description="how many people"),
        "start": FieldPlan("start", "string", description="when"),
    }
    return ModelRequest(
        schema_name="speak",
        prompt="Ask for what is missing, one thing at a time. The customer wrote: good evening\n" * 20,
        system="You are Ana, who answers for a restaurant. You are warm and brief.\n" * 20,
        history=[
            {"role": "user", "content": "good evening"},
            {"role": "assistant", "content": "Good evening, this is Ana."},
        ]
        * 3,
        context=None,
        schema=speak_schema(fields),
        task=SummaryTask(items=()),
    )


REQUEST = request()
MESSAGES: Any = [
    {"role": "system", "content": REQUEST.system},
    *map(dict, REQUEST.history),
    {"role": "user", "content": REQUEST.prompt},
]
FORMAT: Any = {
    "type": "json_schema",
    "json_schema": {"name": "speak", "schema": dict(REQUEST.schema), "strict": True},
}


async def ours(model: Any) -> Any:
    """A whole call through the port."""
    return (await model.complete(REQUEST)).structured


async def bare(sdk: Any) -> Any:
    """The same by the SDK alone."""
    reply = await sdk.chat.completions.create(
        model="gpt-5-mini", messages=MESSAGES, max_completion_tokens=8192, response_format=FORMAT
    )
    return json.loads(reply.choices[0].message.content)


async def ours_streamed(model: Any) -> Any:
    """A streamed call through the port."""
    reply = None
    async for chunk in model.stream(REQUEST):
        reply = chunk.reply
    return reply.structured if reply else None


async def bare_streamed(sdk: Any) -> Any:
    """The same by the SDK alone."""
    text = ""
    chunks = await sdk.chat.completions.create(
        model="gpt-5-mini",
        messages=MESSAGES,
        max_completion_tokens=8192,
        response_format=FORMAT,
        stream=True,
        stream_options={"include_usage": True},
    )
    async for chunk in chunks:
        if chunk.choices:
            text += chunk.choices[0].delta.content or ""
    return json.loads(text)


# --- measuring --------------------------------------------------------------------------------


async def pair(ours: Call, bare: Call) -> tuple[float, float]:
    """CPU of one call, ours and the SDK's."""
    begun = process_time()
    found = await ours()
    between = process_time()
    expected = await bare()
    ended = process_time()
    assert found == expected == REPLY
    return between - begun, ended - between


async def measure(base_url: str) -> dict[str, tuple[float, float, float]]:
    """For each kind of call the ratio, and the CPU of either side in ms."""
    found: dict[str, tuple[float, float, float]] = {}
    async with both(base_url) as kinds:
        for what, (mine, theirs) in kinds.items():
            for _ in range(WARM):
                await pair(mine, theirs)
            gc.freeze()
            pairs = [await pair(mine, theirs) for _ in range(PAIRS)]
            ratio = median(ours / bare for ours, bare in pairs)
            found[what] = ratio, median(ours for ours, _ in pairs) * 1e3, median(bare for _, bare in pairs) * 1e3
    return found


def main() -> int:
    """Starts the server, measures, prints."""
    logging.disable(logging.CRITICAL)
    server = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.adapter", "--serve"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        found = asyncio.run(measure(f"http://127.0.0.1:{int(server.stdout.readline())}/v1"))
    finally:
        server.terminate()
        server.wait()
    for what, (ratio, ours, bare) in found.items():
        limit = f"at most {LIMIT}" if what == "a whole call" else ""
        over = "  OVER" if limit and ratio > LIMIT else ""
        print(f"CPU of {what} beside the SDK's{ratio:>9.2f} times  {limit}{over}  ({ours:.2f} ms to {bare:.2f} ms)")
    return int(found["a whole call"][0] > LIMIT)


if __name__ == "__main__":
    sys.exit(serve() if "--serve" in sys.argv else main())
