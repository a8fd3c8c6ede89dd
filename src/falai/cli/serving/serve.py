"""`falai serve`: a host behind HTTP, from the same configuration as `falai run`.

It listens beyond this machine only if its store has a token. Without one, on loopback, it makes one for this run,
which is kept nowhere.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass
from socket import socket
from typing import Any, Final

from falai.channel import Channel
from falai.cli.loading import Loaded
from falai.cli.models import close_model
from falai.cli.running.logs import logging_to_stderr
from falai.cli.running.run import RunError, RunOptions, configured, opened, own_stdout
from falai.cli.running.stopping import Stop
from falai.cli.urls import secrets_of
from falai.flow.durations import parse_duration
from falai.host import Host
from falai.host.config import Config, ConfigError, ConfigProblem
from falai.host.ledger.tokens import TokenRow, has_token
from falai.log import line
from falai.session.dates import system_now, to_ms
from falai.web.access import SCOPES, Keys
from falai.web.access.tokens import NewToken, new_token
from falai.web.page import PageChannel
from falai.web.settings import ServeSettings

__all__ = ["ServeOptions", "checked", "run_serve"]

_LOG: Final = logging.getLogger("falai.cli")
_REFUSAL: Final = (
    "it is {}, where others reach it, and the store has no token, so nobody could prove who they are. Make one: "
    "falai token create STORE --name NAME --scope chat"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions(RunOptions):
    """What the command line says; what is `None` the configuration says, or nothing does."""

    host: str | None = None
    port: str | None = None


def checked(options: ServeOptions) -> tuple[Config, Loaded]:
    """What is to be served, and nothing opened. Raises `ConfigError` with all that is wrong."""
    return configured(options, {"web.host": options.host, "web.port": options.port})


def run_serve(options: ServeOptions) -> int:
    """Serves until a signal. Gives the exit code.

    Raises `ConfigError` before anything is opened, and where it may not listen; then `RunError` and `HostBusyError`.
    """
    config, loaded = checked(options)
    secrets = (*config.secrets, *secrets_of(config.store))
    stdout = own_stdout()
    with logging_to_stderr(config.log_level, config.log_format, secrets), redirect_stdout(sys.stderr):
        return asyncio.run(_serve(config, loaded, stdout))


async def _serve(config: Config, loaded: Loaded, stdout: int) -> int:
    web: ServeSettings = config.tables["web"]
    stop = Stop()
    host = Host(
        loaded.agent,
        config.store,
        channel=_channels(config),
        context=loaded.host_context,
        settings=config.settings,
        tenant=config.tenant,
    )
    try:
        with _socket(web) as at:
            async with opened(host, config.store):
                await _behind_http(config, host, at, stop, stdout)
                _LOG.info("it stops: %s", stop.why, extra=line("serve.stopping"))
            _LOG.info("it has stopped", extra=line("serve.stopped"))
    finally:
        await close_model(loaded.agent.model)
    return 0


def _channels(config: Config) -> Mapping[str, Channel]:
    """Those of the configuration; beside them, one for sessions that live on a page."""
    return {"page": PageChannel(), **config.channels} if config.channels else {}


async def _behind_http(config: Config, host: Host[Any], at: socket, stop: Stop, stdout: int) -> None:
    from falai.web import create_app  # a web framework and a server: an extra, and slow to load
    from falai.web.serving import serve, url_of

    web: ServeSettings = config.tables["web"]
    own = await _token_of_this_run(config, host, at)
    rows: tuple[TokenRow, ...] = () if own is None else (own.row,)
    app = create_app(host, settings=web, keys=Keys(lambda: host.ledger, host.agent.plan.name, own=rows))

    def ready() -> None:
        with suppress(OSError):  # nobody reads it
            os.write(stdout, _greeting(host, url_of(at), own).encode())
        _LOG.info("%s is served at %s", host.agent.plan.name, url_of(at), extra=line("serve.started"))

    grace_s = parse_duration(config.settings.grace) / 1000
    await serve(app, at, ready=ready, stop=stop.asked, grace_s=grace_s, max_body=web.max_body)


def _socket(web: ServeSettings) -> socket:
    """Raises `RunError` when it cannot listen there."""
    from falai.web.serving import bound  # as above

    try:
        return bound(web.host, web.port)
    except OSError as error:
        raise RunError(f"it cannot listen on {web.host}, port {web.port}: {error.strerror or error}") from error


async def _token_of_this_run(config: Config, host: Host[Any], at: socket) -> NewToken | None:
    """`None` when the store has a token. Raises `ConfigError` where others could come, and nobody may."""
    from falai.web.serving import loopback_only  # as above

    now = to_ms(system_now())
    if await host.ledger.run(has_token(host.agent.plan.name, now_ms=now)):
        return None
    if not loopback_only(at):
        raise ConfigError([ConfigProblem("web.host", _REFUSAL.format(config.tables["web"].host))])
    return new_token(name="this run", tenant=config.tenant, scopes=SCOPES, now_ms=now)


def _greeting(host: Host[Any], url: str, own: NewToken | None) -> str:
    lines = [f"{host.agent.plan.name} is served at {url}/v1 ({url}/v1/openapi.json describes it)"]
    if own is not None:
        lines += [f"The store has no token; this one is for this run only, and opens everything: {own.text}"]
    return "".join(f"{one}\n" for one in lines)
