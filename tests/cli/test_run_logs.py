"""The log of a program that runs: its form, and what is never on it."""

from __future__ import annotations

import json
import logging

import pytest

from falai.cli.running.logs import logging_to_stderr
from falai.log import line

LOG = logging.getLogger("falai.host")


def test_lines_of_text(capsys: pytest.CaptureFixture[str]) -> None:
    """When, how grave, what and where, then words; what is not known is left out."""
    with logging_to_stderr("info", "text", ()):
        LOG.info("it is sent", extra=line("message.sent", ms=5) | {"session": "s1"})
        LOG.debug("not of this level")
    when, rest = capsys.readouterr().err.split(" ", 1)
    assert len(when) == len("2026-11-30T09:00:00.000Z")
    assert rest == "INFO message.sent session=s1 ms=5: it is sent\n"


def test_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    """An object a line, with a traceback where there is one; values of any type."""
    with logging_to_stderr("debug", "json", ()):
        failure = RuntimeError("no luck")
        LOG.error("it failed: %s", "é", exc_info=failure, extra=line("host.failed", error=ValueError))
    (said,) = map(json.loads, capsys.readouterr().err.splitlines())
    assert said["traceback"].endswith("RuntimeError: no luck")
    assert {key: said[key] for key in ("level", "logger", "action", "message")} == {
        "level": "error", "logger": "falai.host", "action": "host.failed", "message": "it failed: é",
    }  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json"])
def test_nobody_writes_a_line_by_an_id(capsys: pytest.CaptureFixture[str], form: str) -> None:
    """Ids come from outside: what would begin a line, or move the cursor of a terminal, is shown as text."""
    with logging_to_stderr("info", form, ("two\nlines",)):
        LOG.info("it says two\nlines", extra={"session": "s\n2026-11-30 INFO forged \x1b[2J"})
    (said,) = capsys.readouterr().err.splitlines()
    assert "s\\n2026-11-30 INFO forged" in said
    assert "\x1b" not in said
    assert "lines" not in said


@pytest.mark.parametrize("form", ["text", "json"])
def test_no_secret_is_on_a_line(capsys: pytest.CaptureFixture[str], form: str) -> None:
    """Not in the words, not in what stands beside them, not in a traceback, nor quoted."""
    secrets = ["s3cr3t", 'with "quotes" \\', "longer s3cr3t"]
    with logging_to_stderr("info", form, secrets):
        failure = RuntimeError(f"{secrets!r}")
        LOG.error("the secrets %s", " ".join(secrets), exc_info=failure, extra=line("x", error=secrets[1]))
    said = capsys.readouterr().err
    assert "***" in said
    assert [word for word in ("s3cr3t", "quotes", "longer") if word in said] == []


def test_other_loggers_are_heard_when_they_warn(capsys: pytest.CaptureFixture[str]) -> None:
    """Afterwards nothing is left of it."""
    with logging_to_stderr("info", "text", ()):
        logging.getLogger("elsewhere").warning("odd")
        logging.getLogger("elsewhere").info("usual")
    assert capsys.readouterr().err.endswith("WARNING elsewhere: odd\n")
    LOG.info("nobody hears this")
    assert capsys.readouterr().err == ""


def test_an_error_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    """What a driver warns of beside the error that it raises is no line; its pool says why there is no connection."""
    with logging_to_stderr("info", "text", ()):
        logging.getLogger("psycopg").warning("error ignored")
        logging.getLogger("psycopg.transaction").warning("error ignored in rollback")
        logging.getLogger("psycopg").error("an error")
        logging.getLogger("psycopg.pool").warning("connection refused")
    assert [said.rsplit(": ", 1)[1] for said in capsys.readouterr().err.splitlines()] == [
        "an error", "connection refused",
    ]  # fmt: skip
