"""`falai run` with a channel: what goes out by it, and where its secret never appears."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

import pytest

from cli.program import AGENTS, PATIENCE
from cli.running import run_once, running

TICK = AGENTS / "timers.py"
SECRET = "s3cr3t-of-the-hook"
MESSAGE = {"session": "s1", "id": "m1", "message": "hello, I want a reminder", "address": "+55"}


@contextmanager
def _server(*statuses: int) -> Iterator[tuple[str, SimpleQueue[dict[str, Any]]]]:
    """A receiver that answers with these, then with 200; gives its address and what came, signed well."""
    came: SimpleQueue[dict[str, Any]] = SimpleQueue()
    answers = [*statuses]

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            signed = f"{self.headers['webhook-id']}.{self.headers['webhook-timestamp']}.".encode() + body
            mac = base64.b64encode(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()).decode()
            assert self.headers["webhook-signature"] == f"v1,{mac}"
            status = answers.pop(0) if answers else 200
            if status == 200:
                came.put(json.loads(body))
            self.send_response(status)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/in?token={SECRET}", came
    finally:
        server.shutdown()
        server.server_close()


def _configured(folder: Path, url: str, *more: str) -> None:
    (folder / "hook.txt").write_text(SECRET)
    hook = ["[channels.hook]", 'kind = "webhook"', f'url = "{url}"', 'secret = { file = "hook.txt" }']
    (folder / "falai.toml").write_text("\n".join([f"agent = {str(TICK)!r}", *more, *hook]))


def test_messages_go_out_by_the_channel(tmp_path: Path) -> None:
    """Signed, in order, and not on standard output; what the receiver refused for a while comes later."""
    with _server(503) as (url, came):
        _configured(tmp_path, url, "[host]", 'send_retries = ["0.1s", "0.1s"]')
        with running(folder=tmp_path) as host:
            host.tell(**MESSAGE)
            host.wait_for(type="received", key="message:m1")
            host.wait_for_log("message.failed")
            said = [came.get(timeout=PATIENCE)["data"] for _ in range(2)]
        assert [message["text"] for message in said] == ["I will come back.", "Here I am again."]
        assert {message["address"] for message in said} == {"+55"}
        assert host.texts == []


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_ever_printed(tmp_path: Path, form: str) -> None:
    """Whatever goes wrong, at the most talkative level: not the channel's, not one in an address."""
    _configured(tmp_path, f"http://me:{SECRET}@127.0.0.1:9/in", "[log]", 'level = "debug"', f'format = "{form}"')
    done = run_once("--once", folder=tmp_path, typed=json.dumps(MESSAGE))
    assert done.returncode == 0
    assert "message.failed" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert SECRET not in (tmp_path / "falai.db").read_bytes().decode("latin-1")


def test_a_secret_that_is_missing_is_named(tmp_path: Path) -> None:
    """By the variable that should have it; the others are not shown."""
    _configured(tmp_path, "http://127.0.0.1:9/in")
    config = (tmp_path / "falai.toml").read_text().replace('file = "hook.txt"', 'env = "HOOK_SECRET"')
    (tmp_path / "falai.toml").write_text(config)
    done = run_once("--once", folder=tmp_path)
    assert done.returncode == 2
    assert "falai.toml: channels.hook.secret: the environment variable HOOK_SECRET is not set" in done.stderr
