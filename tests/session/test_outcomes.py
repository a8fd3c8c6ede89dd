from __future__ import annotations

import re
from pathlib import Path

from falai.session import ADDED_MESSAGES, OUTCOME_MESSAGES

RULES = Path(__file__).parents[2] / "docs" / "spec" / "05-outcomes.md"


def test_the_sentences_are_those_of_the_rules() -> None:
    """The two tables are those of O-8, with exactly 38 codes, and O-10."""
    sentences = RULES.read_text(encoding="utf-8").partition("## 5. The sentences")[2]
    rows = re.findall(r"^\| `([a-z-]+)` \| (.+?) \|$", sentences, re.MULTILINE)
    assert rows[:38] == list(OUTCOME_MESSAGES.items())
    assert rows[38:] == list(ADDED_MESSAGES.items())
