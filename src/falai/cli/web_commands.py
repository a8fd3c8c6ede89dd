"""The commands that serve an agent over HTTP and say who may call it, and what each takes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import click

__all__ = ["COMMANDS"]

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


COMMANDS = (token,)
