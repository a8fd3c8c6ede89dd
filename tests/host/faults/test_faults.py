"""The promises of a host, under faults that a seed chooses.

A seed is a script of what customers and people do, several lives of a host that are cut off anywhere, a model,
an action and a channel that fail, hang and are slow, a clock that jumps and a disk that is full. At its
end everything is looked up: what is in the file, and what reached the outside (`verdict`).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from host.faults.plants import PLANTS
from host.faults.seeds import play

pytestmark = pytest.mark.faults

TESTS = Path(__file__).parents[2]
SEEDS_OF_A_PLANT = 300  # most are found by the first few
AGAIN = "repeat it in tests/ with: python -m host.faults.seeds"


def test_a_host_that_is_cut_off_anywhere(tmp_path: Path, *, full: bool) -> None:
    """No promise is broken, wherever a life ends: between two statements, two calls, two steps."""
    broken = list[str]()
    for seed in range(2000 if full else 50):
        if found := play(seed, tmp_path / str(seed)):
            broken.append(f"seed {seed} ({AGAIN} {seed}): {'; '.join(found)}")
    assert not broken, "\n".join(broken)


def test_a_process_that_is_killed_anywhere(*, full: bool) -> None:
    """The same with processes that SIGKILL ends, at a moment of the seed's or at any."""
    last = 1999 if full else 9
    command = [sys.executable, "-m", "host.faults.seeds", "--processes", "0", str(last)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{AGAIN} --processes SEED\n{done.stdout}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_fault_is_found(name: str, tmp_path: Path) -> None:
    """A host with this fault does not pass: what the seeds of this file say is worth something."""
    rewrite = PLANTS[name]()
    for seed in range(SEEDS_OF_A_PLANT):
        try:
            if play(seed, tmp_path / str(seed), rewrite=rewrite):
                return
        except RuntimeError:  # it never comes to an end
            return
    pytest.fail(f"{SEEDS_OF_A_PLANT} seeds have not found it: {name}")
