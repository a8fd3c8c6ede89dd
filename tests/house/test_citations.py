"""Rules are cited by their id, and every id that is cited exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs" / "spec"
CITED = re.compile(r"\b([BTFMOSPGDV]-\d+(?:\.\d+)?)\b")
SECTIONED = {"01-session.md": "B", "02-turn.md": "T", "03-flows.md": "F", "04-model.md": "M"}


def _rules() -> set[str]:
    found: set[str] = set()
    for page in SPEC.glob("*.md"):
        text = page.read_text(encoding="utf-8")
        found |= set(re.findall(r"(?:\*\*|^### )([A-Z]-\d+(?:\.\d+)?)\b", text, re.MULTILINE))
        if letter := SECTIONED.get(page.name):
            found |= {f"{letter}-{number}" for number in re.findall(r"^## (\d+)\.? ", text, re.MULTILINE)}
    return found


def test_cited_rules_exist() -> None:
    """Code and tests cite rules that stand in docs/spec."""
    rules = _rules()
    wrong = [
        f"{file.relative_to(ROOT)}: {rule}"
        for folder in ("src", "tests", "docs", "examples")
        for file in (ROOT / folder).rglob("*")
        if file.suffix in {".py", ".md"} and "_build" not in file.parts
        for rule in CITED.findall(file.read_text(encoding="utf-8"))
        if rule not in rules
    ]
    assert not wrong
