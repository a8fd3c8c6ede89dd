"""The commands that serve an agent over HTTP and say who may call it, and what each takes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

from falai.cli.host_commands import hosted

__all__ = ["COMMANDS"]

_SERVES = """\b
Examples:
  falai serve desk.py
  falai serve shop.agents:sales --store postgresql://localhost/shop --port 9000
  falai token create falai.db --name shop --scope chat && falai serve desk.py --host 0.0.0.0

\b
Then, with a token:
  curl http://127.0.0.1:8000/v1/sessions/s1/messages \\
    -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" \\
    -d '{"id": "m1", "text": "hello"}'
"""
_DEMOS = """\b
Examples:
  falai demo
  falai demo desk.py --open
"""
_TOKENS = """\b
Examples:
  falai token create falai.db --name shop --scope chat --scope read
  falai token create falai.db --name visitor --scope chat --session web:81 --expires 1d
  falai token list postgresql://localhost/shop --tenant acme
  falai token revoke falai.db 3f9a0c71b2e4

\b
What a scope opens:
  chat      send messages, and stream what is said
  read      sessions, transcripts, outcomes
  people    hold and release a session, write as a person
  operate   events, starts, dead letters, status, metrics, erasing
  flows     flows and their graphs, checking specs
"""

_store = click.argument("store", envvar="FALAI_STORE", metavar="STORE")
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _exit(run: Callable[[], int]) -> None:
    from falai.cli.loading import LoadError

    try:
        code = run()
    except (LoadError, OSError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    sys.exit(code)


def _needs_web() -> None:
    from importlib.util import find_spec

    missing = [name for name in ("fastapi", "uvicorn", "websockets") if find_spec(name) is None]
    if missing:
        raise click.ClickException(f'this needs {" and ".join(missing)}. Install it: pip install "falai[web]"')


@click.command(epilog=_SERVES)
@hosted
@click.option("--host", metavar="ADDRESS", help="Where to listen. Default: 127.0.0.1, which only this machine reaches.")
@click.option("--port", metavar="NUMBER", help="The port; 0 is one that is free. Default: 8000.")
def serve(*, check: bool, **given: Any) -> None:
    """Serve an agent over HTTP: messages and streams, webhooks, people, operation.

    AGENT is a Python file or a module, as for run, and what falai.toml says of the host counts here too; its
    table [web] says more of the server. Who calls needs a token (`falai token create`). On loopback without a
    token in the store, one is made for this run and printed; anywhere else it does not begin without one.

    SIGTERM ends it in good order: nothing new is taken, streams end, what was begun is finished within the
    grace. Exit codes: 0 it was ended; 1 it failed; 2 the configuration or the agent is wrong, or it may not
    listen there.
    """
    _needs_web()
    from falai.cli.running.run import RunError
    from falai.cli.serving.serve import ServeOptions, checked, run_serve
    from falai.errors import FalaiError
    from falai.host.config import ConfigError

    options = ServeOptions(**given)
    try:
        code = run_serve(options) if not check else (checked(options), 0)[1]
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    except (RunError, FalaiError) as error:
        raise click.ClickException(str(error)) from error
    sys.exit(code)


@click.command(epilog=_DEMOS)
@click.argument("agent", default="falai.examples.clinic", metavar="[AGENT]")
@click.option("--port", type=click.IntRange(0, 65_535), metavar="NUMBER", help="Default: 8800, or one that is free.")
@click.option("--open", "opens", is_flag=True, help="Open it in your browser.")
def demo(*, agent: str, port: int | None, opens: bool) -> None:
    """Try an agent in the browser: talk to it, see why it says what it says, move the clock.

    AGENT is a Python file or a module, as for chat; without one it is the example clinic. The playground is on
    this machine only, and only whoever opens the printed address first gets in. What is said there is kept in a
    temporary folder, and gone when it ends (Ctrl-C).
    """
    _needs_web()
    from falai.cli.loading import LoadError
    from falai.cli.serving.demo import run_demo

    try:
        code = run_demo(agent, port=port, opens=opens)
    except LoadError as error:
        raise click.ClickException(str(error)) from error
    sys.exit(code)


@click.group(epilog=_TOKENS)
def token() -> None:
    """Say who may call the API of a host.

    STORE is a postgresql:// URL or a file of SQLite; without it, what FALAI_STORE says. The host may run
    meanwhile: it knows a new token at once, and a revoked one no more within five seconds. The exit code is
    2 when the store cannot be used.
    """


@token.command("create")
@_store
@click.option("--name", required=True, metavar="NAME", help="Whose it is: it stands in lists, and in what is refused.")
@click.option(
    "--scope", "scopes", multiple=True, required=True, metavar="SCOPE",
    help="What it opens: chat, read, people, operate or flows; once for each.",
)  # fmt: skip
@click.option("--tenant", default="default", show_default=True, metavar="NAME", help="Whose sessions it opens.")
@click.option("--agent", metavar="NAME", help="Only for this agent. Default: every agent of the store.")
@click.option("--session", metavar="ID", help="Only for this session: such a token may be in a customer's browser.")
@click.option(
    "--expires", metavar="TIME", help="How long it is valid, such as 12h or 90d. Default: until it is revoked."
)
@_json
def token_create(*, store: str, as_json: bool, **asked: Any) -> None:
    """Make a token, and print it: this once, for only a hash of it is kept.

    The token is all that standard output has, so that it can go to where secrets are kept:
    falai token create falai.db --name shop --scope chat | pass insert -m falai/shop
    """
    from falai.cli.serving.tokens import Asked, run_create

    _exit(lambda: run_create(store, Asked(**asked), as_json=as_json))


@token.command("list")
@_store
@click.option("--tenant", metavar="NAME", help="Only of this tenant.")
@click.option("--agent", metavar="NAME", help="Only what this agent takes.")
@_json
def token_list(*, store: str, tenant: str | None, agent: str | None, as_json: bool) -> None:
    """List the tokens, one a line, the oldest first; those that are over for a month.

    What is secret in them is nowhere.
    """
    from falai.cli.serving.tokens import run_list

    _exit(lambda: run_list(store, tenant=tenant, agent=agent, as_json=as_json))


@token.command("revoke")
@_store
@click.argument("ids", nargs=-1, required=True, metavar="ID...")
def token_revoke(*, store: str, ids: tuple[str, ...]) -> None:
    """End tokens for good, by their ids.

    The exit code is 1 when one of them is not there, or was revoked before.
    """
    from falai.cli.serving.tokens import run_revoke

    _exit(lambda: run_revoke(store, ids))


COMMANDS = (serve, demo, token)
