"""The applications that have an assistant's API in them, each as its users run it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.program import PATIENCE, command
from servers.process import free_port

EXAMPLES = Path(__file__).parents[2] / "examples"


@contextmanager
def running(app: str, store: Path) -> Iterator[httpx2.Client]:
    """A client of the application, and of its assistant with a token."""
    port = free_port()
    token = command("token", "create", store, "--name", "shop", "--scope", "chat", "--scope", "read").out.strip()
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", app, "--port", str(port), "--log-level", "warning"],
        cwd=EXAMPLES, env={**os.environ, "FALAI_STORE": str(store)},
    )  # fmt: skip
    headers = {"Authorization": f"Bearer {token}"}
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=PATIENCE) as client:
            wait_for(client, process)
            yield client
        process.terminate()
        assert process.wait(PATIENCE) in (0, -15)  # uvicorn ends by the signal that it got
    finally:
        process.kill()
        process.wait(PATIENCE)


def wait_for(client: httpx2.Client, process: subprocess.Popen[bytes]) -> None:
    for _ in range(PATIENCE * 20):
        assert process.poll() is None, "it ended before it answered"
        try:
            client.get("/assistant/v1/health/live")
        except httpx2.ConnectError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("it does not answer")


def say(client: httpx2.Client, text: str, **more: Any) -> list[str]:
    answer = client.post("/assistant/v1/sessions/s1/messages", json={"id": text, "text": text}, **more)
    assert answer.status_code == 200, answer.text
    return [message["text"] for message in answer.json()["messages"]]


def test_an_application_of_fastapi(tmp_path: Path) -> None:
    """It does what it did, and its assistant answers whoever has a token."""
    with running("web_fastapi:app", tmp_path / "shop.db") as client:
        assert client.get("/prices").json() == {"visit": 50}
        assert say(client, "what are your opening hours?") == ["We are open from 9 to 18."]
        assert client.get("/assistant/v1/sessions/s1", headers={"Authorization": ""}).status_code == 401
        assert client.get("/assistant/v1/health/live", headers={"Host": "evil.example"}).status_code == 421
        assert "/v1/sessions/{session_id}/messages" in client.get("/assistant/v1/openapi.json").json()["paths"]


def test_a_project_of_django(tmp_path: Path) -> None:
    """Its pages stay, and a view of it reaches the host of the assistant beside it."""
    with running("web_django:application", tmp_path / "shop.db") as client:
        assert client.get("/").text == "The shop, at /"
        assert client.get("/nowhere").status_code == 404
        assert say(client, "good morning") == ["Hello! How can I help?"]
        for new in (True, False):
            assert client.post("/paid", json={"session": "s1", "payment": "p1"}).json() == {"new": new}
        for _ in range(PATIENCE * 20):
            lines = client.get("/assistant/v1/sessions/s1/transcript").json()
            if "your payment has arrived" in str(lines):
                break
            time.sleep(0.05)
        else:
            pytest.fail("the event was not played")
