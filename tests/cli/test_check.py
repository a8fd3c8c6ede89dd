"""`falai check`: what is wrong or odd in flows, where it stands, and what to do."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cli.program import AGENTS, Finished, command
from falai.cli.flows.check import run_check
from falai.cli.flows.checking import check_sources
from falai.cli.flows.sources import load_sources
from falai.cli.loading import LoadError
from strategies_flow import REGISTRIES, flow_specs, json_values

CASES = Path(__file__).parents[1] / "conformance" / "data" / "cases"
FINE = '{"id": "lead", "on": [{"message": []}], "steps": [{"id": "a", "say": "Hello"}]}'
AGENT = """\
name: Ana
fields:
  name: {type: string, ask: Ask for it.}
  day: {type: date}
actions:
  notify: {parameters: {to: {type: string}}, results: [{ok: true}]}
conditions: {vip: {path: context.vip}}
tools: [search]
flows:
  - id: lead
    collect: [day]
    on:
      - message: []
    steps:
      - id: who
        collect: [name]
      - {id: right, if: {known: [day]}, else: end}
      - {id: tell, do: notify, with: {to: "{{data.day}}"}}
      - id: bye
        say: Thank you.
"""


# Without an action and a tool, either of which might set any field, a gap is for sure.
GAP = "".join(
    line for line in AGENT.replace("Thank you.", '"Thank you, {{data.name}}."').splitlines(keepends=True)
    if "notify" not in line and "search" not in line and "actions:" not in line
)  # fmt: skip


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def _found(*arguments: Any) -> tuple[int, dict[str, Any]]:
    done = command("check", *arguments, "--json")
    return done.code, json.loads(done.out)


def _codes(*arguments: Any) -> list[str]:
    return [one["code"] for one in _found(*arguments)[1]["findings"]]


def _marked(done: Finished) -> list[str]:
    """What is underlined, each time; a wide character takes two cells of the mark."""
    lines = done.out.splitlines()
    marks = [
        (lines[at - 1], line) for at, line in enumerate(lines) if set(line.strip()) <= {"│", " ", "^"} and "^" in line
    ]
    return [_cells(text, mark.index("^"), mark.rindex("^") + 1) for text, mark in marks]


def _cells(text: str, start: int, end: int) -> str:
    ends = list(accumulate(cell_len(character) for character in text))
    return "".join(character for character, at in zip(text, ends, strict=True) if start < at <= end)


# --- what is said ------------------------------------------------------------------------------


def test_nothing_wrong(tmp_path: Path):
    """Exit code 0, and a count."""
    done = command("check", _write(tmp_path, "a.json", FINE), "--agent", _write(tmp_path, "agent.yaml", AGENT))
    assert (done.code, done.out) == (0, "1 flow: no problems, no warnings\n")


def test_a_problem_is_shown_as_compilers_do(tmp_path: Path):
    """Severity, code, place, the line with the place underlined, what was found, what to do."""
    path = _write(tmp_path, "a.yaml", AGENT.replace("do: notify", "do: notfy"))
    done = command("check", path)
    assert done.code == 1
    assert done.out == (
        f"error[unknown-action] {path}:18:24\n"
        '    18 │       - {id: tell, do: notfy, with: {to: "{{data.day}}"}}\n'
        "       │                        ^^^^^\n"
        '  flow "lead", step "tell": the agent has no action called "notfy".\n'
        '  Did you mean "notify"? Add it to the agent, or use one that is there: "notify".\n'
        "\n"
        "1 flow: 1 problem, no warnings\n"
    )


def test_a_finding_shows_the_way_that_leads_there(tmp_path: Path):
    """The trail of the analysis stands below, numbered."""
    done = command("check", _write(tmp_path, "a.yaml", GAP))
    assert done.code == 0
    assert "warning[maybe-unset]" in done.out
    assert "    1. starts on any message\n" in done.out


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ('{"id": "a", "steps": [{"id": "x", "wait": "2 days"}]}', ['"2 days"']),
        ('{"id": "a", "steps": [{"id": "日本語", "say": "x", "then": "nō"}]}', ['"nō"']),
        ('{"id": "a", "steps": [\n\t{"id": "x",\t"say": 5}]}', ["5"]),
        ('{"id": "a", "steps": [\n{"id": "x",\n"say": "a", "do": "b"}]}', ['"x"']),
        ('{"id": "a", "stps": []}', ['{"id": "a", "stps": []}']),
        ('{"id": "a", "steps": [{"id": "x", "say": "x", "max_asks": 3}]}', ['"max_asks"']),
        ('[{"id": "a", "steps": []}, {"id": "b", "steps": 7}]', ["7"]),
        ("id: a\nsteps:\n  - {id: x, say: 😀 hi, then: no}\n", ["no"]),
        ("id: a\nsteps:\n  - id: x\n    then:\n      step: no\n      clear: 5\n    say: x\n", ["5"]),
        ("id: a\nsteps: &s\n  - {id: x, say: x}\n  - {id: x, say: x}\n", ["x"]),
    ],
)  # fmt: skip
def test_the_place_is_underlined(tmp_path: Path, text: str, marked: list[str]):
    """In JSON and YAML alike, whatever the width of the characters before it."""
    name = "a.json" if text[0] in "{[" else "a.yaml"
    assert _marked(command("check", _write(tmp_path, name, text))) == marked


def test_a_long_line_is_cut_around_the_place(tmp_path: Path):
    """What is shown is as wide as a screen, and the place is in it."""
    steps = ",".join(f'{{"id": "s{n}", "say": "{"x" * 30}"}}' for n in range(30))
    path = _write(
        tmp_path, "a.json", f'{{"id": "a", "steps": [{steps}, {{"id": "z", "wait": "never"}}, {steps[:45]}x"}}]}}'
    )
    done = command("check", path)
    shown = next(line for line in done.out.splitlines() if "│" in line)
    assert len(shown) <= 120
    assert "…" in shown
    assert '"never"' in _marked(done)


def test_many_problems_stay_readable(tmp_path: Path):
    """All of 200 are listed: the first ones with their lines, the others on one line each."""
    steps = [{"id": f"s{n}", "say": "x", "then": "nowhere"} for n in range(200)]
    done = command("check", _write(tmp_path, "a.json", json.dumps({"id": "a", "steps": steps})))
    assert done.out.count("error[unknown-step]") == 200
    assert len(done.out.splitlines()) < 350
    assert done.out.endswith("1 flow: 200 problems, no warnings\n")


@pytest.mark.parametrize(
    ("name", "example"),
    [
        ("check", "falai check flows/lead.yaml --agent desk.py"),
        ("schema", "falai schema > flows.schema.json"),
        ("diff", "falai diff flows-now/ flows-next/"),
    ],
)
def test_help_teaches_by_examples(name: str, example: str):
    """Each command shows how it is used."""
    assert f"  {example}\n" in command(name, "--help").out


# --- what is looked at -------------------------------------------------------------------------


def test_without_an_agent_names_are_not_looked_up(tmp_path: Path):
    """A spec alone is checked for shape and ids, and one line says how to give the names."""
    path = _write(
        tmp_path, "a.json", '{"id": "a", "steps": [{"id": "x", "collect": ["name"]}, {"id": "x", "do": "tell"}]}'
    )
    code, said = _found(path)
    assert (code, [one["code"] for one in said["findings"]]) == (1, ["duplicate-step-id"])
    assert said["notes"] == [f"the names in {path} were not looked up: say whose they are with --agent module:agent"]


def test_with_an_agent_they_are(tmp_path: Path):
    """Its fields and actions count, its flows and those of the other files know each other."""
    agent = _write(tmp_path, "agent.yaml", AGENT)
    one = _write(
        tmp_path, "flows/a.json", '{"id": "a", "steps": [{"id": "x", "do": "ring", "then": {"flow": "lead"}}]}'
    )
    _write(tmp_path, "flows/b.json", '{"id": "b", "steps": [{"id": "x", "say": "x", "then": {"flow": "a"}}]}')
    _write(tmp_path, "flows/package.json", '{"name": "no flow"}')
    code, said = _found(one.parent, "--agent", agent)
    assert (code, [(found["code"], found["file"]) for found in said["findings"]]) == (1, [("unknown-action", str(one))])
    assert said["notes"] == [f"{one.parent / 'package.json'} was passed over: it holds no flow"]


def test_an_agent_may_have_no_flows(tmp_path: Path):
    """A file of definitions alone is an agent, for `--agent` and as a target; a flow with `flows` beside is a flow."""
    agent = _write(tmp_path, "agent.yaml", AGENT.partition("flows:")[0])
    assert _codes(agent) == []
    assert _codes(_write(tmp_path, "a.json", FINE.replace('"say"', '"do": "ring", "sya"')), "--agent", agent) == [
        "unknown-action", "unlisted-property",
    ]  # fmt: skip
    assert _codes(_write(tmp_path, "b.json", FINE[:-1] + ', "flows": []}')) == ["unlisted-property"]


def test_two_files_with_one_flow(tmp_path: Path):
    """Of an agent's flows, each has an id of its own; one that replaces the agent's is no second one."""
    agent = _write(tmp_path, "agent.yaml", AGENT)
    folder = _write(tmp_path, "flows/a.json", FINE).parent
    assert _codes(folder, "--agent", agent) == []
    _write(tmp_path, "flows/b.json", FINE)
    assert _codes(folder, "--agent", agent) == ["duplicate-flow-id"]


def test_an_agent_is_checked_whole(tmp_path: Path):
    """Definitions, a key that nobody reads, a flow that stands twice, names in its instructions."""
    text = AGENT.replace("type: date", "type: dato").replace("name: Ana", "name: Ana\ninstuctions: []")
    path = _write(tmp_path, "agent.yaml", text + "  - {id: lead, steps: []}\n")
    assert _codes(path) == ["unlisted-property", "bad-definition", "duplicate-flow-id"]


def test_the_agent_of_a_scenario_is_accepted(tmp_path: Path):
    """It has the same form, with results and paths for its functions."""
    assert _codes(_write(tmp_path, "agent.yaml", AGENT.replace("  day", "  when: {type: email}\n  day"))) == []


def test_python_is_checked_where_its_ids_stand():
    """An agent that was refused, at the literals in its file."""
    done = command("check", f"{AGENTS / 'broken.py'}:mistaken")
    assert done.code == 1
    assert _marked(done) == ['"ask"', '"b"']


def test_a_module_is_checked():
    """The example agent has nothing wrong or odd."""
    assert _found("falai.examples.clinic")[1]["findings"] == []


def test_flows_of_a_module_are_checked_with_an_agent(tmp_path: Path):
    """A list of flows, or one, may be named as an agent is."""
    text = "from falai import Flow, Say\nflows = [Flow('x', steps=[Say('a', 'A', then='b')])]\none = flows[0]\n"
    path = _write(tmp_path, "some_flows.py", text)
    for name in ("flows", "one"):
        assert _codes(f"{path}:{name}", "--agent", _write(tmp_path, "agent.yaml", AGENT)) == ["unknown-step"]


def test_an_editor_may_name_its_schema(tmp_path: Path):
    """A `$schema` at the top is no property of the flow."""
    assert _codes(_write(tmp_path, "a.json", '{"$schema": "flows.schema.json", ' + FINE[1:])) == []


@pytest.mark.parametrize("file", sorted(CASES.glob("*.json")), ids=lambda file: file.stem)
def test_the_agents_of_the_conformance_set(tmp_path: Path, file: Path):
    """What the check calls a problem is what an agent is refused for, no more and no less; all of it has a place."""
    for case in json.loads(file.read_text(encoding="utf-8"))["cases"]:
        path = _write(tmp_path, "agent.json", json.dumps({"flows": [], **case["agent"]}))
        found = check_sources(load_sources([str(path)]))
        assert any(one.is_problem for one in found) == ("buildError" in case), case["name"]
        assert all(one.place is not None for one in found)


# --- files that cannot be read -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("a.json", '{"id":\n}', 1, "a value is missing here"),
        ("a.json", '{"id": "a",\n "id": "b"}', 1, 'the key "id" stands twice'),
        ("a.json", '{"a":\n NaN}', 1, "NaN is no JSON number"),
        ("a.json", '{"a":\n 1e999}', 1, "1e999 is no number that JSON can hold"),
        ("a.json", '{"a": ' + "9" * 5000 + "}", None, "a number is too long to be read"),
        ("a.json", "[" * 100_000, None, "nested too deeply"),
        ("a.json", "", 0, "it is empty"),
        ("a.json", '{"id": "a",\n // a\n}', 1, "a name in double quotes is missing here"),
        ("a.json", '{"id": "a"\n"steps": []}', 1, "a comma, or a closing bracket, is missing here"),
        ("a.json", '{"id": "a"}\n{}', 1, "there is more behind the end"),
        ("a.json", '{"id":\n"a', 1, "a text begins here and does not end"),
        ("a.yaml", "id: a\n\tsteps: []\n", 1, "a tab stands where only spaces may"),
        ("a.yaml", "id: a\nid: b\n", 1, 'the key "id" stands twice'),
        ("a.yaml", "id: a\nsteps: !!set {}\n", 1, "the tag tag:yaml.org,2002:set is not of the core schema"),
        ("a.yaml", "id: [a\n", 1, "a comma, or a closing bracket, is missing here"),
        ("a.yaml", "id: a\nname: Note: this\n", 1, "a colon is not expected here"),
        ("a.yaml", "id: a\nname: {{x}} y\n", 1, "this does not belong to what stands above"),
        ("a.yaml", 'id: a\nname: "b\nsteps: []\n', 1, "a text begins here and does not end"),
        ("a.yaml", "id: a\nsteps: []\n---\nid: b\n", 2, "a second document begins here"),
        ("a.yaml", "steps:\n  - {id: a, say: Hello, you}\n", 1, "this is read as a key that has no value"),
        ("a.yaml", "id: a\nname: b\0\n", 1, "it holds a character that is no text"),
    ],
)
def test_a_broken_file_is_a_problem_with_its_place(tmp_path: Path, name: str, text: str, line: int | None, words: str):
    """No traceback, and the other files are checked."""
    broken, other = _write(tmp_path, name, text), _write(tmp_path, "other.json", FINE.replace('"say"', '"sya"'))
    code, said = _found(broken, other)
    assert (code, [one["code"] for one in said["findings"]]) == (1, ["unreadable", "does-nothing"])
    assert words in said["findings"][0]["message"]
    if line is not None:
        assert said["findings"][0]["range"]["start"]["line"] == line


@pytest.mark.parametrize(
    ("step", "marked"),
    [
        ("if: {vp: 1}, else: end", "vp"), ("if: {equals: {nmae: x}}, else: end", "nmae"),
        ("if: {known: [nmae]}, else: end", "nmae"), ("collect: [name], ask: {nmae: x}", "nmae"),
        ("do: notify, with: {to: x, too: y}", "too"), ("wait: 1d, upTo: 2d", "upTo"),
    ],
)  # fmt: skip
def test_a_key_that_is_wrong_is_underlined_itself(tmp_path: Path, step: str, marked: str):
    """And not the value that it has."""
    done = command("check", _write(tmp_path, "a.yaml", AGENT + f"      - {{id: last, {step}}}\n"))
    assert _marked(done)[-1] == marked


def test_two_flows_of_one_id_in_one_list(tmp_path: Path):
    """As in two files: the second is told."""
    code, said = _found(_write(tmp_path, "a.json", f"[{FINE}, {FINE}]"))
    assert (code, [(one["code"], one["path"]) for one in said["findings"]]) == (1, [("duplicate-flow-id", "[1].id")])


def test_a_file_that_is_not_in_utf_8(tmp_path: Path):
    """The first byte that cannot be read is shown where it stands."""
    path = tmp_path / "a.yaml"
    path.write_bytes("id: a\nsteps:\n  - {id: x, say: Olá}\n".encode("latin-1"))
    done = command("check", path)
    assert (done.code, _marked(done)) == (1, ["\N{REPLACEMENT CHARACTER}"])
    assert "it is not in UTF-8 (byte 0xe1).\n  Save it as UTF-8." in done.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.json"], "there is no file nowhere.json"),
        (["nowhere.py"], "there is no file nowhere.py"),
        (["nowhere/"], "there is no file or folder nowhere/"),
        (["nowhere"], "there is no module nowhere"),
        ([":agent"], "in front of the colon"),
        (["x" * 300], "cannot be looked at: File name too long"),
        ([Path(__file__).parents[2] / "Makefile"], "is no file of flows: the name of one ends in"),
        ([], "Missing argument"),
        ([AGENTS], "has no flow files"),
        ([f"{AGENTS / 'broken.py'}:Agent"], "raised TypeError"),
    ],
)
def test_what_is_not_there(arguments: list[Any], words: str):
    """Exit code 2, and words."""
    done = command("check", *arguments)
    assert (done.code, words in done.err) == (2, True), done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", "shop.py cannot be read as Python: invalid syntax\n  in "),
        ("import no_such_thing\n", "shop.py imports no_such_thing, and there is no such module"),
        ("import sys\nsys.exit(0)\n", "shop.py ends the program (exit code 0)\n  in "),
        ("def agent(x): ...\n", "missing 1 required positional argument: 'x'\n"),
    ],
)
def test_python_that_cannot_be_loaded(tmp_path: Path, text: str, words: str):
    """Exit code 2, and the author's own line if there is one; a module that ends the program passes no check."""
    done = command("check", _write(tmp_path, "shop.py", text))
    assert (done.code, words in done.err) == (2, True), done.err
    assert "loading.py" not in done.err


