"""`falai run` is killed again and again, wherever it happens to be: nothing is lost, nothing is answered twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli.program import AGENTS
from cli.running import Running, lines_of, run_once, running

COUNT = AGENTS / "counting.py"
SESSIONS = 3


def _spooled(spool: Path, numbers: range) -> None:
    for number in numbers:
        line = {"session": f"s{number % SESSIONS}", "id": f"m{number}", "message": f"message {number}"}
        (spool / f"{number:04}.part").write_text(json.dumps(line) + "\n")
        (spool / f"{number:04}.part").rename(spool / f"{number:04}.jsonl")


def _said(lines: list[dict[str, str]]) -> dict[str, tuple[str, str]]:
    """Each message by its key; one that was printed twice is the same both times."""
    said: dict[str, tuple[str, str]] = {}
    for line in lines:
        found = (line["session"], line["text"])
        assert said.setdefault(line["idempotencyKey"], found) == found
    return said


def _killed_at(host: Running, count: int) -> list[dict[str, str]]:
    """Kills it when it has printed so many lines, wherever it is by then; gives what it had printed."""
    host.wait_for_count(count)
    host.kill()
    return host.out


@pytest.mark.faults
def test_killed_again_and_again(tmp_path: Path, full: bool) -> None:
    """Every message has its answers, once, in the order of its session; an action saw one key for each message."""
    spool = tmp_path / "in"
    spool.mkdir()
    rounds, each = (40 if full else 4), 6
    lines: list[dict[str, str]] = []
    for number in range(rounds):
        _spooled(spool, range(number * each, (number + 1) * each))
        with running(COUNT, "--spool", spool, folder=tmp_path) as host:
            lines += _killed_at(host, 5 * number % (each + 1))
    lines += lines_of(run_once(COUNT, "--spool", spool, "--once", folder=tmp_path), "message")
    said = _said(lines)
    for session in range(SESSIONS):
        mine = [text for whose, text in said.values() if whose == f"s{session}"]
        assert mine == ["One.", "Two."] * (rounds * each // SESSIONS)
    assert len(set((tmp_path / "keys.txt").read_text().splitlines())) == rounds * each
