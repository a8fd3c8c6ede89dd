"""Reading scenario files: strictly, all problems at once, each with file, case, turn and key."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.testing.scenario import ScenarioFileError, load_files, run_files
from falai.testing.scenario.shape import file_problems

AGENT: dict[str, Any] = {"name": "Ana", "flows": []}


def _write(folder: Path, name: str, content: Any) -> Path:
    file = folder / name
    file.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return file


def _problems(folder: Path, turn: Any = None, **case: Any) -> list[str]:
    """What is wrong with a file of one case, without the file's name."""
    whole = {"name": "area/it", "agent": AGENT, "turns": [] if turn is None else [{"input": {"message": "x"}}, turn]}
    file = _write(folder, "one.json", {"cases": [whole | case]})
    try:
        load_files([file])
    except ScenarioFileError as error:
        return [str(problem).removeprefix(f"{file}, ") for problem in error.problems]
    return []


def test_files_and_folders(tmp_path: Path) -> None:
    """Files are read in the order given, a folder in the order of names; JSON and YAML alike."""
    (tmp_path / "more").mkdir()
    case = {"agent": AGENT, "turns": []}
    first = _write(tmp_path, "z.yaml", "cases:\n  - {name: z, agent: {name: Ana, flows: []}, turns: []}\n")
    _write(tmp_path / "more", "b.json", {"cases": [{"name": "b", **case}]})
    _write(tmp_path / "more", "a.yml", "cases: [{name: on, agent: {name: '18:00'}, turns: []}]")
    _write(tmp_path / "more", "notes.txt", "not a scenario")
    assert [found.name for found in load_files([first, str(tmp_path / "more")])] == ["z", "on", "b"]


def test_all_problems_of_all_files_at_once(tmp_path: Path) -> None:
    """Every file is read, and everything that is wrong in any of them is told."""
    files = [
        _write(tmp_path, "broken.json", '{"cases": ['),
        _write(tmp_path, "twice.json", '{"cases": [], "cases": []}'),
        _write(tmp_path, "empty.yaml", ""),
        _write(tmp_path, "list.json", []),
        _write(tmp_path, "more.json", {"cases": [], "case": []}),
        _write(tmp_path, "notes.txt", "hello"),
        tmp_path / "missing.json",
    ]
    report = run_files(files)
    assert report.exit_code == 2
    found = [str(problem) for problem in report.problems]
    assert len(found) == len(files)
    for file, word, problem in zip(
        files,
        ["line 1", '"cases" stands twice', "empty", "cases", "case:", ".json", "No such file"],
        found,
        strict=True,
    ):
        assert str(file) in problem
        assert word in problem


def test_names_are_unique(tmp_path: Path) -> None:
    """A name that stands in two files is refused, naming both."""
    case = {"name": "area/it", "agent": AGENT, "turns": []}
    one, two = (_write(tmp_path, name, {"cases": [case]}) for name in ("one.json", "two.json"))
    with pytest.raises(ScenarioFileError) as raised:
        load_files([one, two])
    assert str(raised.value) == f'{two}, case "area/it": name: there is a case of that name in {one}'


def test_a_name_that_stands_twice_is_told_beside_what_else_is_wrong(tmp_path: Path) -> None:
    """The first of that name need not be right; what has no name repeats none."""
    wrong = {"name": "area/it", "agent": {}, "turns": []}
    right = {"name": "area/it", "agent": AGENT, "turns": []}
    file = _write(tmp_path, "one.json", {"cases": [wrong, right, {"name": 7}, {"name": 7}, 7]})
    found = [str(problem) for problem in run_files([file]).problems]
    assert f'{file}, case "area/it": agent.name: it is missing' in found
    assert [line for line in found if "of that name" in line] == [
        f'{file}, case "area/it": name: there is a case of that name in {file}'
    ]


@pytest.mark.parametrize(
    ("case", "problem"),
    [
        ({"name": 7}, 'case "#0": name: 7 is given, a text is expected'),
        ({"turnz": []}, 'case "area/it": turnz: no such key; did you mean turns?'),
        ({"agent": {}}, 'case "area/it": agent.name: it is missing'),
        ({"agent": AGENT | {"flow": []}}, 'case "area/it": agent.flow: no such key; did you mean flows?'),
        ({"agent": AGENT | {"clock": "noon"}}, 'case "area/it": agent.clock: "noon" is given, a date'),
        (
            {"agent": AGENT | {"fields": {"a": "string"}}},
            'case "area/it": agent.fields.a: "string" is given, an object',
        ),
        ({"agent": AGENT | {"actions": {"a": {"results": []}}}}, 'case "area/it": agent.actions.a.results: a list is'),
        ({"agent": AGENT | {"actions": {"a": {}}}}, 'case "area/it": agent.actions.a.results: it is missing'),
        (
            {"agent": AGENT | {"conditions": {"a": {}}}},
            'case "area/it": agent.conditions.a: exactly one of path and results is expected',
        ),
        (
            {"agent": AGENT | {"conditions": {"a": {"results": []}}}},
            'case "area/it": agent.conditions.a.results: a list is given, a list with an entry is expected',
        ),
        ({"agent": AGENT | {"tools": {"a": {"results": [{}], "readonly": True}}}}, "did you mean readOnly?"),
        ({"agent": AGENT | {"businessHours": {"open": "09:00"}}}, "agent.businessHours.close: it is missing"),
        ({"buildError": {"type": "ValueError"}, "turns": [{"input": {"message": "x"}}]}, "turns: a case with"),
        ({"buildError": {"message": {"$match": "("}, "type": "X"}}, "buildError.message.$match:"),
    ],
)
def test_a_case_that_is_wrong(tmp_path: Path, case: dict[str, Any], problem: str) -> None:
    """The problem names the case and the key, says what was found and what is expected."""
    (found,) = _problems(tmp_path, **case)
    assert problem in found


