"""The commands of `falai` and what each takes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

__all__ = ["cli"]

_CLINIC = "falai.examples.clinic"


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="falai", message="falai %(version)s")
def cli() -> None:
    r"""Business conversations run by flows.

    \b
    falai chat                       talk to the example clinic, without a key
    falai chat desk.py               talk to the agent of a file
    falai test tests/scenarios       play conversations that are written down
    """


@cli.command()
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
    r"""Talk to an agent in the terminal.

    AGENT is a Python file or a module, with a colon and the agent's name if that is not `agent`.
    Without one, you talk to the example clinic. The conversation is kept, and goes on when you come
    back. Timers go off while you type; /skip 2d lets two days pass; /why says what happened.

    \b
    falai chat
    falai chat desk.py
    falai chat shop.agents:sales --new
    falai chat --model openai:gpt-5-mini
    falai chat --model openai:qwen --base-url http://localhost:8080/v1
    printf 'hello\n/data\n' | falai chat --store /tmp/try.sqlite
    """
    # Each command imports what it needs, so that --help is quick.
    from falai.cli.chat import ChatOptions, ModelError, run_chat
    from falai.cli.loading import LoadError

    options = ChatOptions(agent=agent, model=model, base_url=base_url, store=store, session=session, new=new)
    try:
        run_chat(options)
    except (LoadError, ModelError) as error:
        raise click.ClickException(str(error)) from error


@cli.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-k", "name_contains", metavar="TEXT", help="Only the cases whose name contains this.")
def test(*, files: tuple[Path, ...], name_contains: str | None) -> None:
    r"""Play scenario files (JSON or YAML) and say what differs where.

    A folder stands for the scenario files in it. The exit code is 0 when everything was as written,
    1 when something differed, 2 when a file is wrong.

    \b
    falai test booking.yaml
    falai test tests/scenarios -k refuse
    """
    from falai.cli.scenarios import run_scenarios

    sys.exit(run_scenarios(files, name_contains))
