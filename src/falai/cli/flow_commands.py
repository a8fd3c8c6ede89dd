"""The commands that look at flows before anyone deploys them, and what each takes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

__all__ = ["COMMANDS"]

_CHECKS = """\b
Examples:
  falai check flows/
  falai check flows/lead.yaml --agent desk.py
  falai check shop.agents:sales --strict
  falai check flows/ --ignore maybe-unset:lead.bye
"""


@click.command(epilog=_CHECKS, short_help="Say what is wrong or odd in flows, where, and what to do.")
@click.argument("targets", nargs=-1, required=True, metavar="FILE_OR_MODULE...")
@click.option(
    "--agent", metavar="AGENT", help="Whose fields, actions, … the flows may use: Python, or a file of an agent."
)
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON, for an editor.")
@click.option(
    "--ignore", multiple=True, metavar="PATTERN", help="A warning that you accept: CODE, CODE:FLOW, CODE:FLOW.STEP."
)
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings, too.")
def check(*, targets: tuple[str, ...], agent: str | None, as_json: bool, ignore: tuple[str, ...], strict: bool) -> None:
    """Check flows: what is wrong or odd in them, where, and what to do.

    A target is a file (JSON or YAML), a folder, a Python file or a module, with a colon and a name if
    that is not `agent`. A module is imported; none of your actions, tools and conditions is run. The exit
    code is 0 when nothing is wrong, 1 when there are problems, 2 when something cannot be found.
    """
    # Each command imports what it needs, so that --help is quick.
    from falai.cli.flows.check import run_check
    from falai.cli.loading import LoadError

    try:
        sys.exit(run_check(targets, agent, ignore, as_json=as_json, strict=strict))
    except LoadError as error:
        raise click.UsageError(str(error)) from error


_SCHEMAS = """\b
Examples:
  falai schema > flows.schema.json
  falai schema --agent desk.py > desk.schema.json
  falai schema --agent desk.py --closed
"""


@click.command(epilog=_SCHEMAS, short_help="Print the JSON Schema of flow files, for editors.")
@click.option("--agent", metavar="AGENT", help="Offer the names of this agent: Python, or a file of an agent.")
@click.option(
    "--closed", is_flag=True, help="The schema for a model that writes flows, instead of the one for editors."
)
def schema(*, agent: str | None, closed: bool) -> None:
    """Print the JSON Schema of flow documents, by which an editor completes and checks them.

    With --agent, fields, actions, events, conditions, tools and flows are those of the agent.
    """
    from falai.cli.flows.schema import run_schema
    from falai.cli.loading import LoadError

    try:
        run_schema(agent, closed=closed)
    except LoadError as error:
        raise click.UsageError(str(error)) from error


_DIFFS = """\b
Examples:
  falai diff flows-now/ flows-next/
  falai diff lead.old.yaml lead.yaml --agent desk.py --store sessions.sqlite
  falai diff shop.agents:old shop.agents:new --store sqlite:///sessions.db --json
"""


@click.command(epilog=_DIFFS, short_help="Say what changed between two versions of flows.")
@click.argument("old")
@click.argument("new")
@click.option("--agent", metavar="AGENT", help="Whose flows these are: its other flows stay as they are.")
@click.option("--store", metavar="URL", help="Look at the conversations of this store: a URL, or a SQLite file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
def diff(*, old: str, new: str, agent: str | None, store: str | None, as_json: bool) -> None:
    """Say what changed between two versions of flows, and what becomes of live conversations.

    OLD and NEW are what `falai check` takes. The exit code is 0 when no run is lost, 1 when runs are
    lost, 2 when something cannot be read.
    """
    from falai.cli.flows.diff import run_diff
    from falai.cli.loading import LoadError

    try:
        sys.exit(run_diff(old, new, agent, store, as_json=as_json))
    except LoadError as error:
        raise click.UsageError(str(error)) from error


_DRAFTS = """\b
Examples:
  falai draft "asks for name and size, tells sales, follows up after two days" --agent desk.py
  falai draft - --agent agent.yaml --out lead.yaml < request.txt
  falai draft "says when we open" --model openai:qwen --base-url http://localhost:8080/v1 > open.json