@pytest.mark.parametrize(
    ("turn", "problem"),
    [
        ({}, "input: it is missing"),
        ({"input": {"mesage": "x"}}, "input: exactly one of message, wake, event, start is expected, none is given"),
        ({"input": {"message": "x", "wake": "k"}}, "message and wake is given"),
        ({"input": {"message": "x", "key": "k"}}, "input.key: no such key beside message"),
        ({"input": {"start": {"flo": "a", "key": "k"}}}, "input.start.flo: no such key; did you mean flow?"),
        ({"input": {"wake": "$schedule:0"}}, "input.wake:"),
        ({"input": {"wake": "$schedule:1:0"}}, "input.wake: 1 is no earlier turn"),
        ({"input": {"message": "x"}, "advance": "1w"}, 'advance: "1w" is given, a duration'),
        ({"input": {"message": "x"}, "session": "last"}, 'session: "last" is given'),
        ({"input": {"message": "x"}, "session": {"turn": 1}}, "session.turn: 1 is no earlier turn"),
        ({"input": {"message": "x"}, "session": {"turn": 0, "id": "s"}}, "session: turn or givenTo stands alone"),
        ({"input": {"message": "x"}, "expect": {"sameAs": True}}, "expect.sameAs: true is no earlier turn"),
        ({"input": {"message": "x"}, "model": [{"call": "speek", "text": ""}]}, 'model[0].call: "speek" is given'),
        ({"input": {"message": "x"}, "model": [{"call": "speak"}]}, "model[0]: exactly one of reply, text and error"),
        ({"input": {"message": "x"}, "model": [{"call": "speak", "text": "", "reply": {}}]}, "model[0]: exactly one"),
        ({"input": {"message": "x"}, "model": [{"call": "speak", "error": {"kind": "odd"}}]}, "model[0].error.kind"),
        ({"input": {"message": "x"}, "expect": {"message": []}}, "expect.message: no such key; did you mean messages?"),
        ({"input": {"message": "x"}, "expect": {"session": {"$mach": 1}}}, "expect.session.$mach: no such key"),
        ({"input": {"message": "x"}, "expect": {"session": {"$any": True, "a": 1}}}, "a matcher stands alone"),
        ({"input": {"message": "x"}, "expect": {"session": {"$any": False}}}, "expect.session.$any: false is given"),
        ({"input": {"message": "x"}, "expect": {"ended": {"$length": -1}}}, "expect.ended.$length: -1 is given"),
        ({"input": {"message": "x"}, "expect": {"requests": [{"cal": "speak"}]}}, "expect.requests[0].cal"),
    ],
)
def test_a_turn_that_is_wrong(tmp_path: Path, turn: dict[str, Any], problem: str) -> None:
    """The problem names the turn too, counted from 0."""
    found = _problems(tmp_path, turn)
    assert any(line.startswith('case "area/it", turn 1: ') and problem in line for line in found), found


def test_an_input_that_is_to_be_refused(tmp_path: Path) -> None:
    """A case that expects an error may give any object as its input (T-1.3)."""
    assert _problems(tmp_path, {"input": {"mesage": 1}, "expect": {"error": {"type": "ValueError"}}}) == []


def test_many_mistakes_in_one_case(tmp_path: Path) -> None:
    """One pass finds everything, in the order of the file."""
    turn = {"input": {"message": "x"}, "advance": 5, "sesion": "none", "expect": {"changd": True}}
    assert [line.rpartition("turn 1: ")[2].partition(":")[0] for line in _problems(tmp_path, turn, abut="x")] == [
        'case "area/it"', "advance", "sesion", "expect.changd",
    ]  # fmt: skip


KEYS = st.sampled_from(
    [
        "name",
        "about",
        "agent",
        "turns",
        "buildError",
        "clock",
        "fields",
        "actions",
        "results",
        "conditions",
        "path",
        "tools",
        "businessHours",
        "open",
        "options",
        "input",
        "message",
        "wake",
        "event",
        "start",
        "flow",
        "advance",
        "session",
        "turn",
        "givenTo",
        "model",
        "call",
        "reply",
        "text",
        "error",
        "kind",
        "expect",
        "requests",
        "sameAs",
        "schema",
        "$absent",
        "$match",
        "$length",
        "$oneOf",
        "$contains",
        "type",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "(", "1h", "none"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.property
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=5) | VALUES, max_size=2))
def test_any_content_is_judged(cases: list[Any]) -> None:
    """Whatever a file holds, its problems are told and nothing is raised."""
    whole = [{"name": "n", "agent": AGENT, "turns": [turn]} for turn in cases]
    for content in (cases, {"cases": cases}, {"cases": whole}):
        for problem in file_problems("f", content):
            assert str(problem).startswith("f")
