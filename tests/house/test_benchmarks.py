"""`python -m benchmarks` runs every benchmark that has a limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import OTHERS, others

HERE = Path(__file__).parents[2] / "benchmarks"


def test_every_benchmark_with_a_limit_is_run() -> None:
    """A file that states a `LIMIT` is one of those that are run."""
    stated = {f"benchmarks.{file.stem}" for file in HERE.glob("*.py") if "\nLIMIT = " in file.read_text("utf-8")}
    assert stated == set(OTHERS)


def test_one_that_is_over_its_limit_shows_in_the_exit_code(capfd: pytest.CaptureFixture[str]) -> None:
    """All are run, whatever the first ones say."""
    assert others(["this"]) == 0
    assert others(["no_such_benchmark", "this"]) == 1
    assert capfd.readouterr().out.count("Beautiful is better than ugly.") == 2