def test_a_spec_that_is_written_in_python(tmp_path: Path):
    """It has its places as JSON has, and is a target alone or in an agent."""
    spec = "{'id': 'lead', 'on': [{'message': []}],\n 'steps': [{'id': 'a',\n 'say': 'x', 'then': 'b'}]}"
    text = (
        f"from falai import Agent\nspec = {spec}\ndef made(): return Agent(name='A', model='lexical', flows=[spec])\n"
    )
    path = _write(tmp_path, "shop.py", text)
    for name in ("spec", "made"):
        done = command("check", f"{path}:{name}")
        assert (done.code, _marked(done), f"{path}:3:19" in done.out) == (1, ["'a'"], True)


def test_what_a_module_has_instead_is_named(tmp_path: Path):
    """As it is to be written."""
    path = _write(tmp_path, "shop.py", "from falai import Flow\nlead = Flow('lead', steps=[])\n")
    assert f"shop.py has nothing called agent; write {path}:lead\n" in command("check", path).err


def test_what_a_module_prints_is_no_result(tmp_path: Path):
    """It goes to standard error, so that the JSON can be read."""
    path = _write(
        tmp_path, "shop.py", "print('hello')\nfrom falai import Flow, Say\nagent = [Flow('f', steps=[Say('a', 'b')])]\n"
    )
    done = command("check", path, "--json")
    assert (json.loads(done.out)["problems"], done.err) == (0, "hello\n")


