"""A page may set a tracer provider: the next page begins without one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.test.globals_test import reset_trace_globals


@pytest.fixture(autouse=True)
def no_tracer_provider() -> Iterator[None]:
    yield
    reset_trace_globals()
