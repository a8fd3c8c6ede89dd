"""Every Python snippet of the README and the documentation runs, and prints what it says it prints.

The snippets of one page share their names, from top to bottom. A line `#> text` behind a snippet's
statements is what it prints, `#> …` any line. `await` at the top level works, as in `python -m asyncio`.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from itertools import zip_longest
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    if "_build" not in page.parts and FENCE.search(page.read_text(encoding="utf-8"))
]


def _compiled(page: Path, text: str, start: int) -> CodeType:
    # Empty lines in front, so that a traceback names the line of the page.
    line = text.count("\n", 0, start)
    source = "\n" * line + text[start : text.index("\n```", start)]
    return compile(source, str(page), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_snippets_run(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The page's snippets run one after the other and print what stands behind `#>`."""
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "docs"}
    with asyncio.Runner() as runner:
        for snippet in FENCE.finditer(text):
            value = eval(_compiled(page, text, snippet.start(1)), names)
            if inspect.iscoroutine(value):
                runner.run(value)
            said = re.findall(r"^ *#> ?(.*)$", snippet[1], re.MULTILINE)
            printed = capsys.readouterr().out.splitlines()
            assert [line if other != "…" else "…" for line, other in zip_longest(printed, said)] == said
