"""What the documentation shows of other libraries is whole, and is about one release of each."""

from __future__ import annotations

import ast

from docs.others import PACKAGES, PAGE, blocks


def test_blocks_parse() -> None:
    """Each block is Python, and the author can run it: none has another form of caption, or an unknown library."""
    found = blocks()
    for block in found:
        ast.parse("\n" * block.line + block.code, str(PAGE))
    assert PAGE.read_text(encoding="utf-8").count("```{code-block} python") == len(found)
    assert {block.framework for block in found} == set(PACKAGES)


def test_one_release_each() -> None:
    """All blocks of a library were run with the same release, so that one environment runs them."""
    assert len({(block.framework, block.release) for block in blocks()}) == len(PACKAGES)
