"""The types are part of the promise: the program of the design passes, and mistakes are seen."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PYRIGHT = {"PYRIGHT_PYTHON_CACHE_DIR": str(Path(sys.prefix) / "pyright"), "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}


def _run(*command: str) -> str:
    environment = os.environ | PYRIGHT
    module = [sys.executable, "-m", *command]
    return subprocess.run(module, cwd=ROOT, env=environment, capture_output=True, text=True, check=False).stdout


def _pyright(file: Path) -> list[tuple[int, str]]:
    report = json.loads(_run("pyright", "--outputjson", str(file)))
    return [
        (found["range"]["start"]["line"] + 1, found["message"])
        for found in report["generalDiagnostics"]
        if found["severity"] == "error" and Path(found["file"]) == file
    ]


def _mypy(file: Path) -> list[tuple[int, str]]:
    said = _run(
        "mypy", "--no-error-summary", "--show-absolute-path", "--cache-dir", str(ROOT / ".mypy_cache"), str(file)
    )
    found = re.findall(rf"^{re.escape(str(file))}:(\d+): error: (.*)$", said, re.MULTILINE)
    return [(int(line), message) for line, message in found]


@pytest.mark.parametrize("name", ["program.py", "classic.py"])
def test_a_program_type_checks(name: str) -> None:
    """The names and signatures of the design, and those of the 3.x form, strictly, in both checkers."""
    program = HERE / name
    assert _pyright(program) == []
    assert _mypy(program) == []


def test_mistakes_are_type_errors() -> None:
    """Each marked line is an error in both checkers, and no other line is."""
    mistakes = HERE / "mistakes.py"
    lines = mistakes.read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# expect-error")}
    assert {line for line, _ in _pyright(mistakes)} == marked
    assert {line for line, _ in _mypy(mistakes)} == marked
