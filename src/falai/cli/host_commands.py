"""The commands that run a host and look after its database, and what each takes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["COMMANDS", "hosted"]

F = TypeVar("F", bound=Callable[..., Any])

_RUNS = """\b
Examples:
  falai run desk.py
  falai run shop.agents:sales --config falai.toml --spool in/
  falai run desk.py --store desk.db --once < inputs.jsonl
  echo '{"session": "s1", "id": "m1", "message": "hello"}' | falai run desk.py --once

\b
A line of input is one of these, with a session:
  {"session": "s1", "id": "m1", "message": "hello", "address": "+5511…", "customer": "c1"}
  {"session": "s1", "key": "e1", "event": "paid", "payload": {"amount": 5}}
  {"session": "s1", "start": {"flow": "nudge", "key": "k1"}}
  {"session": "s1", "hold": "a person writes"}    {"session": "s1", "release": true}
  {"session": "s1", "id": "h1", "human": "I am here now", "by": "Rui"}
"""


_hosted = (
    click.argument("agent", required=False, metavar="[AGENT]"),
    click.option(
        "--config",
        envvar="FALAI_CONFIG",
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help="The configuration. Default: what FALAI_CONFIG says, else falai.toml where you stand, if it is there.",
    ),
    click.option(
        "--store", metavar="URL", help="Where everything is kept. Default: what FALAI_STORE says, else falai.db."
    ),
    click.option("--model", metavar="NAME", help="The model. Default: what FALAI_MODEL says, else the agent's own."),
    click.option("--base-url", metavar="URL", help="The address of an OpenAI-compatible server."),
    click.option("--check", is_flag=True, help="Only say what is wrong with configuration and agent."),
)


def hosted(command: F) -> F:
    """What each command takes that runs a host."""
    for option in reversed(_hosted):
        command = option(command)
    return command


@click.command(epilog=_RUNS)
@hosted
@click.option("--spool", metavar="FOLDER", help="Take lines from *.jsonl files in this folder, and remove them.")
@click.option("--once", is_flag=True, help="End when the input has ended and nothing is left to do now.")
def run(*, check: bool, **given: str | Path | bool | None) -> None:
    """Run an agent for real: nothing that comes in is lost or answered twice, timers go off.

    AGENT is a Python file or a module, as for chat. Inputs come in as JSON, one a line, on standard
    input, or in files of a folder (--spool). What is said to customers goes out by the channels of
    the configuration; without any it is printed, as JSON lines. The log is on standard error.

    SIGTERM ends it in good order; after a kill the next start goes on where it was. Exit codes: 0 it
    was ended; 1 it failed; 2 the configuration or the agent is wrong, and every problem is named.
    """
    from falai.cli.running.run import RunError, RunOptions, configured, run_host
    from falai.errors import FalaiError
    from falai.host.config import ConfigError

    options = RunOptions(**given)  # type: ignore[arg-type]  # click gives each the type of its option
    try:
        code = run_host(options) if not check else (configured(options), 0)[1]
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    except (RunError, FalaiError) as error:
        raise click.ClickException(str(error)) from error
    sys.exit(code)


_store = click.argument("store", envvar="FALAI_STORE", metavar="STORE")
_which = (
    click.option("--agent", metavar="NAME", help="Only of this agent."),
    click.option("--tenant", metavar="NAME", help="Only of this tenant."),
    click.option("--session", metavar="ID", help="Only of this session."),
    click.option("--key", metavar="KEY", help="Only the one of this key, as `falai queue dead` shows it."),
    click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many."),
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _with_which(command: F) -> F:
    for option in reversed(_which):
        command = option(command)
    return command


def _exit(run: Callable[[], int]) -> None:
    from falai.cli.loading import LoadError

    try:
        code = run()
    except (LoadError, OSError) as error:
        raise click.UsageError(str(error)) from error
    sys.exit(code)


_DATABASES = """\b
Examples:
  falai db status postgresql://localhost/shop
  falai db upgrade postgresql://localhost/shop          before a deploy
  falai db upgrade --after postgresql://localhost/shop  once the old release is gone
  falai db status falai.db