def test_an_agent_that_is_none(tmp_path: Path):
    """`--agent` must name one."""
    path = _write(tmp_path, "a.json", FINE)
    done = command("check", path, "--agent", path)
    assert (done.code, "is no agent" in done.err) == (2, True)
    wrong = _write(tmp_path, "agent.yaml", AGENT.replace("{type: date}", "{type: datte}"))
    done = command("check", path, "--agent", wrong)
    assert (done.code, f"cannot be used: something in it is wrong. See falai check {wrong}" in done.err) == (2, True)


# --- silencing, exit codes, JSON ---------------------------------------------------------------


def test_warnings_are_silenced_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """By the command line, the document and the project; a pattern that names nothing is told."""
    monkeypatch.chdir(tmp_path)
    text = GAP + "  - {id: b, steps: [{id: a, say: x}]}\n"
    path = _write(tmp_path, "agent.yaml", text)
    assert sorted(_codes(path)) == ["host-start-only", "maybe-unset"]
    assert _codes(path, "--ignore", "maybe-unset:lead.bye") == ["host-start-only"]
    _write(tmp_path, "pyproject.toml", '[tool.falai]\nignore = ["host-start-only", "never-set"]\n')
    code, said = _found(_write(tmp_path, "agent.yaml", text + "ignore: ['maybe-unset:lead', unreachable]\n"))
    assert (code, said["findings"], said["silenced"]) == (0, [], 2)
    assert said["notes"] == ["the pattern never-set silences nothing", "the pattern unreachable silences nothing"]


