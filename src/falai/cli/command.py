"""The commands of `falai` and what each takes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from falai.cli import flow_commands, host_commands, store_commands, web_commands

__all__ = ["cli"]

_CLINIC = "falai.examples.clinic"

# Behind \b click leaves the lines as they are.
_OVERVIEW = """\b
Examples:
  falai chat                       talk to the example clinic; no key is needed
  falai chat desk.py               talk to the agent of a file
  falai test tests/scenarios       play conversations that are written down
  falai run desk.py                run it for real: durable, with timers
  falai queue status falai.db      see what waits, and what was set aside
  falai check flows/               say what is wrong or odd in flows
  falai graph desk.py              draw its flows
"""
_CHATS = """\b
Examples:
  falai chat
  falai chat desk.py
  falai chat shop.agents:sales --new
  falai chat --model openai:gpt-5-mini
  falai chat --model openai:qwen --base-url http://localhost:8080/v1
  printf 'hello\\n/data\\n' | falai chat --store /tmp/try.sqlite
"""
_TESTS = """\b
Examples:
  falai test booking.yaml
  falai test tests/scenarios -k refuse
"""


@click.group(epilog=_OVERVIEW, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="falai", message="falai %(version)s")
def cli() -> None:
    """Business conversations run by flows."""


@cli.command(epilog=_CHATS)
@click.argument("agent", default=_CLINIC, metavar="[AGENT]")
@click.option(
    "--model",
    envvar="FALAI_MODEL",
    metavar="NAME",
    help="The model, such as openai:gpt-5-mini, or lexical, which needs no key. "
    "Default: what FALAI_MODEL says, else the agent's own.",
)
@click.option("--base-url", metavar="URL", help="The address of an OpenAI-compatible server.")
@click.option(
    "--store",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The SQLite file that keeps the conversations. Default: one for each agent, in your data folder.",
)
@click.option("--session", metavar="ID", help="Go on with this conversation, or begin it. Default: the last one.")
@click.option("--new", is_flag=True, help="Begin a new conversation.")
def chat(
    *, agent: str, model: str | None, base_url: str | None, store: Path | None, session: str | None, new: bool
) -> None:
    """Talk to an agent in the terminal.

    AGENT is a Python file or a module, with a colon and the agent's name if that is not `agent`.
    Without one, you talk to the example clinic. The conversation is kept, and goes on when you come
    back. Timers go off while you type; /skip 2d lets two days pass; /why says what happened.
    """
    # Each command imports what it needs, so that --help is quick.
    from falai.cli.chat.running import ChatError, ChatOptions, run_chat
    from falai.cli.loading import LoadError

    options = ChatOptions(agent=agent, model=model, base_url=base_url, store=store, session=session, new=new)
    try:
        run_chat(options)
    except (LoadError, ChatError) as error:
        raise click.ClickException(str(error)) from error


@cli.command(epilog=_TESTS)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-k", "name_contains", metavar="TEXT", help="Only the cases whose name contains this.")
@click.option("-v", "--verbose", is_flag=True, help="Say which case is played, and what is logged meanwhile.")
def test(*, files: tuple[Path, ...], name_contains: str | None, verbose: bool) -> None:
    """Play scenario files (JSON or YAML) and say what differs where.

    A folder stands for the scenario files in it. The exit code is 0 when everything was as written,
    1 when something differed, 2 when a file is wrong.
    """
    from falai.cli.scenarios import run_scenarios

    sys.exit(run_scenarios(files, name_contains, verbose=verbose))


for _command in (
    *host_commands.COMMANDS,
    *web_commands.COMMANDS,
    *flow_commands.COMMANDS,
    *store_commands.COMMANDS,
):
    cli.add_command(_command)
