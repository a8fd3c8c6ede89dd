"""The command that runs a host, and what it takes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

__all__ = ["COMMANDS"]

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


@click.command(epilog=_RUNS)
@click.argument("agent", required=False, metavar="[AGENT]")
@click.option(
    "--config",
    envvar="FALAI_CONFIG",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The configuration. Default: what FALAI_CONFIG says, else falai.toml where you stand, if it is there.",
)
@click.option("--store", metavar="URL", help="Where everything is kept. Default: what FALAI_STORE says, else falai.db.")
@click.option("--spool", metavar="FOLDER", help="Take lines from *.jsonl files in this folder, and remove them.")
@click.option("--model", metavar="NAME", help="The model. Default: what FALAI_MODEL says, else the agent's own.")
@click.option("--base-url", metavar="URL", help="The address of an OpenAI-compatible server.")
@click.option("--once", is_flag=True, help="End when the input has ended and nothing is left to do now.")
@click.option("--check", is_flag=True, help="Only say what is wrong with configuration and agent.")
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


COMMANDS = (run,)