@pytest.mark.parametrize("ignore", [5, "unreachable", ["unreachable", 5]])
def test_patterns_that_are_none(tmp_path: Path, ignore: Any):
    """A document's `ignore` is a list of texts, or it is told."""
    path = _write(tmp_path, "a.json", json.dumps({"flows": [json.loads(FINE)], "ignore": ignore}))
    assert _codes(path)[0] == "not-a-list"


def test_problems_are_never_silenced(tmp_path: Path):
    """A flow that cannot run is wrong, whatever one thinks of it."""
    path = _write(tmp_path, "a.json", FINE.replace('"say"', '"sya"'))
    assert _codes(path, "--ignore", "does-nothing") == ["does-nothing"]


@pytest.mark.parametrize("text", ["[tool.falai]\nignore = 5\n", "[tool]\nfalai = 5\n", "tool = 5\n", "[tool"])
def test_a_project_file_that_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str):
    """Exit code 2, naming the file."""
    monkeypatch.chdir(tmp_path)
    _write(tmp_path, "pyproject.toml", text)
    done = command("check", _write(tmp_path, "a.json", FINE))
    assert (done.code, "pyproject.toml" in done.err) == (2, True)


def test_strict_counts_warnings(tmp_path: Path):
    """A warning is exit code 0, with --strict it is 1."""
    path = _write(tmp_path, "a.json", FINE.replace('"say"', '"color": 1, "say"'))
    assert [command("check", path).code, command("check", path, "--strict").code] == [0, 1]


