"""Every single mutation of a valid spec is accepted, or reported by a known code at a place that is there (S-20)."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from falai.errors import FlowConfigurationError, Problem
from falai.flow.places import Notice
from falai.flow.registries import read_registries
from falai.flow.spec import check_flow, from_spec, to_spec, validate_flow
from falai.flow.wire import to_wire
from falai.session.jsontext import show
from flow.test_spec import LIBRARY
from strategies_flow import LIBRARY_NAMES

CODES = {
    "not-an-object", "no-steps", "not-text", "not-a-list", "bad-entry", "not-one-of", "not-a-condition", "bad-repeat",
    "not-a-boolean", "bad-extract", "does-nothing", "mixed-step", "kind-mismatch", "bad-max-asks", "no-event",
    "bad-duration", "bad-target", "no-flow-id", "no-step-id", "reserved-step-id", "duplicate-step-id",
    "triggers-without-steps", "unknown-field", "unknown-tool", "unknown-action", "unknown-event", "unknown-condition",
    "equals-not-an-object", "equals-type", "equals-not-in-enum", "known-not-a-list", "silenced-not-a-boolean",
    "no-trigger-kind", "mixed-trigger", "only-exclusions", "unknown-step", "question-without-collect",
    "branch-without-test", "missing-parameter", "parameter-type", "parameter-not-in-enum", "extra-parameter",
    "backward-if-without-else",
}  # fmt: skip
"""Those of 06-flowspec 5.2 to 5.4."""

Path_ = tuple[str | int, ...]
VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2.5, 3.0, float("nan"), float("inf"), 10**400, "", " ", "end", "x", "{{data.x}}", "!x", "3d",
    "\ud800", "x" * 5000, [], [None], ["x"], [[]], {}, {"x": 1}, {"step": "end"}, {"step": "x", "flow": "y"},
    {"flow": "nowhere"}, {"event": "x"}, {"cooldown": 5}, {"__class__": {}}, {1: 2}, {None: {}}, (), ("x",), b"x", {1}, range(2),
]  # fmt: skip


def places(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The path of everything in a document, the document's own first."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield from places(part, (*path, key))


def changed(document: Any, path: Path_, change: Any) -> Any:
    """A copy in which `change` made something else of the container and key at a path; it shares what stays."""
    whole: Any = {"": document}
    holder, key = whole, ""
    for step in path:
        holder[key] = copy.copy(holder[key])
        holder, key = holder[key], step
    change(holder, key)
    return whole.get("")


def _deleted(holder: Any, key: Any) -> None:
    del holder[key]


def _renamed(holder: Any, key: Any) -> None:
    if isinstance(holder, dict) and key:
        holder[f"{key}x"] = holder.pop(key)


def _doubled(holder: Any, key: Any) -> None:
    if isinstance(holder, list):
        holder.append(copy.deepcopy(holder[key]))


def mutants(values: Sequence[Any] = VALUES) -> Iterator[Any]:
    for path in places(LIBRARY):
        for change in (_deleted, _renamed, _doubled):
            yield changed(LIBRARY, path, change)
        for value in values:
            yield changed(LIBRARY, path, lambda holder, key, value=value: holder.__setitem__(key, value))


def reported(document: Any) -> list[Problem]:
    """The problems, or none; nothing else comes out."""
    try:
        validate_flow(document, LIBRARY_NAMES)
    except FlowConfigurationError as error:
        return list(error.problems)
    return []


def is_there(document: Any, path: str) -> bool:
    """Whether a wire path leads to something, or to something that is missing from what is there."""
    steps = re.findall(r"[^.\[\]]+", path)
    for step in steps[:-1]:
        members = (
            {key if isinstance(key, str) else show(key): value for key, value in document.items()}
            if isinstance(document, dict)
            else {}
        )
        if step in members:
            document = members[step]
        elif isinstance(document, list | tuple) and step.isdigit() and int(step) < len(document):
            document = document[int(step)]
        else:
            return False
    return not steps or isinstance(document, dict) or int(steps[-1]) < len(document)


def test_every_single_mutation_is_accepted_or_reported_where_it_is() -> None:
    """Deleted, renamed, repeated, replaced by some forty values: some 7,000 specs, none of which breaks anything."""
    names, _ = read_registries(LIBRARY_NAMES)
    seen: set[str] = set()
    for mutant in mutants():
        found = reported(mutant)
        for problem in found:
            seen.add(problem.code)
            assert problem.code in CODES, problem
            assert is_there(mutant, problem.path), problem
            assert problem.message.startswith(f"[FlowConfigurationError] {problem.where}: "), problem
            assert "\n" not in problem.message
            assert "" not in (problem.what, problem.fix)
            assert problem.where.startswith("flow")
        notices = [] if found else list(check_flow(to_wire(mutant), names))
        assert all(isinstance(notice, Notice) for notice in notices)
        assert all(notice.text.startswith(notice.where) and is_there(mutant, notice.path) for notice in notices)
    assert CODES - seen <= {"parameter-not-in-enum", "mixed-step", "mixed-trigger", "backward-if-without-else"}


def test_every_mutant_that_converts_is_the_same_flow() -> None:
    """S-15, S-17: what from_spec takes is judged alike before and after, unless something unlisted was dropped."""
    for mutant in mutants(VALUES[::4]):
        try:
            flow = from_spec(mutant)
            spec = to_spec(flow)
        except (FlowConfigurationError, TypeError):
            continue
        before, typed, after = ([(p.code, p.path) for p in reported(form)] for form in (mutant, flow, spec))
        assert set(typed) <= set(before)
        assert typed == after
        assert json.loads(json.dumps(spec)) == spec
        assert from_spec(spec) == flow


def test_the_library_is_the_specification_s_own() -> None:
    """It has one of each thing."""
    given = Path(__file__).parents[2] / "docs" / "spec" / "fixtures" / "flowspec-library.json"
    assert json.loads(given.read_text()) == LIBRARY
    assert reported(LIBRARY) == []
