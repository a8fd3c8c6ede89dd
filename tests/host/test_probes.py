"""The four mishaps at which frameworks fail, as the example script plays them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "examples" / "four_probes.py"


def test_the_four_probes() -> None:
    """The script prints a row for each of them, and each is good."""
    done = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True)
    assert [row.partition(" | ")[0].strip() for row in done.stdout.splitlines()] == ["ok"] * 4
