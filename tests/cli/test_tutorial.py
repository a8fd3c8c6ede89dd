"""The conversation of the tutorial happens as it is written there."""

from __future__ import annotations

import re
from pathlib import Path

from cli.program import chat

PAGE = Path(__file__).parents[2] / "docs" / "tutorial" / "talk.md"


def _answers(lines: list[str]) -> list[tuple[str, list[str]]]:
    """What was typed, each with what came of it."""
    turns: list[tuple[str, list[str]]] = []
    for line in lines:
        if line.startswith("you > "):
            turns.append((line, []))
        elif turns:
            turns[-1][1].append(line)
    return turns


def _fits(written: list[str], printed: list[str]) -> bool:
    """Line by line; a line that is … stands for any, and so does … at the end of one."""
    return len(written) == len(printed) and all(
        printed_line.startswith(line.removesuffix("…")) if line.endswith("…") else line == printed_line
        for line, printed_line in zip(written, printed, strict=True)
    )


def test_the_conversation_is_as_written(tmp_path: Path) -> None:
    """Every line of the page, typed in order, is answered as the page shows."""
    blocks = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    written = _answers("".join(blocks).splitlines())
    done = chat(tmp_path / "chat.sqlite", [typed.removeprefix("you > ") for typed, _ in written])
    printed = _answers(done.out.splitlines())
    assert [typed for typed, _ in printed] == [typed for typed, _ in written]
    differing = [
        (typed, said) for (typed, shown), (_, said) in zip(written, printed, strict=True) if not _fits(shown, said)
    ]
    assert differing == []
