"""The commands that look at flows before anyone deploys them, and what each takes."""

from __future__ import annotations

import sys

import click

__all__ = ["COMMANDS"]

_CHECKS = """\b
Examples:
  falai check flows/
  falai check flows/lead.yaml --agent desk.py
  falai check shop.agents:sales --strict
  falai check flows/ --ignore maybe-unset:lead.bye
"""


@click.command(epilog=_CHECKS)
@click.argument("targets", nargs=-1, required=True, metavar="FILE_OR_MODULE...")
@click.option("--agent", metavar="AGENT", help="Whose fields, actions, … the flows may use: a Python file or a module.")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON, for an editor.")
@click.option(
    "--ignore", multiple=True, metavar="PATTERN", help="A warning that you accept: CODE, CODE:FLOW, CODE:FLOW.STEP."
)
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings, too.")
def check(*, targets: tuple[str, ...], agent: str | None, as_json: bool, ignore: tuple[str, ...], strict: bool) -> None:
    """Check flows: what is wrong or odd in them, where, and what to do.

    A target is a file (JSON or YAML), a folder, a Python file or a module, with a colon and a name if
    that is not `agent`. Nothing of yours is run. The exit code is 0 when nothing is wrong, 1 when there
    are problems, 2 when something cannot be found.
    """
    # Each command imports what it needs, so that --help is quick.
    from falai.cli.check import run_check
    from falai.cli.loading import LoadError

    try:
        sys.exit(run_check(targets, agent, ignore, as_json=as_json, strict=strict))
    except LoadError as error:
        raise click.UsageError(str(error)) from error


COMMANDS = (check,)
