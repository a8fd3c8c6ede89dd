"""`falai graph`: what is drawn for which command line, and what is said when nothing can be."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from cli.program import chat, command, falai

ROOT = Path(__file__).parents[2]
CLINIC = "falai.examples.clinic"


@pytest.fixture
def lead(tmp_path: Path) -> Path:
    """A flow in a file."""
    steps = [{"id": "who", "collect": ["name"]}, {"id": "bye", "say": "Thank you.", "then": {"flow": "human"}}]
    file = tmp_path / "lead.json"
    file.write_text(json.dumps({"id": "lead", "name": "A lead", "on": [{"message": ["asks"]}], "steps": steps}))
    return file


def test_one_flow_is_drawn_with_its_steps(lead: Path) -> None:
    """A terminal or a pipe gets text."""
    done = command("graph", lead)
    assert done.code == 0
    assert done.out == (
        "A lead (lead)\n\n(the customer wants: “asks”)\n│\n▼\n[who] asks for name\n│\n▼\n"
        "[bye] says “Thank you.”\n└───▶ flow human\n"
    )


def test_an_agent_is_drawn_as_a_map() -> None:
    """Of several flows: what starts each, and which leads to which; `--steps` adds each with its steps."""
    drawn = command("graph", CLINIC).out
    assert "─ from complete, other ──▶ A person of the clinic (person) ↓" in drawn
    assert "[who]" not in drawn
    assert "[who]" in command("graph", CLINIC, "--steps").out


def test_flows_are_chosen_by_id() -> None:
    """The flows that are named are drawn with their steps, in the order in which they are named."""
    drawn = command("graph", CLINIC, "--flow", "prices", "--flow", "person").out
    assert drawn.index("Prices (prices)") < drawn.index("A person of the clinic (person)")
    missing = command("graph", CLINIC, "--flow", "nobody")
    assert missing.code == 2
    assert "there is no flow nobody; there is book, move, cancel" in missing.err


@pytest.mark.parametrize(
    ("name", "begin"),
    [
        ("x.svg", "<svg "),
        ("x.mmd", "flowchart TD\n"),
        ("x.dot", "digraph "),
        ("x.gv", "digraph "),
        ("x.txt", "A lead (lead)\n"),
    ],
)
def test_the_ending_says_the_format(lead: Path, tmp_path: Path, name: str, begin: str) -> None:
    """`--out` picks the format; the file is UTF-8."""
    done = command("graph", lead, "--out", tmp_path / name)
    assert (done.code, done.out) == (0, "")
    assert (tmp_path / name).read_text(encoding="utf-8").startswith(begin)


def test_the_format_can_be_said(lead: Path, tmp_path: Path) -> None:
    """`--format` wins over the ending; an ending that says nothing needs it."""
    assert command("graph", lead, "--format", "dot").out.startswith("digraph")
    assert command("graph", lead, "--format", "mermaid", "--out", tmp_path / "x.svg").code == 0
    assert (tmp_path / "x.svg").read_text(encoding="utf-8").startswith("flowchart")
    unknown = command("graph", lead, "--out", tmp_path / "x.png")
    assert unknown.code == 2
    assert "has no ending that says its format (.svg, .mmd" in unknown.err


def test_a_file_that_cannot_be_written_is_told(lead: Path, tmp_path: Path) -> None:
    """A folder that is not there is a mistake of the command line."""
    done = command("graph", lead, "--out", tmp_path / "none" / "x.svg")
    assert done.code == 2
    assert "x.svg cannot be written" in done.err


# --- what is wrong -----------------------------------------------------------------------------


def test_a_flow_with_problems_is_drawn_and_they_are_told(tmp_path: Path) -> None:
    """What is wrong stands on stderr with its line; the drawing is whole."""
    file = tmp_path / "f.yaml"
    file.write_text("id: f\nsteps:\n  - id: a\n    say: Hello.\n    then: nowhere\n")
    done = command("graph", file)
    assert done.code == 0
    assert "└───▶ nowhere, which does not exist" in done.out
    assert "f.yaml:5: " in done.err
    assert '"nowhere"' in done.err


def test_what_cannot_be_drawn_ends_with_2(tmp_path: Path) -> None:
    """A wrong shape, no JSON, no file: each is told."""
    shape, broken = tmp_path / "shape.json", tmp_path / "broken.json"
    shape.write_text('{"id": "f", "steps": [{"id": "a"}]}')
    broken.write_text('{"id": ')
    for file, said in (
        (shape, "there is no flow that can be drawn"),
        (broken, "it cannot be read"),
        (tmp_path / "no.json", "no file"),
    ):
        done = command("graph", file)
        assert done.code == 2
        assert said in done.err


def test_of_several_files_the_good_ones_are_drawn(lead: Path, tmp_path: Path) -> None:
    """One bad file does not hide the others."""
    (tmp_path / "shape.json").write_text('{"id": "f", "steps": [{"id": "a"}]}')
    done = command("graph", tmp_path)
    assert done.code == 0
    assert "A lead (lead)" in done.out
    assert "shape.json" in done.err


# --- a conversation ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A conversation that is asked for a day."""
    file = tmp_path_factory.mktemp("chat") / "chat.sqlite"
    assert chat(file, ["I want to book a visit", "a check-up"], CLINIC, "--session", "s1").code == 0
    return file


