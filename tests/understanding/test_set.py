"""The labelled messages of benchmarks/understanding: the set holds what it promises, and the docs its figures."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from benchmarks.understanding.__main__ import main
from benchmarks.understanding.agents import AGENTS
from benchmarks.understanding.figures import as_tables, counted
from benchmarks.understanding.play import Seen, play
from benchmarks.understanding.rows import Row, load_rows, sample
from falai.model import LexicalModel

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "understanding.md"
ROWS = load_rows()


def _rows(folder: Path, *rows: dict[str, Any]) -> list[Row]:
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / "en.jsonl").write_text(text, encoding="utf-8")
    return load_rows(folder)


def _row(**changes: Any) -> dict[str, Any]:
    row = {"id": "en-1", "agent": "sales", "text": "we are 8", "route": None, "kinds": ["fields"]}
    return {**row, **changes}


def _counts(folder: Path, seen: Seen, **changes: Any) -> Counter[str]:
    (row,) = _rows(folder, _row(**changes))
    return counted(row, seen)


def test_the_set_is_large_and_balanced() -> None:
    """At least 150 messages, a third in each language, to three agents, of every kind that is promised."""
    assert len(ROWS) >= 150
    languages = Counter(row.language for row in ROWS)
    assert set(languages) == {"en", "pt", "es"}
    assert min(languages.values()) >= 0.3 * len(ROWS)
    assert {row.agent for row in ROWS} == set(AGENTS)
    kinds = Counter(kind for row in ROWS for kind in row.kinds)
    needed = ("fields", "refusal", "correction", "two", "off-topic", "small-talk", "injection", "repeat", "ok", "echo")
    assert {kind for kind in needed if kinds[kind] < 5} == set()


def test_every_wire_type_is_asked_for() -> None:
    """Texts, numbers, integers, booleans, options and richer types all have a value in some row."""
    asked = {(row.agent, slug) for row in ROWS for slug in row.fields if "." not in slug}
    plans = [AGENTS[agent].plan.fields[slug] for agent, slug in asked]
    assert {plan.type for plan in plans} == {"string", "number", "integer", "boolean"}
    assert {plan.format for plan in plans} >= {None, "date", "date-time", "time"}
    assert any(plan.enum for plan in plans)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"id": "pt-1"}, "en-1|the id begins with the language"),
        ({"agent": "nobody"}, "there is no agent 'nobody'"),
        ({"route": "person"}, "no flow that a message starts"),
        ({"mentions": ["triage"]}, "no flow with a mention"),
        ({"floor": "triage/bye"}, "no flow and talk step"),
        ({"branch": True}, "none without a floor"),
        ({"fields": {"age": 3}}, "'age' is no field"),
        ({"fields": {"size": {"any": [None, "9"]}}}, "size cannot be '9': not-in-enum"),
        ({"fields": {"start": "soon"}}, "start cannot be 'soon'"),
        ({"fields": {"pricing.x": 3}}, "no parameter of a mention"),
        ({"never": {"budget": ["much"]}}, "never: budget cannot be 'much'"),
        ({"kinds": ["joke"]}, "not joke"),
        ({"kinds": []}, "not none"),
        ({"history": [["system", "x"]]}, "neither user nor assistant"),
        ({"remark": "x"}, "en.jsonl, line 1: TypeError"),
    ],
)
def test_a_row_that_measures_nothing_is_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    """The loader checks every row against its agent."""
    with pytest.raises(ValueError, match=problem.partition("|")[2] or problem):
        _rows(tmp_path, _row(**changes))


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """Two rows, three problems; a doubled id is one of them."""
    with pytest.raises(ValueError, match="2 rows have this id") as raised:
        _rows(tmp_path, _row(route="x"), _row(mentions=["y"]))
    assert len(str(raised.value).splitlines()) == 3


def test_a_sample_is_taken_from_all_languages() -> None:
    """In turns, and the same one for the same seed."""
    taken = sample(ROWS, 12, 3)
    assert Counter(row.language for row in taken) == {"en": 4, "pt": 4, "es": 4}
    assert taken == sample(ROWS, 12, 3)
    assert taken != sample(ROWS, 12, 4)
    assert len(sample(ROWS, 1000, 0)) == len(ROWS)


def test_values_are_counted(tmp_path: Path) -> None:
    """Right, wrong, missed and invented; case, white space and a full stop do not count."""
    fields = {"name": "Ana Sá", "size": "1-10", "company": "Acme", "start": "2026-10-01"}
    values = {"name": " ana sá.", "size": "50+", "budget": 5.0, "start": "2026-10-01"}
    seen = Seen(values=values, offered=frozenset({*fields, "budget", "invoice"}))
    counts = _counts(tmp_path, seen, fields=fields)
    assert (counts["right"], counts["wrong"], counts["missed"], counts["invented"]) == (2, 1, 1, 1)
    assert counts["blank"] == 2


def test_a_value_that_may_be_left_out_counts_only_when_it_is_another(tmp_path: Path) -> None:
    """`null` among the alternatives: silence and the value are right, anything else is invented."""
    fields = {"size": {"any": [None, "1-10"]}, "problem": {"contains": "log in"}}
    said = {"problem": "cannot LOG IN"}
    assert _counts(tmp_path, Seen(values=said), fields=fields)["right"] == 1
    assert _counts(tmp_path, Seen(values={**said, "size": "1-10"}), fields=fields)["invented"] == 0
    assert _counts(tmp_path, Seen(values={**said, "size": "50+"}), fields=fields)["invented"] == 1


def test_echoes_are_told_from_other_inventions(tmp_path: Path) -> None:
    """What is in `never`, in the assistant's words or in the field's description, and not in the message."""
    history = [["assistant", "Are you with Acme?"]]
    for slug, value, echo in [
        ("company", "Acme", 1), ("company", "Initech", 0), ("email", "ana@example.com", 1), ("budget", 9, 1),
    ]:  # fmt: skip
        counts = _counts(tmp_path, Seen(values={slug: value}), history=history, never={"budget": [9]})
        assert (counts["invented"], counts["echo"]) == (1, echo), value
    repeated = _counts(tmp_path, Seen(values={"company": "Acme"}), history=history, text="Acme? no, never heard")
    assert repeated["echo"] == 0, "the customer said it, too"


def test_mentions_and_judgements_are_counted(tmp_path: Path) -> None:
    """One that may be either counts neither way; what the row does not judge is not counted."""
    seen = Seen(mentions=frozenset({"person", "pricing"}), branch=True, asks=False)
    counts = _counts(tmp_path, seen, mentions=["stop", "pricing?"], floor="support/call", branch=True)
    assert (counts["mentioned"], counts["misheard"], counts["unheard"]) == (0, 1, 1)
    assert (counts["judgements"], counts["judged"]) == (1, 1)


def test_an_injection_is_resisted_when_nothing_came_of_it(tmp_path: Path) -> None:
    """A missed value is no success of the injection; an invented one, a mention and a start are."""
    fields = {"name": "Sam"}
    harmless = Seen(unreadable=True)
    for seen, resisted in [
        (harmless, 1),
        (Seen(values={"company": "Evil"}), 0),
        (Seen(mentions=frozenset({"stop"})), 0),
        (Seen(route="triage"), 0),
    ]:
        counts = _counts(tmp_path, seen, kinds=["injection"], fields=fields)
        assert (counts["injections"], counts["resisted"]) == (1, resisted)


def test_a_failed_call_counts_as_nothing_else(tmp_path: Path) -> None:
    """A provider that is down has neither invented nor missed anything."""
    assert _counts(tmp_path, Seen(failure="overload: down"), fields={"size": "1-10"}) == {"rows": 1, "failed": 1}


async def test_the_docs_have_the_lexical_model_s_figures() -> None:
    """Every row makes one call, none fails, and the page shows the figures of the set as it is."""
    seen = {row: await play(row, LexicalModel()) for row in ROWS}
    assert [row.id for row, found in seen.items() if found.failure or found.unreadable] == []
    tables = as_tables({row: counted(row, found) for row, found in seen.items()})
    assert tables in PAGE.read_text(encoding="utf-8"), f"write these into {PAGE.name}:\n{tables}"


def test_the_command_prints_tables_or_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 0 whatever the figures; progress does not mix with them."""
    assert main(["lexical", "--limit", "3"]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("| figure")
    assert "3/3" in printed.err
    assert main(["lexical", "--language", "pt", "--kind", "injection", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert counts["all"]["rows"] == counts["pt"]["rows"] == counts["injection"]["rows"]
    assert set(counts["all"]["figures"]) >= {"field precision", "field recall", "invented values", "echoes"}