"""


@click.command(epilog=_DRAFTS)
@click.argument("request")
@click.option(
    "--agent", metavar="AGENT", help="Whose fields, actions, … the flow may use: Python, or a file of an agent."
)
@click.option(
    "--model",
    envvar="FALAI_MODEL",
    metavar="NAME",
    help="The model that writes. Default: what FALAI_MODEL says, else the agent's own.",
)
@click.option("--base-url", metavar="URL", help="The address of an OpenAI-compatible server.")
@click.option("--language", metavar="NAME", help="What texts are written in. Default: the agent's, else the request's.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A new file for the flow, .json or .yaml. Default: standard output.",
)
@click.option("--tries", type=click.IntRange(min=1), default=3, show_default=True, help="Calls to the model at most.")
def draft(
    *,
    request: str,
    agent: str | None,
    model: str | None,
    base_url: str | None,
    language: str | None,
    out: Path | None,
    tries: int,
) -> None:
    """Let a model write a flow from what you ask for.

    REQUEST says in your words what the flow is to do; - reads that from standard input. The flow is
    checked, and what was found goes back to the model. The exit code is 0 when the flow holds, 1 when
    none did, 2 when the model could not be asked or the flow not be written, 130 when it was stopped.
    """
    # Each command imports what it needs, so that --help is quick.
    from falai.cli.flows.draft import DraftOptions, run_draft
    from falai.cli.loading import LoadError

    options = DraftOptions(
        request=request, agent=agent, model=model, base_url=base_url, language=language, out=out, tries=tries
    )
    try:
        sys.exit(run_draft(options))
    except LoadError as error:
        raise click.UsageError(str(error)) from error


_GRAPHS = """\b
Examples:
  falai graph desk.py                          what starts each flow, and which leads to which
  falai graph desk.py --flow book              one flow with its steps
  falai graph flows/ --steps --out flows.svg   all of it, as a picture
  falai graph lead.yaml --format mermaid
  falai graph desk.py --store chat.sqlite --session s1
"""


@click.command(epilog=_GRAPHS)
@click.argument("targets", nargs=-1, required=True, metavar="FILE_OR_MODULE...")
@click.option("--flow", "flows", multiple=True, metavar="ID", help="Only this flow, with its steps.")
@click.option("--steps", is_flag=True, help="Of several flows not only the map, but each with its steps.")
@click.option(
    "--format",
    type=click.Choice(["text", "mermaid", "dot", "svg"]),
    help="Default: what the file's ending says, else text.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Where the drawing goes, such as flows.svg, .mmd or .dot. Default: standard output.",
)
@click.option("--store", metavar="URL", help="The store of a conversation: its flows are drawn with the way it took.")
@click.option("--session", metavar="ID", help="The conversation.")
def graph(
    *,
    targets: tuple[str, ...],
    flows: tuple[str, ...],
    steps: bool,
    format: Any,  # noqa: A002 - the option's name
    out: Path | None,
    store: str | None,
    session: str | None,
) -> None:
    """Draw flows: as text, Mermaid, DOT or SVG.

    A target is a file (JSON or YAML), a folder, a Python file or a module, with a colon and a name if
    that is not `agent`. What is wrong in a flow is said, and it is drawn all the same. The exit code is
    0 when something was drawn, 2 when nothing could be.
    """
    # Each command imports what it needs, so that --help is quick.
    from falai.cli.flows.graph import GraphOptions, run_graph
    from falai.cli.loading import LoadError

    if (store is None) != (session is None):
        raise click.UsageError("--store and --session go together: the store, and the conversation in it")
    options = GraphOptions(
        targets=targets, flows=flows, steps=steps, format=format, out=out, store=store, session=session
    )
    try:
        run_graph(options)
    except LoadError as error:
        raise click.UsageError(str(error)) from error


COMMANDS = (check, schema, graph, draft, diff)
