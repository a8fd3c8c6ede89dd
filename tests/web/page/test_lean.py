"""What is served of our files says the same as their source: what goes are comments, and space that means nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import falai
from falai.web.playground.page import lean

PAGE = Path(falai.__file__).parent / "web/playground/page"
OURS = [path for path in sorted(PAGE.rglob("*.[cj]s*")) if path.parent.name != "vendor" and path.suffix != ".json"]
STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
# A slash begins a regular expression where no value stands before it that could be divided.
EXPRESSION = r"(?<![\w)\]}\s])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/\w*"
CODE = {
    ".js": re.compile(rf"(?P<comment>/\*.*?\*/|//[^\n]*)|{STRING}|{EXPRESSION}|[\w$]+|\s+|.", re.DOTALL),
    ".css": re.compile(rf"(?P<comment>/\*.*?\*/)|{STRING}|[^\s{{}};:,\"'/]+|\s+|.", re.DOTALL),
}
TEMPLATE = re.compile(r"\\.|\$\{|`|(?:[^\\`$]|\$(?!\{))+", re.DOTALL)


def tokens(text: str, suffix: str) -> Iterator[str]:
    """The pieces of a source but comments and space; within a template, a line's indentation is such space."""
    inside, at = [""], 0  # what each place ends that we are in: a template by "`", its code by "}"
    while at < len(text):
        in_template = inside[-1] == "`"
        found = (TEMPLATE if in_template else CODE[suffix]).match(text, at)
        assert found is not None
        at, token = found.end(), found[0]
        if token == inside[-1]:
            inside.pop()
        elif token == "`" or token in ("{", "${"):
            inside.append("`" if token == "`" else "}")
        if in_template:
            yield re.sub(r"\s*\n\s*", "\n", token)
        elif "comment" not in found.re.groupindex or (found["comment"] is None and token.strip()):
            yield token.strip()
    assert inside == [""]


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.relative_to(PAGE).as_posix())
def test_only_comments_and_space_are_left_out(path: Path):
    """Token for token: no text, template or regular expression loses what only looks like a comment."""
    source = path.read_text("utf-8")
    served = lean(path.relative_to(PAGE).as_posix(), source.encode()).decode()
    assert list(tokens(served, path.suffix)) == list(tokens(source, path.suffix))
    assert len(served) < len(source)


def test_the_reader_of_sources_knows_what_is_no_comment():
    """Else the test above would see nothing."""
    source = 'a = "/* b */"; // c\nd(/[/*]\\/*/g, `//${{ e: `/* f` }} g`) / 2 /* h */ / 3'
    assert [token for token in tokens(source, ".js") if len(token) > 2] == ['"/* b */"', "/[/*]\\/*/g", "/* f"]
    assert "h" not in list(tokens(source, ".js"))
    assert list(tokens('a{b:"/* c */"}/* d */', ".css")) == ["a", "{", "b", ":", '"/* c */"', "}"]
