"""Every conformance case is a test: one agent, a script of model replies, what each turn returns."""

from __future__ import annotations

import pytest

from conformance.source import case_files
from falai.testing.scenario import Case, load_files, run_case


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in load_files(case_files())])
async def test_case(case: Case) -> None:
    """What the case says is what happens."""
    differences = await run_case(case)
    assert not differences, "\n".join(map(str, differences))
