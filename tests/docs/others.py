"""The programs of other libraries that the documentation shows: found here, and run where that library is.

None of them is installed beside falai. In an environment of its own, which needs nothing else::

    python tests/docs/others.py LangGraph
"""

from __future__ import annotations

import io
import re
import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "coming-from-others.md"
PACKAGES = {"LangGraph": "langgraph", "OpenAI Agents SDK": "openai-agents", "Rasa SDK": "rasa-sdk"}
BLOCK = re.compile(r"^```\{code-block\} python\n:caption: ([^\n]+) (\S+)\n\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A program, or its continuation: the blocks of one library share their names, from top to bottom."""

    framework: str
    release: str
    line: int
    code: str


def blocks() -> list[Block]:
    """The page's blocks, in order."""
    text = PAGE.read_text(encoding="utf-8")
    return [Block(found[1], found[2], text.count("\n", 0, found.start(3)), found[3]) for found in BLOCK.finditer(text)]


def run(framework: str) -> list[str]:
    """Runs the blocks of one library; gives a sentence for each that prints something else than stands behind `#>`.

    Raises `ValueError` when another release is installed than the page is about.
    """
    names: dict[str, Any] = {"__name__": "docs"}
    return [problem for block in blocks() if block.framework == framework for problem in _differences(block, names)]


def _differences(block: Block, names: dict[str, Any]) -> list[str]:
    if (installed := version(PACKAGES[block.framework])) != block.release:
        raise ValueError(
            f"{block.framework} {installed} is installed, and the page is about {block.release}: install that"
        )
    with redirect_stdout(io.StringIO()) as out:
        exec(compile("\n" * block.line + block.code, str(PAGE), "exec"), names)
    said = re.findall(r"^#> ?(.*)$", block.code, re.MULTILINE)
    return [
        f"{PAGE}:{block.line}: prints {printed!r}, and the page says {expected!r}"
        for expected, printed in zip_longest(said, out.getvalue().splitlines())
        if expected != printed
    ]


if __name__ == "__main__":
    name = " ".join(sys.argv[1:])
    if name not in PACKAGES:
        sys.exit(f"name one of: {', '.join(PACKAGES)}")
    if problems := run(name):
        sys.exit("\n".join(problems))
    sys.stdout.write(f"{name}: prints what the page says\n")
