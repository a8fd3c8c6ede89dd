"""`falai draft`: a flow from what somebody asks for, by a real small server on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.program import PATIENCE, Finished, command, falai
from falai.cli.flows.specfile import spec_text
from falai.flow.documents import read_json, read_yaml
from model.drafts import BAD, GOOD, NULLS, ODD, REQUEST
from model.loopback import Answer, ChatServer, chat_server, cuts, fails, says, slow

pytestmark = pytest.mark.servers

AGENT = """\
name: Lia
fields:
  title: {type: string, description: the book, ask: Ask which book.}
  branch: {type: string, enum: [north, harbour]}
actions:
  hold: {description: Puts a book aside., parameters: {title: {type: string}}}
flows:
  - {id: person, name: A person, steps: [{id: moment, kind: say, say: I will get someone.}]}
"""


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    file = tmp_path / "agent.yaml"
    file.write_text(AGENT, encoding="utf-8")
    return file


@contextmanager
def _serving(answers: Sequence[Any]) -> Iterator[ChatServer]:
    sent = [
        one if isinstance(one, Answer) else says(one if isinstance(one, str) else json.dumps(one)) for one in answers
    ]
    with chat_server(sent) as server:
        yield server
        assert server.left == [], "an answer was not asked for"


def _draft(agent: Path | None, answers: Sequence[Any], *more: str | Path, request: str = REQUEST) -> Finished:
    named = [] if agent is None else ["--agent", str(agent)]
    with _serving(answers) as server:
        return command(
            "draft", request, *named, "--model", "openai:any", "--base-url", server.base_url, *more,
            env={"OPENAI_API_KEY": "made-up"},
        )  # fmt: skip


def test_the_program_gives_a_file_that_can_be_used(agent: Path) -> None:
    """In a process of its own: standard output holds the spec and nothing else, the rest is on standard error."""
    with _serving([NULLS]) as server:
        done = falai("draft", REQUEST, "--agent", agent, "--model", "openai:any", "--base-url", server.base_url)
    assert done.code == 0, done.err
    assert json.loads(done.out) == GOOD
    assert "Hold a book" in done.err
    assert "keep" in done.err, "the flow is told in words"
    assert "4 steps in one call to the model, 100 tokens read, 9 written." in done.err
    assert REQUEST in server.requests[0]["messages"][1]["content"]


def test_the_request_may_come_from_standard_input(agent: Path) -> None:
    """`-` reads it."""
    with _serving([GOOD]) as server:
        done = falai(
            "draft", "-", "--agent", agent, "--model", "openai:any", "--base-url", server.base_url, typed="Olá\nlivro"
        )
    assert done.code == 0, done.err
    assert "Olá\nlivro" in server.requests[0]["messages"][1]["content"]


_PROGRAM = (sys.executable, "-m", "falai.cli", "draft")
_ENV = {**os.environ, "OPENAI_API_KEY": "made-up", "PYTHONIOENCODING": "utf-8:strict"}


def _asking(agent: Path, server: ChatServer) -> list[str]:
    return [*_PROGRAM, REQUEST, "--agent", str(agent), "--model", "openai:any", "--base-url", server.base_url]


@pytest.mark.parametrize(("typed", "told"), [(b"ol\xe1", "not in UTF-8"), (b" \n", "is blank"), (None, "is blank")])
def test_what_is_no_request_on_standard_input(typed: bytes | None, told: str) -> None:
    """Bytes that are no UTF-8, nothing, and an input that is closed: in words, before a call."""
    program = [*_PROGRAM, "-", "--model", "openai:any"]
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *program]
    done = subprocess.run(
        closed if typed is None else program, input=typed, capture_output=True, env=_ENV, timeout=PATIENCE, check=False
    )
    assert done.returncode == 2
    assert told in done.stderr.decode()


def test_a_file_gets_all_characters(agent: Path) -> None:
    """JSON is UTF-8, whatever the locale says."""
    flow = {**GOOD, "name": "Livro 📚"}
    with _serving([flow]) as server:
        done = subprocess.run(
            _asking(agent, server), capture_output=True, env={**_ENV, "PYTHONIOENCODING": "latin-1"}, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
    assert json.loads(done.stdout) == flow


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_what_cannot_be_written_is_not_lost(agent: Path) -> None:
    """It has cost a call: it is shown, and the exit code says that it is not where it should be."""
    with _serving([GOOD]) as server, Path("/dev/full").open("w") as full:
        done = subprocess.run(
            _asking(agent, server), stdout=full, stderr=subprocess.PIPE, env=_ENV, timeout=PATIENCE, check=False
        )
    assert done.returncode == 2
    assert b'"hold-book"' in done.stderr
    assert b"Traceback" not in done.stderr


def test_what_is_stopped_keeps_what_there_is(agent: Path) -> None:
    """Ctrl-C shows the attempt that was judged already."""
    with chat_server([says(json.dumps(BAD)), slow(says(json.dumps(GOOD)), PATIENCE)]) as server:
        process = subprocess.Popen(
            _asking(agent, server),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_ENV,
            text=True,
            encoding="utf-8",
        )
        assert process.stderr is not None
        assert "Attempt 1: 3 problems" in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (130, "")
    assert "Stopped." in err
    assert '"titel"' in err


def test_each_attempt_is_told(agent: Path) -> None:
    """A flow that was mended, and one that can run but has a warning."""
    done = _draft(agent, [BAD, ODD, ODD])
    assert (done.code, json.loads(done.out)) == (0, ODD)
    for line in (
        "Attempt 1: 3 problems and 1 warning.",
        "Attempt 2: 1 warning.",
        "in 3 calls to the model",
        "warning[unknown-flow]",
    ):
        assert line in done.err


@pytest.mark.parametrize("name", ["flow.json", "flow.yaml", "flow.yml"])
def test_into_a_file(agent: Path, name: str) -> None:
    """`--out` writes JSON or YAML; `falai check` reads it again."""
    out = agent.parent / name
    done = _draft(agent, [NULLS], "--out", out)
    assert (done.code, done.out) == (0, "")
    assert f"It is in {out}." in done.err
    text = out.read_text(encoding="utf-8")
    assert (read_json if name.endswith(".json") else read_yaml)(text) == GOOD
    assert command("check", out, "--agent", agent).code == 0


def test_no_flow_that_holds(agent: Path) -> None:
    """Exit code 1; what is wrong and the last attempt are shown, and nothing goes to standard output."""
    done = _draft(agent, [BAD, BAD], "--tries", "2")
    assert (done.code, done.out) == (1, "")
    assert "No flow that holds came of it in 2 attempts." in done.err
    assert "error[bad-duration]" in done.err
    assert '"titel"' in done.err


def test_the_last_attempt_goes_where_it_was_asked(agent: Path) -> None:
    """With `--out` it is in the file, to be mended by hand."""
    out = agent.parent / "flow.json"
    done = _draft(agent, [BAD], "--tries", "1", "--out", out)
    assert done.code == 1
    assert json.loads(out.read_text(encoding="utf-8")) == BAD
    none = _draft(agent, ["I cannot"], "--tries", "1", "--out", agent.parent / "other.json")
    assert (none.code, "I cannot" in none.err) == (1, True)


def test_without_an_agent_it_says_what_is_missing() -> None:
    """The flow can be no more than words then."""
    words = {"id": "hi", "name": "Hi", "on": [{"message": ["says hello"]}],
             "steps": [{"id": "a", "kind": "say", "say": "Hello."}]}  # fmt: skip
    done = _draft(None, [words])
    assert (done.code, json.loads(done.out)) == (0, words)
    assert "With --agent" in done.err


def test_the_language_is_passed_on(agent: Path) -> None:
    """`--language` says what texts are written in."""
    with _serving([GOOD]) as server:
        command("draft", REQUEST, "--agent", agent, "--model", "openai:any", "--base-url", server.base_url,
                "--language", "pt-BR")  # fmt: skip
    assert '"pt-BR"' in server.requests[0]["messages"][1]["content"]


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        ([fails(401, "no such key")], "did not accept the key"),
        ([fails(429, "slow down", {"retry-after": "60"})], "wants fewer calls"),
        ([BAD, fails(500, "oops", {"retry-after": "60"})], "overloaded or down"),
    ],
)
def test_a_provider_that_fails(agent: Path, answers: Sequence[Any], told: str) -> None:
    """Plain words, and exit code 2."""
    done = _draft(agent, answers)
    assert (done.code, done.out) == (2, "")
    assert told in done.err
    assert ('"titel"' in done.err) == (BAD in answers), "the last attempt is not lost"


def test_a_server_that_hangs_up(agent: Path) -> None:
    """It is tried again as any call is, then told."""
    done = _draft(agent, [cuts()] * 4)
    assert (done.code, "could not be reached" in done.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["x", "--model", "lexical"], "the lexical model cannot write flows"),
        (["x"], "name the model that writes"),
        (["x", "--base-url", "http://127.0.0.1:9/v1"], "name a model"),
        (["x", "--model", "opanai:x"], "unknown model"),
        ([" ", "--model", "openai:x"], "the request is blank"),
        (["x", "--model", "openai:x", "--out", "flow.txt"], "neither JSON nor YAML"),
        (["x", "--model", "openai:x", "--out", "{here}/agent.yaml"], "already"),
        (["x", "--model", "openai:x", "--out", "{here}/no/flow.json"], "there is no folder"),
        (["x", "--model", "openai:x", "--agent", "no.yaml"], "there is no file no.yaml"),
        (["x", "--model", "openai:x", "--tries", "0"], "--tries"),
    ],
)
def test_what_cannot_be_asked(agent: Path, arguments: Sequence[str], told: str) -> None:
    """Exit code 2, before a call is made."""
    given_ = [argument.replace("{here}", str(agent.parent)) for argument in arguments]
    done = command("draft", *given_, env={"FALAI_MODEL": "", "OPENAI_API_KEY": "made-up"})
    assert (done.code, done.out) == (2, "")
    assert told in " ".join(done.err.split())


def test_the_agent_s_own_model_without_its_key(tmp_path: Path) -> None:
    """It is told before a call, as for a model that is named."""
    desk = tmp_path / "desk.py"
    desk.write_text('from falai import Agent\nagent = Agent(name="A", model="openai:any")\n', encoding="utf-8")
    done = command("draft", "x", "--agent", desk, env={"FALAI_MODEL": None, "OPENAI_API_KEY": None})
    assert (done.code, "needs a key" in done.err) == (2, True)


def test_what_a_model_writes_cannot_steer_the_terminal(agent: Path) -> None:
    """On standard output such characters are escapes of JSON, elsewhere they are taken out."""
    steps = [
        *GOOD["steps"][:3],
        {"id": "told", "kind": "say", "say": "\x1b[2J\x9b2J\u202e ok", "then": {"flow": "\x9b"}},
    ]
    done = _draft(agent, [{**GOOD, "steps": steps}], "--tries", "1")
    assert json.loads(done.out)["steps"] == steps
    assert not {"\x1b", "\x9b", "\u202e"} & {*done.out, *done.err}


@pytest.mark.property
@given(st.recursive(st.text() | st.booleans() | st.integers(-(10**6), 10**6), lambda inner: st.lists(inner, max_size=3)
       | st.dictionaries(st.text(), inner, max_size=3), max_leaves=8))  # fmt: skip
def test_a_spec_is_the_same_when_it_is_read_again(value: Any) -> None:
    """JSON and YAML hold every text as it is."""
    assert read_json(spec_text({"id": value})) == {"id": value}
    assert read_yaml(spec_text({"id": value}, Path("x.yaml"))) == {"id": value}
