"""What all tests share: the option `--full`, hypothesis' two profiles, one event loop, real servers."""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["servers.fixtures"]

SLOW_MACHINE = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile("default", max_examples=50, deadline=None, suppress_health_check=SLOW_MACHINE)
settings.register_profile("full", max_examples=2000, deadline=None, suppress_health_check=SLOW_MACHINE)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the long form of each test that has one")


def pytest_configure(config: pytest.Config) -> None:
    if (
        signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    ):  # as for what a script runs behind it: programs would inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    short = "ci" if os.environ.get("CI") else "default"
    settings.load_profile("full" if config.getoption("--full") else short)


@pytest.fixture(scope="session")
def full(pytestconfig: pytest.Config) -> bool:
    """Whether the long form of a test was asked for."""
    return bool(pytestconfig.getoption("--full"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The only backend: falai's drivers run on asyncio."""
    return "asyncio"
