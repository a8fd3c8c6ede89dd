"""The labelled messages: one JSON object a line, checked against the agents that they are written to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.understanding.agents import AGENTS
from falai.flow.plan import AgentPlan, FlowPlan
from falai.flow.values import coerce_field

__all__ = ["KINDS", "Row", "load_rows", "problems", "sample"]

MESSAGES = Path(__file__).parent / "messages"
KINDS = frozenset({
    "asks", "branch", "correction", "dates", "echo", "exclusion", "fields", "injection", "mention", "numbers",
    "off-topic", "ok", "refusal", "repeat", "route", "small-talk", "two",
})  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Row:
    """One message and what is right to make of it. README.md says what each member means."""

    id: str
    language: str
    agent: str
    text: str
    route: tuple[str | None, ...]
    kinds: tuple[str, ...]
    floor: str | None = None
    data: Mapping[str, Any]
    history: tuple[tuple[str, str], ...] = ()
    mentions: tuple[str, ...] = ()
    fields: Mapping[str, Any]
    never: Mapping[str, tuple[Any, ...]]
    branch: bool | None = None
    asks: bool | None = None

    @property
    def assistant(self) -> str:
        """What the assistant said before."""
        return "\n".join(text for role, text in self.history if role == "assistant")


def load_rows(folder: Path = MESSAGES) -> list[Row]:
    """All rows, by language and in file order. Raises `ValueError` with every problem at once."""
    rows = [row for file in sorted(folder.glob("*.jsonl")) for row in _read(file)]
    if found := list(problems(rows)):
        raise ValueError("\n".join(found))
    return rows


def sample(rows: Iterable[Row], count: int, seed: int) -> list[Row]:
    """So many rows, taken in turns from the languages and at random within one."""
    by_language: dict[str, list[Row]] = {}
    for row in rows:
        by_language.setdefault(row.language, []).append(row)
    for group in by_language.values():
        Random(seed).shuffle(group)
    rounds = zip(*([*group, *[None] * count] for group in by_language.values()), strict=False)
    return [row for turn in rounds for row in turn if row is not None][:count]


def problems(rows: Iterable[Row]) -> Iterator[str]:
    """What is wrong with the rows, each with its id."""
    rows = list(rows)
    for id, count in Counter(row.id for row in rows).items():
        if count > 1:
            yield f"{id}: {count} rows have this id"
    for row in rows:
        if row.agent not in AGENTS:
            yield f"{row.id}: there is no agent {row.agent!r}: it is one of {', '.join(AGENTS)}"
        else:
            yield from (f"{row.id}: {problem}" for problem in _row_problems(row, AGENTS[row.agent].plan))


def _read(file: Path) -> Iterator[Row]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        try:
            yield _row(file.stem, json.loads(line))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{file.name}, line {number}: {type(error).__name__}: {error}") from error


def _row(language: str, given: Mapping[str, Any]) -> Row:
    route = given["route"]
    return Row(
        **{
            **given,
            "language": language,
            "route": tuple(route) if isinstance(route, list) else (route,),
            "kinds": tuple(given["kinds"]),
            "data": given.get("data", {}),
            "history": tuple((role, text) for role, text in given.get("history", [])),
            "mentions": tuple(given.get("mentions", [])),
            "fields": given.get("fields", {}),
            "never": {slug: tuple(values) for slug, values in given.get("never", {}).items()},
        }
    )


def _row_problems(row: Row, plan: AgentPlan) -> Iterator[str]:
    if not row.id.startswith(f"{row.language}-"):
        yield f"the id begins with the language, {row.language}-"
    if unknown := set(row.kinds) - KINDS or (not row.kinds and {"none"}):
        yield f"kinds are some of {', '.join(sorted(KINDS))}, not {', '.join(sorted(unknown))}"
    for flow in row.route:
        if flow is not None and not _has(plan, flow, "message", "catch_all"):
            yield f"route: {flow!r} is no flow that a message starts"
    for flow in row.mentions:
        if not _has(plan, flow.removesuffix("?"), "mention"):
            yield f"mentions: {flow!r} is no flow with a mention"
    for role, _ in row.history:
        if role not in ("user", "assistant"):
            yield f"history: the role {role!r} is neither user nor assistant"
    yield from _floor_problems(row, plan)
    yield from _value_problems(row, plan)


def _has(plan: AgentPlan, flow_id: str, *triggers: str) -> bool:
    flow: FlowPlan | None = plan.flows.get(flow_id)
    return flow is not None and any(getattr(flow, trigger) for trigger in triggers)


def _floor_problems(row: Row, plan: AgentPlan) -> Iterator[str]:
    if row.floor is None:
        if row.branch is not None:
            yield "branch: there is none without a floor"
        return
    flow, _, step = row.floor.partition("/")
    if flow not in plan.flows or plan.flows[flow].step(step) not in plan.flows[flow].talk_steps:
        yield f"floor: {row.floor!r} is no flow and talk step, as flow/step"


def _value_problems(row: Row, plan: AgentPlan) -> Iterator[str]:
    values = [("data", slug, value) for slug, value in row.data.items()]
    values += [("never", slug, value) for slug, given in row.never.items() for value in given]
    values += [("fields", slug, v) for slug, value in row.fields.items() for v in _plain(value) if "." not in slug]
    for where, slug, value in values:
        field = plan.fields.get(slug)
        stores = where == "data" and field is not None and field.mode == "asked"
        if field is None or (field.mode == "asked" and not stores):
            yield f"{where}: {slug!r} is no field that is read from a message"
        elif (found := coerce_field(field, value)).code is not None:
            yield f"{where}: {slug} cannot be {value!r}: {found.reason or found.code}"
    for key in row.fields:
        flow, dot, name = key.partition(".")
        if dot and (flow not in plan.flows or name not in plan.flows[flow].extract):
            yield f"fields: {key!r} is no parameter of a mention, as flow.name"


def _plain(expected: Any) -> list[Any]:
    """The values of an expectation that can be checked against the field's type."""
    if not isinstance(expected, dict):
        return [expected]
    return [value for value in expected.get("any", ()) if value is not None]
