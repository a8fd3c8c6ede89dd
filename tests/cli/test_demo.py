"""`falai demo` as it is started for real: the playground, for whoever opens its address first."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path

import httpx2
import pytest

from cli.program import AGENTS, PATIENCE
from cli.serving import ended, serving

TICK = AGENTS / "timers.py"
ADDRESS = r"(http://127\.0\.0\.1:\d+/\?token=[\w-]{43})"


def test_a_conversation_in_the_playground(tmp_path: Path) -> None:
    """The address opens it once; then the page and its API are there for that browser, and for nobody else."""
    with serving("demo", TICK, "--port", "0", folder=tmp_path) as server, httpx2.Client(timeout=PATIENCE) as browser:
        address = server.wait_for(ADDRESS)
        assert httpx2.get(f"{server.url}/playground/api/state").status_code == 401
        page = browser.get(address, follow_redirects=True)
        assert (page.status_code, page.url.path) == (200, "/playground/")
        assert "script-src 'self' 'sha256-" in page.headers["content-security-policy"]
        assert httpx2.get(address).status_code == 401
        state = f"{server.url}/playground/api/state"
        assert browser.get(state).json()["branch"]
        assert browser.get(state, headers={"Host": "evil.example"}).status_code == 421
        new = f"{server.url}/playground/api/new"
        assert browser.post(new, json={}).status_code == 403
        meant = {"Origin": server.url, "X-Falai": "playground"}
        assert browser.post(new, json={}, headers=meant).status_code == 200
        assert browser.post(new, json={}, headers={**meant, "Origin": "https://evil.example"}).status_code == 403
        assert server.ended(signal.SIGINT) == 0
        assert address.partition("=")[2] not in server.err
    assert list(tmp_path.iterdir()) == []


def test_the_example_without_a_name(tmp_path: Path) -> None:
    """At the usual port, or a free one when that is taken."""
    with serving("demo", folder=tmp_path) as first:
        first.wait_for(ADDRESS)
        with serving("demo", folder=tmp_path) as second:
            second.wait_for(ADDRESS)
            assert first.url != second.url
            assert (first.ended(), second.ended()) == (0, 0)


def test_a_browser_is_opened_without_the_address_on_a_command_line(tmp_path: Path) -> None:
    """Where others see it: the browser gets a file, which only this user may read, and which is gone at the end."""
    program, seen = tmp_path / "browser", tmp_path / "seen"
    program.write_text(
        f'#!/bin/sh\necho "$@" > {seen}.tmp\nls -l "${{1#file://}}" >> {seen}.tmp\ncat "${{1#file://}}" >> {seen}.tmp\nmv {seen}.tmp {seen}\n'
    )
    program.chmod(0o755)
    with serving("demo", TICK, "--port", "0", "--open", folder=tmp_path, env={"BROWSER": f"{program} %s"}) as server:
        address = server.wait_for(ADDRESS)
        for _ in range(600):
            if seen.exists():
                break
            time.sleep(0.05)
        given, rights, *page = seen.read_text().splitlines()
        assert server.ended() == 0
    assert address.partition("=")[2] not in given
    assert rights.startswith("-rw-------")
    assert address in "".join(page)
    assert not Path(given.removeprefix("file://")).exists()


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """One that was asked for by its number."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        code, err = ended("demo", TICK, "--port", str(taken.getsockname()[1]), folder=tmp_path)
    assert (code, "it cannot listen on port" in err) == (1, True)


@pytest.mark.parametrize("agent", ["nowhere.py", "json"])
def test_an_agent_that_is_not_there(tmp_path: Path, agent: str) -> None:
    """It is said what is missing."""
    code, err = ended("demo", agent, "--port", "0", folder=tmp_path)
    assert (code, "Error: " in err) == (1, True)