def test_a_conversation_is_drawn_with_its_way(store: Path, tmp_path: Path) -> None:
    """The flows that it is in, with what was visited and where it stands."""
    drawn = command("graph", CLINIC, "--store", store, "--session", "s1").out
    assert drawn.startswith("Booking a visit (book)\n")
    assert "\n● [what] asks for service" in drawn
    assert "\n▶ [when] asks for day, time" in drawn
    command("graph", CLINIC, "--store", f"sqlite:///{store}", "--session", "s1", "--out", tmp_path / "x.svg")
    root = ET.fromstring((tmp_path / "x.svg").read_text(encoding="utf-8"))
    assert [one.attrib["data-step"] for one in root.iter() if "here" in one.get("class", "").split()] == ["when"]


def test_a_conversation_elsewhere_is_told(store: Path) -> None:
    """A flow that the conversation is not in is drawn without marks."""
    done = command("graph", CLINIC, "--flow", "prices", "--store", store, "--session", "s1")
    assert done.code == 0
    assert "the conversation s1 is in none of these flows (in progress: book)" in done.err
    assert "Prices (prices)" in done.out


def test_no_store_and_no_session_are_told(store: Path, tmp_path: Path) -> None:
    """Nothing is made that was not there; and one option needs the other."""
    gone = command("graph", CLINIC, "--store", tmp_path / "no.sqlite", "--session", "s1")
    assert (gone.code, "there is no file" in gone.err, (tmp_path / "no.sqlite").exists()) == (2, True, False)
    other = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(other)) as database:
        database.execute("CREATE TABLE birds (name TEXT)")
        wrong = command("graph", CLINIC, "--store", other, "--session", "s1")
        tables = database.execute("SELECT name FROM sqlite_master").fetchall()
    assert (wrong.code, "the store cannot be read: no such table" in wrong.err, tables) == (2, True, [("birds",)])
    nobody = command("graph", CLINIC, "--store", store, "--session", "nobody")
    assert (nobody.code, "the store has no conversation nobody" in nobody.err) == (2, True)
    odd = command("graph", CLINIC, "--store", "ftp://x", "--session", "s1")
    assert (odd.code, "the store cannot be read" in odd.err) == (2, True)
    alone = command("graph", CLINIC, "--store", store)
    assert (alone.code, "go together" in alone.err) == (2, True)


# --- the documentation's pictures --------------------------------------------------------------

PICTURES = {"aftercare.svg": ("graph", CLINIC, "--flow", "aftercare"), "clinic.svg": ("graph", CLINIC)}


@pytest.mark.parametrize("name", list(PICTURES))
def test_the_pictures_of_the_documentation_are_what_the_command_draws(name: str, tmp_path: Path) -> None:
    """Each is drawn again and is the same."""
    command(*PICTURES[name], "--out", tmp_path / name)
    kept = ROOT / "docs" / "pictures" / name
    drawn = (tmp_path / name).read_text(encoding="utf-8")
    again = f"draw it again: falai {' '.join(PICTURES[name])} --out docs/pictures/{name}"
    assert kept.read_text(encoding="utf-8") == drawn, again


def test_a_pipe_gets_utf_8_whatever_the_system_speaks(lead: Path) -> None:
    """Arrows and letters survive a shell that knows ASCII only."""
    assert "▼" in falai("graph", lead, env={"PYTHONIOENCODING": "ascii"}).out


@pytest.mark.parametrize("url", ["postgresql://u:half/part@127.0.0.1:1/db", "redis://u:half#part@127.0.0.1:1"])
def test_a_url_that_breaks_off_in_its_password_shows_none_of_it(lead: Path, url: str) -> None:
    """Where a password is not encoded, no driver gets to quote the half that it takes for a host."""
    done = command("graph", lead, "--store", url, "--session", "s1")
    assert done.code == 2
    assert "%2F" in done.err
    assert "half" not in done.out + done.err
