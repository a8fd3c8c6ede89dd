"""The four probes on a real host, and the script that shows them."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "examples" / "probes.py"
NAMES: dict[str, Any] = runpy.run_path(str(SCRIPT))


@pytest.mark.parametrize("probe", NAMES["PROBES"], ids=lambda probe: probe.__name__)
async def test_a_probe(probe: Any, tmp_path: Path) -> None:
    """What has to be is what was."""
    found = await probe(tmp_path / "falai.db")
    assert found.found == found.wanted


def test_the_script_prints_a_table() -> None:
    """A row for each probe, without colour where no terminal reads it."""
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=True)
    assert done.stdout.count(" ok   ") == len(NAMES["PROBES"])
    assert "\x1b" not in done.stdout


def test_a_probe_that_finds_something_says_what() -> None:
    """Both what has to be and what was, marked, and in colour where it can be."""
    found = NAMES["Finding"]("a probe", wanted="said hello", found="said nothing")
    assert NAMES["table"]([found], colour=True).splitlines() == [
        "\x1b[1;31mFAIL\x1b[0m  a probe",
        "      wanted: said hello",
        "      found:  said nothing",
    ]
