"""`falai run` as it is started for real: lines in, messages out, signals, kills, and what it says of mistakes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.program import AGENTS, PATIENCE, command
from cli.running import environment, lines_of, run_once, running

TICK = AGENTS / "timers.py"
BUSY = AGENTS / "working.py"


def _message(id: str, text: str = "hello, I want a reminder", session: str = "s1", **more: Any) -> str:
    return json.dumps({"session": session, "id": id, "message": text, **more}) + "\n"


# --- lines ------------------------------------------------------------------------------------


def test_lines_in_and_lines_out(tmp_path: Path) -> None:
    """Each line is answered once it is durable, and what is said comes out with its address and a key."""
    done = run_once(TICK, "--once", folder=tmp_path, typed=_message("m1", address="+55"))
    assert done.returncode == 0
    assert lines_of(done, "received") == [{"type": "received", "session": "s1", "key": "message:m1", "new": True}]
    (said,) = lines_of(done, "message")
    assert {key: said[key] for key in ("session", "address", "text")} == {
        "session": "s1", "address": "+55", "text": "I will come back.",
    }  # fmt: skip
    assert said["idempotencyKey"]
    assert (tmp_path / "falai.db").exists()


def test_a_line_that_comes_again_is_known(tmp_path: Path) -> None:
    """In the same run and in the next one: it is said so, and nothing is said twice."""
    first = run_once(TICK, "--once", folder=tmp_path, typed=_message("m1") * 2)
    again = run_once(TICK, "--once", folder=tmp_path, typed=_message("m1"))
    assert [line["new"] for line in lines_of(first, "received") + lines_of(again, "received")] == [True, False, False]
    assert [line["text"] for line in lines_of(first, "message")] == ["I will come back."]


def test_a_line_that_is_refused_stops_nothing(tmp_path: Path) -> None:
    """Its number and the reason are told, on both outputs; the lines around it are taken."""
    channel = json.dumps({"session": "s1", "id": "m2", "message": "x", "channel": "whatsapp"}) + "\n"
    done = run_once(TICK, "--once", folder=tmp_path, typed=f"hello\n{channel}\n{_message('m1')}")
    refused = lines_of(done, "refused")
    assert [line["line"] for line in refused] == [1, 2]
    assert "it is no JSON" in refused[0]["why"]
    assert refused[1]["why"] == 'there is no channel "whatsapp"; there is lines'
    assert "run.refused number=1: line 1 is refused: it is no JSON" in done.stderr
    assert len(lines_of(done, "message")) == 1


def test_a_person_takes_over_and_gives_back(tmp_path: Path) -> None:
    """`human` is sent and keeps the assistant silent, until `release`."""
    with running(TICK, folder=tmp_path) as host:
        host.tell(session="s1", id="h1", human="Rui here.", by="Rui")
        host.wait_for(type="message", text="Rui here.", kind="human")
        host.tell(session="s1", id="m1", message="I want a reminder")
        host.tell(session="s1", release=True)
        host.wait_for(type="received", held=False)
        host.tell(session="s1", hold="Rui again")
        host.wait_for(type="received", held=True)
        host.signal(signal.SIGTERM)
        assert host.ended() == 0
        assert host.texts == ["Rui here."]


def test_what_the_authors_code_prints_is_no_line(tmp_path: Path) -> None:
    """Standard output is the host's; a `print` in an action goes to the log."""
    done = run_once(BUSY, "--once", folder=tmp_path, typed=_message("m1"))
    assert "WORKING" in done.stderr
    assert [line["text"] for line in lines_of(done, "message")] == ["It is done."]


def test_timers_go_on_when_the_input_has_ended(tmp_path: Path) -> None:
    """Without `--once` it runs until a signal."""
    with running(TICK, folder=tmp_path) as host:
        host.tell(**json.loads(_message("m1")))
        host.end_input()
        host.wait_for_log("standard input has ended")
        host.wait_for(type="message", text="Here I am again.")
        host.signal(signal.SIGINT)
        assert host.ended() == 0
    assert "run.stopping: it stops: SIGINT" in host.err


