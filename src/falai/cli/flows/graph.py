"""`falai graph`: draws flows, for the terminal or for a file.

What is wrong in them is said on stderr and they are drawn all the same, for as long as their shape allows.
Nothing of an author's is run; a store is only read.
"""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from falai.cli.clean import clean
from falai.cli.flows.checking import Found, check_sources
from falai.cli.flows.sources import Source, load_sources
from falai.cli.loading import LoadError
from falai.cli.stored import looked_at
from falai.errors import FlowConfigurationError
from falai.flow.drawing import FORMATS, Format, Picture, draw, picture_of_agent, picture_of_flow
from falai.flow.drawing.flows import plan_of
from falai.flow.drawing.text import text
from falai.flow.plan import FlowPlan
from falai.session.model import Run, Session

__all__ = ["GraphOptions", "run_graph"]

SUFFIXES: Mapping[str, Format] = {
    ".svg": "svg", ".mmd": "mermaid", ".mermaid": "mermaid", ".dot": "dot", ".gv": "dot", ".txt": "text",
}  # fmt: skip
_PIPED_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """What the command line says. `flows` are ids; none means all of them."""

    targets: Sequence[str]
    flows: Sequence[str] = ()
    steps: bool = False
    format: Format | None = None
    out: Path | None = None
    store: str | None = None
    session: str | None = None


def run_graph(options: GraphOptions) -> None:
    """Draws, and prints or writes the drawing.

    Raises `LoadError` when a target, a flow, the store or the session is not there, when there is nothing
    that can be drawn, and when the file cannot be written.
    """
    form = _format(options)
    sources = load_sources(options.targets)
    for one in check_sources(sources):
        if one.is_problem:
            _note(_problem(one))
    plans = _plans(sources, options.flows)
    pictures = _pictures(plans, options, _title(sources))
    if options.out is None:
        _print(_drawn(pictures, form, _width()))
    else:
        _write(options.out, _drawn(pictures, form, _PIPED_WIDTH))


def _format(options: GraphOptions) -> Format:
    """What was asked for, else what the file's name says, else text. Raises `LoadError` when that says nothing."""
    if options.format is not None or options.out is None:
        return options.format or "text"
    if options.out.suffix not in SUFFIXES:
        known = ", ".join(SUFFIXES)
        raise LoadError(f"{options.out} has no ending that says its format ({known}): add --format {'|'.join(FORMATS)}")
    return SUFFIXES[options.out.suffix]


# --- which flows -------------------------------------------------------------------------------


def _plans(sources: Sequence[Source], wanted: Sequence[str]) -> dict[str, FlowPlan]:
    """The flows that can be drawn, by id; of those, the wanted ones."""
    found: dict[str, FlowPlan] = {}
    for flow in (flow for source in sources for flow in source.flows):
        try:
            plan = plan_of(flow)
        except FlowConfigurationError:  # `check_sources` has told why
            continue
        found.setdefault(plan.id, plan)
    if not found:
        raise LoadError("there is no flow that can be drawn")
    missing = [flow_id for flow_id in wanted if flow_id not in found]
    if missing:
        raise LoadError(f"there is no flow {', '.join(missing)}; there is {', '.join(found)}")
    return {flow_id: found[flow_id] for flow_id in wanted} if wanted else found


def _title(sources: Sequence[Source]) -> str:
    names = [source.plan.name for source in sources if source.plan is not None]
    return names[0] if names else ", ".join(source.target for source in sources)


def _pictures(plans: Mapping[str, FlowPlan], options: GraphOptions, title: str) -> list[Picture]:
    """One flow with its steps; of several a map, and with `--steps`, or when they were named, each with its steps."""
    if options.store is not None and options.session is not None:
        pictures = list(_in_progress(plans, options.store, options.session))
        if pictures:
            return pictures
    each = [picture_of_flow(plan) for plan in plans.values()]
    if len(each) == 1 or options.flows:
        return each
    return [picture_of_agent(plans.values(), title=title), *(each if options.steps else ())]


# --- a conversation ----------------------------------------------------------------------------


def _in_progress(plans: Mapping[str, FlowPlan], url: str, session_id: str) -> Iterator[Picture]:
    session = asyncio.run(_loaded(url, session_id))
    runs = [run for run in session.runs if run.flow_id in plans]
    if not runs:
        live = ", ".join(dict.fromkeys(run.flow_id for run in session.runs)) or "none"
        _note(f"the conversation {session_id} is in none of these flows (in progress: {live})")
    yield from (picture_of_flow(plans[run.flow_id], run) for run in _newest_last(runs))


def _newest_last(runs: Sequence[Run]) -> list[Run]:
    return sorted(runs, key=lambda run: run.started_at)


async def _loaded(url: str, session_id: str) -> Session:
    """The session. Raises `LoadError` when it, or its store, is not there."""
    async with looked_at(url) as store:
        session = await store.load(session_id)
    if session is None:
        raise LoadError(f"the store has no conversation {session_id}")
    return session


# --- out ---------------------------------------------------------------------------------------


def _drawn(pictures: Sequence[Picture], form: Format, width: int) -> str:
    return text(pictures, width) if form == "text" else draw(pictures, form)


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _PIPED_WIDTH


def _print(drawing: str) -> None:
    """To a terminal as text; to a pipe as UTF-8, whatever the system's encoding is."""
    click.echo(drawing if sys.stdout.isatty() else drawing.encode(), nl=False)


def _write(path: Path, drawing: str) -> None:
    try:
        path.write_text(drawing, encoding="utf-8", newline="\n")
    except OSError as error:
        raise LoadError(f"{path} cannot be written: {error.strerror or error}") from error
    _note(f"{path} is written")


def _problem(one: Found) -> str:
    finding = one.finding
    place = one.source.target if one.place is None else f"{one.place.file}:{one.place.span.line}"
    return f"{place}: {finding.where}: {finding.what}. {finding.fix}."


def _note(text: str) -> None:
    click.echo(f"note: {clean(text)}", err=True)
