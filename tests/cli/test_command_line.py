"""The command line itself: what it teaches, and what it says to a wrong word."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cli.program import AGENTS, chat, command, falai


@pytest.mark.parametrize(
    ("arguments", "example"),
    [
        (["--help"], "falai chat desk.py               talk to the agent of a file"),
        (["chat", "--help"], "falai chat --model openai:qwen --base-url http://localhost:8080/v1"),
        (["test", "--help"], "falai test tests/scenarios -k refuse"),
    ],
)
def test_help_teaches_by_examples(arguments: list[str], example: str) -> None:
    """Each command shows how it is used, line by line."""
    done = command(*arguments)
    assert done.code == 0
    assert f"  {example}\n" in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.py"], "there is no file nowhere.py"),
        (["no_such_module"], "there is no module no_such_module"),
        ([AGENTS / "timers.py:clerk"], "has no agent called clerk; it has agent: write"),
        ([f"{AGENTS / 'broken.py'}:raising"], "raised RuntimeError: no luck today"),
        ([f"{AGENTS / 'broken.py'}:raising"], 'raise RuntimeError("no luck today")'),
        ([f"{AGENTS / 'broken.py'}:mistaken"], "has 2 problems:\n  flows[0].steps[0].collect"),
        (["--model", "gpt"], 'unknown model "gpt": write "lexical", or one of openai:'),
        (["--base-url", "http://localhost:1"], "name a model, such as --model openai:my-model"),
    ],
)
def test_what_cannot_be_loaded_is_said_in_words(tmp_path: Path, arguments: list[str | Path], words: str) -> None:
    """No traceback: what was found, what was expected, what to do; nothing is written."""
    done = command("chat", *arguments, "--store", tmp_path / "chat.sqlite", env={"FALAI_MODEL": ""})
    assert done.code == 1
    assert words in done.err
    assert "Traceback" not in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_said_in_words(tmp_path: Path) -> None:
    """The chat's own file is named."""
    (tmp_path / "chat.sqlite").write_text("hello")
    done = command("chat", "--store", tmp_path / "chat.sqlite")
    assert done.code == 1
    assert "chat.sqlite cannot be used: file is not a database" in done.err


def test_a_file_that_is_damaged_is_said_in_words(tmp_path: Path) -> None:
    """It is a database, and its pages hold junk."""
    store = tmp_path / "chat.sqlite"
    assert chat(store, ["hello", "/quit"]).code == 0
    whole = bytearray(store.read_bytes())
    size = int.from_bytes(whole[16:18], "big")
    whole[size:] = b"\x55" * (len(whole) - size)
    store.write_bytes(whole)
    done = chat(store, ["hello"])
    assert (done.code, "Traceback" in done.err) == (1, False)
    assert "chat.sqlite cannot be used: database disk image is malformed" in done.err


@pytest.mark.parametrize("target", ["broken.py:fine", "timers.py", "timers.py:agent"])
def test_an_agent_is_found_in_a_file(tmp_path: Path, target: str) -> None:
    """By its name, or as `agent`."""
    done = falai("chat", AGENTS / target, "--store", tmp_path / "chat.sqlite", typed="/quit\n")
    assert (done.code, done.err) == (0, "")


def test_the_model_comes_from_the_environment(tmp_path: Path) -> None:
    """`FALAI_MODEL` names it; what is used is said in one line."""
    said = falai("chat", "--store", tmp_path / "chat.sqlite", env={"FALAI_MODEL": "lexical"}).out
    assert "Sofia speaks through the model lexical. It matches words and needs no key or network." in said
    wrong = command("chat", "--store", tmp_path / "chat.sqlite", env={"FALAI_MODEL": "lexicon"})
    assert 'unknown model "lexicon"' in wrong.err


KEYLESS: dict[str, str | None] = dict.fromkeys(
    ["OPENAI_API_KEY", "OPENAI_BASE_URL", "GOOGLE_API_KEY", "GEMINI_API_KEY"]
)


@pytest.mark.parametrize(
    ("name", "variable"), [("openai:x", "OPENAI_API_KEY"), ("google:x", "GOOGLE_API_KEY")]
)  # fmt: skip
def test_a_key_that_is_missing_is_said_at_the_start(tmp_path: Path, name: str, variable: str) -> None:
    """Of the model that is named: which variable, and what else one can do; nothing is written."""
    done = command("chat", "--model", name, "--store", tmp_path / "chat.sqlite", env=KEYLESS)
    assert (done.code, done.out) == (1, "")
    assert (
        f"Error: the model {name} needs a key, and the environment variable {variable} is not set: set it" in done.err
    )
    assert "--model lexical" in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_agent_without_a_key_can_still_be_looked_at(tmp_path: Path) -> None:
    """What its own model misses is said before anything is typed."""
    file = tmp_path / "desk.py"
    file.write_text('from falai import Agent\nagent = Agent(name="Ana", model="openai:x", flows=[])\n')
    done = command(
        "chat", file, "--store", tmp_path / "chat.sqlite", typed="/data\n", env={**KEYLESS, "FALAI_MODEL": ""}
    )
    assert done.code == 0
    assert "! Nobody can answer yet: the model openai:x needs a key, and" in done.out


def test_the_conversation_is_kept_in_the_data_folder(tmp_path: Path) -> None:
    """Without `--store` each agent has a file of its own there, and its place is said."""
    if sys.platform != "linux":
        pytest.skip("other systems keep data elsewhere")
    done = falai("chat", env={"XDG_DATA_HOME": str(tmp_path)})
    assert f"in {tmp_path / 'falai' / 'sofia.sqlite'}." in done.out
    assert (tmp_path / "falai" / "sofia.sqlite").is_file()


WITHOUT = """
import sys, importlib.util as util
found = util.find_spec
util.find_spec = lambda name: None if name == sys.argv[0] else found(name)
import falai.cli
falai.cli.main()
"""


def _without(package: str, *arguments: str | Path) -> str:
    """What the program says in a Python that has not installed this."""
    program = WITHOUT.replace("sys.argv[0]", repr(package))
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr.strip()


def test_without_the_extra_it_names_the_pip_command(tmp_path: Path) -> None:
    """A Python without click, one without a provider's package: one sentence, and no traceback."""
    assert _without("click") == 'falai: the command line needs click. Install it: pip install "falai[cli]"'
    said = _without("pydantic_ai", "chat", "--model", "openai:x", "--store", tmp_path / "chat.sqlite")
    assert said == 'Error: the model "openai:x" needs the package pydantic_ai: run pip install "falai[openai]"'