def test_a_reader_that_goes_away_ends_it(tmp_path: Path) -> None:
    """A message that nobody read is not lost: the next start prints it."""
    piped = subprocess.run(
        ["sh", "-c", '"$0" -m falai.cli run "$1" 2>log.txt | true', sys.executable, str(TICK)],
        input=_message("m1"), text=True, cwd=tmp_path, env=environment(tmp_path), check=False, timeout=60,
    )  # fmt: skip
    assert piped.returncode == 0
    assert "nobody reads standard output" in (tmp_path / "log.txt").read_text()
    with running(TICK, folder=tmp_path) as host:
        host.wait_for(type="message", text="I will come back.")


# --- files in a folder ------------------------------------------------------------------------


def test_files_in_a_folder_are_taken_while_it_runs(tmp_path: Path) -> None:
    """A file that is renamed into the folder is played and gone; its bad lines are kept aside."""
    spool = tmp_path / "in"
    spool.mkdir()
    with running(TICK, "--spool", spool, folder=tmp_path) as host:
        host.wait_for_log("run.started")
        (spool / "1.part").write_text(_message("m1") + "bad\n")
        (spool / "1.part").rename(spool / "1.jsonl")
        host.wait_for(type="message", text="I will come back.")
        host.signal(signal.SIGTERM)
        assert host.ended() == 0
    assert [path.name for path in spool.rglob("*")] == ["refused", "1.jsonl"]
    assert (spool / "refused" / "1.jsonl").read_text() == "bad\n"
    assert {line["type"] for line in host.out} == {"message"}


# --- the end ----------------------------------------------------------------------------------


def test_sigterm_lets_a_turn_finish(tmp_path: Path) -> None:
    """What was begun is finished within the grace: its message is out before the program ends."""
    (tmp_path / "busy").touch()
    with running(BUSY, folder=tmp_path, env={"FALAI_HOST__GRACE": "50s"}) as host:
        host.tell(**json.loads(_message("m1")))
        host.wait_for_log("WORKING")
        host.signal(signal.SIGTERM)
        host.wait_for_log("run.stopping: it stops: SIGTERM")
        (tmp_path / "busy").unlink()
        assert host.ended() == 0
    assert "run.stopped" in host.err
    assert len((tmp_path / "keys.txt").read_text().split()) == 1
    rest = run_once(BUSY, "--once", folder=tmp_path)
    assert host.texts + [line["text"] for line in lines_of(rest, "message")] == ["It is done."]


def test_sigterm_gives_back_what_takes_too_long(tmp_path: Path) -> None:
    """The program ends all the same, and the next start plays the input, with the same key for its action."""
    (tmp_path / "busy").touch()
    with running(BUSY, folder=tmp_path, env={"FALAI_HOST__GRACE": "0.1s"}) as host:
        host.tell(**json.loads(_message("m1")))
        host.wait_for_log("WORKING")
        host.signal(signal.SIGTERM)
        assert host.ended() == 0
    assert host.texts == []
    (tmp_path / "busy").unlink()
    rest = run_once(BUSY, "--once", folder=tmp_path)
    assert [line["text"] for line in lines_of(rest, "message")] == ["It is done."]
    first, second = (tmp_path / "keys.txt").read_text().split()
    assert first == second


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """Whoever cannot wait for the grace says so again."""
    (tmp_path / "busy").touch()
    with running(BUSY, folder=tmp_path, env={"FALAI_HOST__GRACE": "50s"}) as host:
        host.tell(**json.loads(_message("m1")))
        host.wait_for_log("WORKING")
        host.signal(signal.SIGTERM)
        host.wait_for_log("run.stopping")
        host.signal(signal.SIGTERM)
        assert host.ended() == 1


