"""`falai test`: exit codes, and what is printed for a difference and for a wrong file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cli.program import command


def _case(name: str, text: str) -> dict[str, Any]:
    flow = {"id": "hi", "on": [{"message": []}], "steps": [{"id": "s", "say": "Hello!"}]}
    turn = {"input": {"message": "hey", "id": "m1"}, "expect": {"messages": [{"text": text}]}}
    return {"name": name, "about": "a greeting", "agent": {"name": "A", "flows": [flow]}, "turns": [turn]}


def _file(folder: Path, name: str, *cases: Any) -> Path:
    path = folder / name
    path.write_text(json.dumps({"cases": cases}))
    return path


def test_as_written(tmp_path: Path) -> None:
    """Exit code 0, and a count."""
    done = command("test", _file(tmp_path, "a.json", _case("greet/one", "Hello!"), _case("greet/two", "Hello!")))
    assert (done.code, done.out, done.err) == (0, "2 cases: all as written\n", "")


def test_a_difference(tmp_path: Path) -> None:
    """Exit code 1; file, case, turn, path, what was expected and what was found."""
    path = _file(tmp_path, "a.json", _case("greet/one", "Hello!"), _case("greet/two", "Good day!"))
    done = command("test", path)
    assert done.code == 1
    assert done.out.splitlines() == [
        f'{path}, case "greet/two", turn 0',
        "  messages[0].text",
        '    expected  "Good day!"',
        '    found     "Hello!"',
        "2 cases: 1 as written, 1 different",
    ]


def test_an_agent_that_cannot_be_built(tmp_path: Path) -> None:
    """Exit code 2; all that is wrong with it, the further lines below the first. The other cases are played."""
    case = _case("greet/one", "Hello!")
    case["agent"] |= {"timezone": "Mars/Olympus", "fields": {"a": {}}}
    done = command("test", _file(tmp_path, "a.json", case, _case("greet/two", "Hello!")))
    lines = done.out.splitlines()
    assert (done.code, lines[-1]) == (2, "2 cases: 1 as written, 1 different")
    assert lines[0].endswith('case "greet/one", the agent')
    assert [line.lstrip() for line in lines if line.startswith(" " * 14)] == [
        "1 more:",
        'timezone: "Mars/Olympus" is no time zone. Write an IANA name, such as America/Sao_Paulo',
    ]


def test_a_wrong_file(tmp_path: Path) -> None:
    """Exit code 2; everything that is wrong in any file, and nothing is played."""
    fine, wrong = _file(tmp_path, "a.json", _case("x", "other")), _case("y", "z")
    wrong["turns"][0]["expects"] = wrong["turns"][0].pop("expect")
    done = command("test", fine, _file(tmp_path, "b.json", wrong), tmp_path / "c.json")
    assert done.code == 2
    assert 'b.json, case "y", turn 0: expects: no such key; did you mean expect?' in done.out
    assert "c.json" in done.out
    assert "2 things are wrong in the files, so nothing was played." in done.out


def test_a_folder_and_a_choice(tmp_path: Path) -> None:
    """A folder stands for its files, YAML too; `-k` chooses cases by a part of their name."""
    _file(tmp_path, "a.json", _case("greet/one", "Hello!"))
    (tmp_path / "b.yaml").write_text(
        "cases:\n- name: Part/Two\n  agent: {name: A, flows: [{id: hi, on: [{message: []}], steps: [{id: s, say: Yes}]}]}\n"
        "  turns:\n  - input: {message: hey}\n    expect: {messages: [{text: No}]}\n"
    )
    assert command("test", tmp_path).code == 1
    assert command("test", tmp_path, "-k", "greet").out == "one case: all as written\n"
    assert command("test", tmp_path, "-k", "part").code == 1
    nothing = command("test", tmp_path, "-k", "zebra")
    assert (nothing.code, nothing.out) == (2, "no name among the 2 cases contains 'zebra'\n")
    assert "Part/Two" in command("test", tmp_path, "-v").out