"""


@click.group(epilog=_DATABASES)
def db() -> None:
    """Look at the tables of a host's database, and bring them up to date.

    STORE is a postgresql:// URL or a file of SQLite; without it, what FALAI_STORE says. A host brings its
    tables up to date by itself when it starts. Whoever deploys several processes does it before: first
    `upgrade`, with which the release before works on; then the deploy; then `upgrade --after`.
    """


@db.command("status")
@_store
def db_status(*, store: str) -> None:
    """Say how far the tables are.

    The exit code is 0 when nothing is to be run, 1 when `upgrade` is to be run first or a newer release is
    needed, 3 when only `upgrade --after` is left, 2 when the store cannot be used.
    """
    from falai.cli.hosted.database import run_status

    _exit(lambda: run_status(store))


@db.command("upgrade")
@_store
@click.option("--after", is_flag=True, help="Run what comes after a deploy too; no process of the old release may run.")
def db_upgrade(*, store: str, after: bool) -> None:
    """Run what is to be run; twice is as good as once.

    The exit code is 0 when the tables are as they should be, 2 when the store cannot be used. A file of
    SQLite has one process at a time, so everything is run, and no host may run on it.
    """
    from falai.cli.hosted.database import run_upgrade

    _exit(lambda: run_upgrade(store, after=after))


_QUEUES = """\b
Examples:
  falai queue status postgresql://localhost/shop
  falai queue dead falai.db --tenant acme
  falai queue retry postgresql://localhost/shop --session whatsapp:5511999
  falai queue drop postgresql://localhost/shop --key message:m17
"""


@click.group(epilog=_QUEUES)
def queue() -> None:
    """See what waits in a host's database and what was set aside; try that again, or drop it.

    STORE is a postgresql:// URL or a file of SQLite; without it, what FALAI_STORE says. What failed too
    often is set aside with its reason, and its session goes on. To change something in a file of SQLite,
    stop its host first; to look, it may run. The exit code is 2 when the store cannot be used.
    """


@queue.command("status")
@_store
@_json
def queue_status(*, store: str, as_json: bool) -> None:
    """Show what waits, for how long, and how many are at work.

    A line for each agent and tenant of whom something waits. With PostgreSQL also the jobs and workers: a
    job is stalled when its worker died, and is another's within seconds, if another lives. The exit code is
    1 when something is set aside or stalled.
    """
    from falai.cli.hosted.queue import run_status

    _exit(lambda: run_status(store, as_json=as_json))


@queue.command("dead")
@_store
@_with_which
@_json
def queue_dead(*, store: str, as_json: bool, **which: Any) -> None:
    """List what was set aside, one a line, the oldest first."""
    from falai.cli.hosted.queue import Which, run_dead

    _exit(lambda: run_dead(store, Which(**which), as_json=as_json))


@queue.command("retry")
@_store
@_with_which
def queue_retry(*, store: str, **which: Any) -> None:
    """Try again what was set aside, all of it or what is named. The exit code is 1 when there is nothing of it."""
    from falai.cli.hosted.queue import Which, run_change

    _exit(lambda: run_change(store, Which(**which), drop=False))


@queue.command("drop")
@_store
@_with_which
@click.option("--all", "everything", is_flag=True, help="Drop all of it; else something has to be named.")
def queue_drop(*, store: str, everything: bool, **which: Any) -> None:
    """Let go for good what was set aside. The exit code is 1 when there is nothing of it."""
    from falai.cli.hosted.queue import Which, run_change

    if not everything and Which(**which) == Which(limit=which["limit"]):
        raise click.UsageError("name what to drop (--agent, --tenant, --session, --key), or say --all")
    _exit(lambda: run_change(store, Which(**which), drop=True))


COMMANDS = (run, db, queue)
