"""The scenario files that the documentation shows play as they are written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from falai.testing.scenario import run_files

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^```yaml\n(cases:.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = [
    (page, found[1])
    for page in sorted(DOCS.rglob("*.md"))
    if "_build" not in page.parts
    for found in FENCE.finditer(page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "text"), SHOWN, ids=[str(page.relative_to(DOCS)) for page, _ in SHOWN])
def test_scenario(page: Path, text: str, tmp_path: Path) -> None:
    """A file of a page is right, and nothing differs."""
    file = tmp_path / f"{page.stem}.yaml"
    file.write_text(text, encoding="utf-8")
    report = run_files([file])
    assert report.exit_code == 0, (report.problems, report.differences)
    assert report.cases
