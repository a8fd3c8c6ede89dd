"""`falai run` on PostgreSQL."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.program import AGENTS
from cli.running import lines_of, run_once, running
from host.ledger.ledgers import postgres_url
from servers.process import Server

pytestmark = pytest.mark.servers
MESSAGE = {"session": "s1", "id": "m1", "message": "hello"}


def test_after_a_kill_it_goes_on(tmp_path: Path, postgres_server: Server) -> None:
    """As on a file: the input is played again, with the same key for its action, and answered once."""
    store = postgres_url(postgres_server, "falai_run")
    busy, keys = tmp_path / "busy", tmp_path / "keys.txt"
    busy.touch()
    with running(AGENTS / "working.py", folder=tmp_path, env={"FALAI_STORE": store}) as host:
        host.tell(**MESSAGE)
        host.wait_for_log("WORKING")
        host.kill()
    busy.unlink()
    rest = run_once(
        AGENTS / "working.py", "--once", folder=tmp_path, typed=json.dumps(MESSAGE), env={"FALAI_STORE": store}
    )
    assert rest.returncode == 0
    assert [line["text"] for line in lines_of(rest, "message")] == ["It is done."]
    first, second = keys.read_text().split()
    assert first == second


def test_a_server_that_is_not_there_is_said_without_its_password(tmp_path: Path) -> None:
    """In words, and exit code 1."""
    store = "postgresql://me:s3cr3t@127.0.0.1:9/shop?connect_timeout=2"
    done = run_once(AGENTS / "timers.py", "--once", folder=tmp_path, env={"FALAI_STORE": store})
    assert done.returncode == 1
    assert "cannot be opened: " in done.stderr
    assert "Traceback" not in done.stderr
    assert "s3cr3t" not in done.stderr + done.stdout