def test_after_a_kill_it_goes_on(tmp_path: Path) -> None:
    """In the middle of an action: the input is played again, with the same key, and answered once."""
    (tmp_path / "busy").touch()
    with running(BUSY, folder=tmp_path) as host:
        host.tell(**json.loads(_message("m1")))
        host.wait_for_log("WORKING")
        host.kill()
    (tmp_path / "busy").unlink()
    rest = run_once(BUSY, "--once", folder=tmp_path, typed=_message("m1"))
    assert [line["new"] for line in lines_of(rest, "received")] == [False]
    assert [line["text"] for line in lines_of(rest, "message")] == ["It is done."]
    first, second = (tmp_path / "keys.txt").read_text().split()
    assert first == second


def test_a_line_that_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    """However soon the kill comes; what is printed twice has the same key."""
    lines: list[dict[str, Any]] = []
    for number in range(3):
        with running(TICK, folder=tmp_path) as host:
            host.tell(**json.loads(_message("m1", session=f"s{number}")))
            host.wait_for(type="received", session=f"s{number}")
            host.kill()
        lines += host.out
    lines += lines_of(run_once(TICK, "--once", folder=tmp_path), "message")
    said = {line["idempotencyKey"]: line["session"] for line in lines if line.get("text") == "I will come back."}
    assert sorted(said.values()) == ["s0", "s1", "s2"]


def test_a_timer_survives_a_kill(tmp_path: Path) -> None:
    """It goes off in the next process."""
    with running(TICK, folder=tmp_path) as host:
        host.tell(**json.loads(_message("m1")))
        host.wait_for(type="message", text="I will come back.")
        host.kill()
    with running(TICK, folder=tmp_path) as host:
        host.wait_for(type="message", text="Here I am again.")


def test_two_hosts_on_one_file_are_one_too_many(tmp_path: Path) -> None:
    """The second says so and ends; the first goes on."""
    with running(TICK, folder=tmp_path) as host:
        host.wait_for_log("run.started")
        second = run_once(TICK, "--once", folder=tmp_path)
        assert second.returncode == 1
        assert "falai.db is in use: another host runs on it" in second.stderr
        assert "Traceback" not in second.stderr
        host.tell(**json.loads(_message("m1")))
        host.wait_for(type="message", text="I will come back.")


@pytest.mark.parametrize(
    ("store", "words"), [("junk.db", "file is not a database"), ("gone/falai.db", ""), ("folder", "")]
)
def test_a_store_that_cannot_be_opened_is_said_in_words(tmp_path: Path, store: str, words: str) -> None:
    """It is named, and the exit code is 1."""
    (tmp_path / "junk.db").write_text("this is no database, however long it is read" * 50)
    (tmp_path / "folder").mkdir()
    done = run_once(TICK, "--once", "--store", store, folder=tmp_path)
    assert done.returncode == 1
    assert f"Error: {store} cannot be opened: " in done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_closed_output_is_said_in_words(tmp_path: Path) -> None:
    """There is nowhere to answer."""
    closed = ["sh", "-c", '"$@" >&-', "sh", sys.executable, "-m", "falai.cli", "run", str(TICK), "--once"]
    done = subprocess.run(
        closed,
        input="", stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False, cwd=tmp_path,
        env=environment(tmp_path),
    )  # fmt: skip
    assert done.returncode == 1
    assert "Error: standard output is closed" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_driver_that_is_missing_is_named(tmp_path: Path) -> None:
    """With what to install."""
    (tmp_path / "psycopg.py").write_text('raise ModuleNotFoundError("gone", name="psycopg")')
    done = run_once(
        TICK, "--once", "--store", "postgresql://localhost/x", folder=tmp_path, env={"PYTHONPATH": str(tmp_path)}
    )
    assert done.returncode == 1
    assert 'Error: a host on PostgreSQL needs psycopg: pip install "falai[postgres]"' in done.stderr