def test_json_counts_as_editors_do(tmp_path: Path):
    """Lines and characters from 0, characters as units of UTF-16; every key is there."""
    path = _write(tmp_path, "a.json", '{"id": "a", "steps": [\n{"id": "😀", "say": "x", "then": "b"}]}')
    said = _found(path)[1]
    assert said["findings"] == [
        {
            "file": str(path),
            "path": "steps[0].then",
            "code": "unknown-step",
            "severity": "error",
            "where": 'flow "a", step "😀"',
            "message": 'then leads to "b", and the flow has no step of that id',
            "fix": 'Write "end" or one of its steps: "😀"',
            "trail": [],
            "range": {"start": {"line": 1, "character": 33}, "end": {"line": 1, "character": 36}},
        }
    ]
    assert (said["version"], said["problems"], said["warnings"], said["silenced"]) == (1, 1, 0, 0)


def test_a_check_loads_no_model(tmp_path: Path):
    """Neither pydantic nor a library of models is imported: a check is quick, and needs no extra but its own."""
    program = (
        "import sys; from falai.cli.flows.check import run_check; "
        "run_check(sys.argv[1:], None, [], as_json=False, strict=False); "
        "print([name for name in ('pydantic', 'pydantic_ai', 'openai', 'prompt_toolkit') if name in sys.modules])"
    )
    path = _write(tmp_path, "a.yaml", AGENT.replace("type: date", "type: string"))
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# --- whatever is given -------------------------------------------------------------------------


