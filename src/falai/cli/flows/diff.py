"""`falai diff`: what changed between two versions of flows, and what becomes of the conversations in a store.

The store is only read. A run that would be lost is worth a question before anyone deploys.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from falai.cli.clean import clean
from falai.cli.flows.sources import Source, load_sources
from falai.cli.loading import LoadError
from falai.cli.stored import looked_at
from falai.errors import FlowConfigurationError, Problem
from falai.flow.comparing import Comparison, Fate, compare, fate
from falai.flow.comparing.changes import Version
from falai.flow.plan import FlowPlan
from falai.session.model import Run, Session

__all__ = ["run_diff"]

KEPT, LOST = 0, 1
_SHOWN = 20
"""So many runs of one fate are listed; the rest is counted."""
_ORDER = ("lost", "restarts", "ends", "changed", "goes-on")
_WORDS = {
    "lost": "lost",
    "restarts": "will start again",
    "ends": "will end",
    "changed": "will go on at a step that is different",
    "goes-on": "will go on as now",
}


@dataclass(frozen=True, slots=True)
class _Told:
    """A run of the store and what becomes of it."""

    session_id: str
    run: Run
    fate: Fate


@dataclass
class _Stored:
    """What a store holds."""

    sessions: int = 0
    told: list[_Told] = field(default_factory=list[_Told])
    elsewhere: Counter[str] = field(default_factory=Counter[str])
    """Runs of flows that neither version has: nothing is said of them."""
    unreadable: list[str] = field(default_factory=list[str])


def run_diff(old: str, new: str, agent: str | None, url: str | None, *, as_json: bool) -> int:
    """Compares and prints; the result is the program's exit code.

    Raises `LoadError` when a target, the agent or the store cannot be read.
    """
    comparison = compare(*_versions(load_sources([old], agent), load_sources([new], agent)))
    stored = None if url is None else asyncio.run(_stored(url, comparison))
    if as_json:
        print(json.dumps(_as_json(comparison, stored), ensure_ascii=False, indent=2))
    else:
        _show(comparison, stored)
    return LOST if stored is not None and any(one.fate.kind == "lost" for one in stored.told) else KEPT


def _versions(old: Sequence[Source], new: Sequence[Source]) -> tuple[list[FlowPlan], list[FlowPlan]]:
    """The flows of both sides. Those of `--agent` that neither side has are on both: nobody changes them."""
    before, after = _each_once(old), _each_once(new)
    touched = {flow.id for flow in (*before, *after)}
    lent = {
        flow.id: flow for source in (*old, *new) if source.lent and source.plan for flow in source.plan.flows.values()
    }
    rest = [flow for flow in lent.values() if flow.id not in touched]
    return [*before, *rest], [*after, *rest]


def _each_once(sources: Sequence[Source]) -> list[FlowPlan]:
    """The flows of one side. Raises `LoadError` when two have one id: which of them would run is not known."""
    found = [(source, flow) for source in sources for flow in _of_source(source)]
    counts = Counter(flow.id for _, flow in found)
    for source, flow in found:
        if counts[flow.id] > 1:
            raise LoadError(
                f"{source.target} cannot be compared: there are {counts[flow.id]} flows with the id {flow.id}"
            )
    return [flow for _, flow in found]


def _of_source(source: Source) -> list[FlowPlan]:
    if source.problems:
        raise _no_flows(source, source.problems)
    if source.agent is not None and not source.lent:
        return list(source.agent.plan.flows.values())
    try:
        return [plan for flow in source.flows for plan in Version([flow]).plans.values()]
    except FlowConfigurationError as error:
        raise _no_flows(source, error.problems) from error


def _no_flows(source: Source, problems: Sequence[Problem]) -> LoadError:
    said = "\n".join(f"  {one.path or one.where}: {one.what}. {one.fix}" for one in problems)
    return LoadError(f"{source.target} cannot be compared; see falai check {source.target}\n{said}")


# --- the store ---------------------------------------------------------------------------------


async def _stored(url: str, comparison: Comparison) -> _Stored:
    """Every run of every session of the store."""
    found, after = _Stored(), None
    async with looked_at(url) as store:
        while True:
            page = await store.scan(after)
            for session in page.sessions:
                _look_at(session, comparison, found)
            found.unreadable += [error.session_id for error in page.bad]
            if page.after is None:
                return found
            after = page.after


def _look_at(session: Session, comparison: Comparison, found: _Stored) -> None:
    found.sessions += 1
    for run in session.runs:
        if run.flow_id in comparison.old.plans or run.flow_id in comparison.new.plans:
            found.told.append(_Told(session.id, run, fate(run, comparison, session.data)))
        else:
            found.elsewhere[run.flow_id] += 1


# --- for people --------------------------------------------------------------------------------


def _show(comparison: Comparison, stored: _Stored | None) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for where, changes in groupby(comparison.changes, key=lambda change: change.where):
        console.print(Text(clean(where), style="bold"))
        for change in changes:
            console.print(Text(f"  {clean(change.what)}"))
    if not comparison.changes:
        console.print(Text("The flows are the same."))
    if stored is not None:
        _show_stored(console, stored)


def _show_stored(console: Console, stored: _Stored) -> None:
    console.print()
    for kind in _ORDER:
        told = [one for one in stored.told if one.fate.kind == kind]
        if told:
            style = "bold red" if kind == "lost" else "bold"
            console.print(Text(f"{len(told)} {'run' if len(told) == 1 else 'runs'}: {_WORDS[kind]}", style=style))
            _show_runs(console, told if kind != "goes-on" else [])
    for flow_id, count in stored.elsewhere.items():
        note = f"{count} of the flow {flow_id}, which neither version has: name its agent with --agent"
        console.print(Text(clean(note), style="dim"))
    for session_id in stored.unreadable:
        console.print(Text(clean(f"the row {session_id} holds no session, and was passed over"), style="red"))
    runs = f"{len(stored.told)} live run{'' if len(stored.told) == 1 else 's'}"
    console.print(Text(f"{runs} in {stored.sessions} session{'' if stored.sessions == 1 else 's'}"))


def _show_runs(console: Console, told: Sequence[_Told]) -> None:
    for one in told[:_SHOWN]:
        at = f"{one.run.flow_id} / {one.run.step_id or 'not begun'}"
        code = f" ({one.fate.code})" if one.fate.code else ""
        console.print(Text(clean(f"  {one.session_id}: {at}, {one.fate.when}: {one.fate.why}{code}")))
        for change in one.fate.changes:
            console.print(Text(clean(f"    {change}"), style="dim"))
    if len(told) > _SHOWN:
        places = Counter(f"{one.run.flow_id} / {one.run.step_id}" for one in told[_SHOWN:])
        rest = ", ".join(f"{count} at {place}" for place, count in places.most_common())
        console.print(Text(clean(f"  and {len(told) - _SHOWN} more: {rest}")))


# --- for programs ------------------------------------------------------------------------------


def _as_json(comparison: Comparison, stored: _Stored | None) -> Mapping[str, Any]:
    changes = [
        {"kind": change.kind, "flow": change.flow, "step": change.step, "message": change.what}
        for change in comparison.changes
    ]
    return {"version": 1, "changes": changes, **({} if stored is None else _stored_json(stored))}


def _stored_json(stored: _Stored) -> Mapping[str, Any]:
    counts = Counter[str](one.fate.kind for one in stored.told)
    runs = [
        {
            "session": one.session_id,
            "run": one.run.id,
            "flow": one.run.flow_id,
            "step": one.run.step_id,
            "status": one.run.status,
            "fate": one.fate.kind,
            "code": one.fate.code,
            "message": one.fate.why,
            "when": one.fate.when,
            "changes": list(one.fate.changes),
        }
        for one in stored.told
    ]
    return {
        "sessions": stored.sessions,
        "counts": {kind: counts[kind] for kind in _ORDER},
        "runs": runs,
        "elsewhere": dict(stored.elsewhere),
        "unreadable": stored.unreadable,
    }
