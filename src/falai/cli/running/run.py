"""`falai run`: reads the configuration, puts the host together, and lets it run until a signal or the end.

What stops it in good order is SIGTERM or SIGINT: nothing new is begun, what was begun is finished
within the grace, and the rest is given back; it is all in the store, and the next start goes on.
A second signal ends it at once. Being killed is no other thing: only the grace is missing.
"""

from __future__ import annotations

import asyncio
import copy
import logging
import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeVar

from falai.agent import Agent
from falai.cli.loading import Loaded, LoadError, load_agent
from falai.cli.models import close_model, named_model, without_key
from falai.cli.running.feeds import feed_from_folder, feed_from_stdin
from falai.cli.running.logs import logging_to_stderr
from falai.cli.running.printing import LinesChannel, Printer
from falai.cli.running.stopping import Stop, first_of
from falai.cli.running.taking import Taker
from falai.cli.urls import check_hosts, hidden, secrets_of
from falai.errors import FalaiError, words_of
from falai.host import Host
from falai.host.config import Config, ConfigError, ConfigProblem, read_config
from falai.log import line
from falai.model.port import Model
from falai.web.settings import ServeSettings

__all__ = ["RunError", "RunOptions", "configured", "opened", "own_stdout", "run_host"]

T = TypeVar("T")

_LOG: Final = logging.getLogger("falai.cli")
_FILE: Final = Path("falai.toml")


class RunError(Exception):
    """It cannot run; the text says why, for the person at the keyboard, without a secret."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What the command line says; what is `None` the configuration says, or nothing does."""

    agent: str | None = None
    config: Path | None = None
    store: str | None = None
    spool: str | None = None
    model: str | None = None
    base_url: str | None = None
    once: bool = False


def configured(options: RunOptions, more: Mapping[str, str | None] | None = None) -> tuple[Config, Loaded]:
    """What is to be run, checked, and nothing opened. Raises `ConfigError` with all that is wrong.

    `more` are settings of tables that the command line says. One file is for `falai run` and `falai serve`.
    """
    given = {name: getattr(options, name) for name in ("agent", "store", "spool", "model", "base_url")} | dict(
        more or {}
    )
    file = options.config or (_FILE if _FILE.is_file() else None)
    config = read_config(file, given=given, tables={"web": ServeSettings})
    problems: list[ConfigProblem] = []
    _tried("store", lambda: check_hosts(config.store), problems)
    model = _tried("model", lambda: named_model(config.model, config.base_url), problems)
    loaded = _tried("agent", lambda: load_agent(config.agent), problems)
    if loaded is not None and config.model is None and (why := without_key(loaded.agent.model)):
        problems.append(ConfigProblem("model", why))
    if problems or loaded is None:
        raise ConfigError(problems)
    return config, loaded if model is None else replace(loaded, agent=_with_model(loaded.agent, model))


def _tried(where: str, make: Callable[[], T], problems: list[ConfigProblem]) -> T | None:
    try:
        return make()
    except LoadError as error:
        problems.append(ConfigProblem(where, str(error)))
        return None


def _with_model(agent: Agent[Any], model: Model) -> Agent[Any]:
    twin = copy.copy(agent)
    twin.model = model
    return twin


def run_host(options: RunOptions) -> int:
    """Runs until a signal; with `once` until nothing is left to do now. Gives the exit code.

    Raises `ConfigError` before anything is opened, then `RunError` and `HostBusyError`.
    """
    config, loaded = configured(options)
    secrets = (*config.secrets, *secrets_of(config.store))
    stdout = own_stdout()
    with logging_to_stderr(config.log_level, config.log_format, secrets), redirect_stdout(sys.stderr):
        return asyncio.run(_run(config, loaded, stdout, once=options.once))


def own_stdout() -> int:
    """A descriptor of its own, since the author's code may print. Raises `RunError` when there is none."""
    try:
        return os.dup(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError) as error:  # AttributeError: Python has None for a closed one
        raise RunError("standard output is closed: lead it to a program, a file or /dev/null") from error


async def _run(config: Config, loaded: Loaded, stdout: int, *, once: bool) -> int:
    printer, stop = Printer(stdout), Stop()
    channels = config.channels or {LinesChannel.name: LinesChannel(printer)}
    host = Host(
        loaded.agent,
        config.store,
        channel=channels,
        context=loaded.host_context,
        settings=config.settings,
        tenant=config.tenant,
    )
    tell = printer.print if config.spool is None else None  # who writes on standard input may wait for an answer
    try:
        async with opened(host, config.store):
            _LOG.info("%s runs on %s", loaded.agent.plan.name, config.store, extra=line("run.started"))
            await first_of(
                stop.asked.wait(),
                printer.broken.wait(),
                _feeding(host, Taker(host, channels, tell), config.spool, once=once),
            )
            why = "nobody reads standard output" if printer.broken.is_set() else stop.why
            _LOG.info("it stops: %s", why, extra=line("run.stopping"))
        _LOG.info("it has stopped", extra=line("run.stopped"))
    finally:
        await close_model(loaded.agent.model)
    return 1 if printer.broken.is_set() else 0


async def _feeding(host: Host[Any], taker: Taker, spool: Path | None, *, once: bool) -> None:
    """Takes lines in; returns only when there is an end, and nothing is left to do now."""
    if spool is None:
        await feed_from_stdin(taker.take)
    else:
        await feed_from_folder(spool, taker.take, once=once)
    if once:
        await host.drained()
        return
    _LOG.info("standard input has ended; timers and messages go on", extra=line("run.input_ended"))
    await asyncio.Event().wait()


@asynccontextmanager
async def opened(host: Host[Any], store: str) -> AsyncGenerator[None]:
    """The host at work. Raises `RunError` when its store cannot be opened."""
    try:
        await host.__aenter__()
    except FalaiError:
        raise
    except ImportError as error:
        raise RunError(f'a host on PostgreSQL needs {error.name}: pip install "falai[postgres]"') from error
    except Exception as error:  # of whichever driver
        why = hidden(f"{store} cannot be opened: {words_of(error)}", store)
        raise RunError(why) from error
    async with AsyncExitStack() as stack:
        stack.push_async_exit(host.__aexit__)
        yield