@pytest.mark.property
@given(json_values, st.sampled_from(["json", "yaml"]))
def test_no_document_breaks_the_check(tmp_path_factory: pytest.TempPathFactory, value: Any, ending: str):
    """Any JSON, where a flow, a list or an agent is expected, gives findings, each at a place of its text."""
    whole = {"flows": [value], **dict.fromkeys(("fields", "actions", "events", "conditions", "tools"), value)}
    for document in (value, [value], {"id": "a", "steps": value}, whole, {**whole, "flows": value, "idle": value}):
        path = _write(tmp_path_factory.getbasetemp(), f"any.{ending}", json.dumps(document))
        for one in check_sources(load_sources([str(path)])):
            assert one.place is not None
            assert 1 <= one.place.span.line <= one.place.text.count("\n") + 1


@pytest.mark.property
@given(st.lists(flow_specs, max_size=3))
def test_whatever_the_checks_say_is_placed(tmp_path_factory: pytest.TempPathFactory, flows: list[Any]):
    """The path of each finding leads into the document."""
    text = json.dumps({**REGISTRIES, "name": "Ana", "flows": flows})
    path = _write(tmp_path_factory.getbasetemp(), "specs.json", text)
    for one in check_sources(load_sources([str(path)])):
        assert one.place is not None
        assert one.finding.path.startswith("flows[") or one.finding.code == "unreadable"


def test_errors_of_loading_are_raised():
    """The function under the command says so by its own error."""
    with pytest.raises(LoadError):
        run_check(["nowhere.json"], None, [], as_json=False, strict=False)