def test_a_full_inbox_holds_the_sender_up(tmp_path: Path) -> None:
    """A line is taken when there is room for it, and none is lost."""
    (tmp_path / "busy").touch()
    with running(BUSY, folder=tmp_path, env={"FALAI_HOST__SESSION_LIMIT": "1"}) as host:
        for number in range(3):
            host.tell(**json.loads(_message(f"m{number}")))
        host.wait_for_log("WORKING")
        host.wait_for(type="received", key="message:m0")
        assert [line["key"] for line in host.out if line["type"] == "received"] == ["message:m0"]
        (tmp_path / "busy").unlink()
        host.wait_for(type="received", key="message:m2")
        host.end_input()
        host.signal(signal.SIGTERM)
        assert host.ended() == 0
    assert "refused" not in {line["type"] for line in host.out}


def test_a_sender_that_waits_is_no_trouble_at_the_end(tmp_path: Path) -> None:
    """Its lines were not taken, and it brings them again; nothing but the log is on standard error."""
    (tmp_path / "busy").touch()
    settings = {"FALAI_HOST__SESSION_LIMIT": "1", "FALAI_HOST__GRACE": "0s"}
    with running(BUSY, folder=tmp_path, env=settings) as host:
        for number in range(30):
            host.tell(**json.loads(_message(f"m{number}")))
        host.wait_for_log("WORKING")
        host.wait_for(type="received", key="message:m0")
        host.signal(signal.SIGTERM)
        assert host.ended() == 0
    assert "Traceback" not in host.err


# --- mistakes ---------------------------------------------------------------------------------


def test_a_wrong_configuration_is_told_whole(tmp_path: Path) -> None:
    """Exit code 2, every problem with its place, and nothing is written."""
    (tmp_path / "falai.toml").write_text('stroe = "x"\n[host]\nburst = "soon"\n[windows.answers]\nhours = "9-18"\n')
    done = run_once(TICK, folder=tmp_path, env={"FALAI_HOST__AT_ONCE": "0"})
    assert done.returncode == 2
    assert "the configuration has 4 problems:" in done.stderr
    for place in (
        "falai.toml: stroe",
        "falai.toml: host.burst",
        "falai.toml: windows.answers.hours",
        "FALAI_HOST__AT_ONCE",
    ):
        assert f"  {place}: " in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["falai.toml"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "agent: no agent is named: write its module or file"),
        (["nowhere.py"], "  agent: there is no file nowhere.py"),
        ([f"{AGENTS / 'broken.py'}:mistaken"], "has 2 problems:\n  flows[0].steps[0].collect"),
        ([TICK, "--config", "gone.toml"], "gone.toml: it cannot be read: No such file"),
        ([TICK, "--spool", "gone"], '--spool: there is no folder "gone"'),
        ([TICK, "--store", "redis://localhost"], '--store: a host keeps nothing in "redis://"'),
        ([TICK, "--model", "gpt"], 'unknown model "gpt"'),
        ([TICK, "--model", "openai:gpt-5-mini"], "the environment variable OPENAI_API_KEY is not set"),
        ([TICK, "--store", "postgresql://me:s3cr3t/x@host/db"], "  store: the URL cannot be understood"),
        (["nowhere.py", "--model", "gpt"], '  model: unknown model "gpt"'),
    ],
)
def test_what_cannot_be_run_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str | Path], words: str
) -> None:
    """What was found, what was expected, what to do; the same for `--check`; no secret is shown."""
    monkeypatch.chdir(tmp_path)
    for more in ([], ["--check"]):
        done = command("run", *arguments, *more, env={"FALAI_MODEL": None, "OPENAI_API_KEY": None})
        assert done.code == 2
        assert words in done.err
        assert "s3cr3t" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_check_opens_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the exit code says that all is well."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "falai.toml").write_text(f"agent = {str(TICK)!r}\n")
    done = command("run", "--check", env={"FALAI_MODEL": "lexical"})
    assert (done.code, done.out, done.err) == (0, "", "")
    assert [path.name for path in tmp_path.iterdir()] == ["falai.toml"]


def test_help_says_how_inputs_come_in() -> None:
    """The forms of a line, and the exit codes."""
    said = command("run", "--help").out
    assert '  {"session": "s1", "id": "m1", "message": "hello"' in said
    assert "Exit codes: 0" in " ".join(said.split())
