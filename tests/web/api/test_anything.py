"""Whatever comes, the server does not fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.channel import WebhookChannel
from web.api.stage import Site, site

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(st.characters(), max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
KNOWN = st.sampled_from(
    ["text", "id", "at", "customer", "channel", "address", "attachments", "name", "key", "payload", "flow", "input",
     "reason", "skip", "by", "spec", "what", "session", "kind", "data", "steps", "say", "do", "on", "if"]
)  # fmt: skip
VALUES = JSON | st.sampled_from(["m1", "order.paid", "remind", "input", [{"kind": "image"}], {"id": "a", "steps": []}])
BODIES = st.binary(max_size=200) | st.dictionaries(KNOWN, VALUES, max_size=6) | JSON
PATHS = st.sampled_from(
    ["/v1/sessions/s1/messages?wait=0", "/v1/sessions/s1/events", "/v1/sessions/s1/starts", "/v1/sessions/s1/hold",
     "/v1/sessions/s1/people", "/v1/specs/validate", "/v1/dead/retry", "/v1/dead/drop", "/v1/channels/hook/webhook"]
)  # fmt: skip
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[asyncio.Runner, Site]]:
    """One site for all examples, in a loop of its own."""
    folder: Path = tmp_path_factory.mktemp("web")
    with asyncio.Runner() as runner:
        hook = WebhookChannel("https://example.com/hook", "a-secret")
        context = site(folder, channel={"hook": hook})
        yield runner, runner.run(context.__aenter__())
        runner.run(context.__aexit__(None, None, None))


def _encoded(body: object) -> bytes:
    return body if isinstance(body, bytes) else json.dumps(body).encode()


@pytest.mark.property
@given(path=PATHS, body=BODIES)
def test_any_body(served: tuple[asyncio.Runner, Site], path: str, body: object) -> None:
    """An arbitrary body is taken or refused, never a 500; a refusal is a problem document with a code of the table."""
    runner, home = served

    async def send() -> httpx2.Response:
        headers = {"Content-Type": "application/json"}
        return await home.client.post(path, content=_encoded(body), headers=headers)

    _fine(runner.run(send()))


@pytest.mark.property
@given(name=NAMES, query=st.dictionaries(st.sampled_from(["after", "before", "limit", "held", "wait"]), NAMES))
def test_any_name(served: tuple[asyncio.Runner, Site], name: str, query: dict[str, str]) -> None:
    """Neither is the name of a session, a flow or a channel, or a query."""
    runner, home = served
    quoted = "".join(f"%{byte:02X}" for byte in name.encode())

    async def send() -> list[httpx2.Response]:
        paths = [f"/v1/sessions/{quoted}", f"/v1/sessions/{quoted}/transcript", "/v1/sessions", f"/v1/flows/{quoted}"]
        return [await home.client.get(path, params=query) for path in (*paths, f"/v1/channels/{quoted}/webhook")]

    for answer in runner.run(send()):
        _fine(answer)


def _fine(answer: httpx2.Response) -> None:
    assert answer.status_code < 500
    if answer.status_code >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"] == f"urn:falai:problem:{answer.json()['code']}"
