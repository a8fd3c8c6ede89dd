"""`falai check`: says what is wrong or odd in flows, where it stands, and what to do.

Without `--json` a person reads it: each finding with its line underlined, as compilers show theirs.
With `--json` an editor does: the form is documented in the reference of the command line.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from falai.cli.clean import clean
from falai.cli.flows.checking import Found, check_sources
from falai.cli.flows.excerpts import excerpt
from falai.cli.flows.sources import Source, load_sources
from falai.cli.loading import LoadError
from falai.flow.analysis import silenced
from falai.flow.places import Notice, is_list, is_object
from falai.flow.spots import Located, lines_of

__all__ = ["run_check"]

FINE, WRONG = 0, 1
_IN_FULL = 20
"""So many findings are shown with their lines; of more, the rest takes one line each."""


def run_check(targets: Sequence[str], agent: str | None, ignore: Sequence[str], *, as_json: bool, strict: bool) -> int:
    """Checks these targets and prints what was found; the result is the program's exit code.

    Raises `LoadError` when a target or the agent is not there.
    """
    report = _report(targets, agent, ignore)
    if as_json:
        print(json.dumps(_as_json(report), ensure_ascii=False, indent=2))
    else:
        _show(report)
    return WRONG if report.problems or (strict and report.warnings) else FINE


@dataclass(frozen=True, slots=True)
class _Report:
    sources: Sequence[Source]
    found: Sequence[Found]
    silenced: int
    notes: Sequence[str]

    @property
    def problems(self) -> int:
        return sum(one.is_problem for one in self.found)

    @property
    def warnings(self) -> int:
        return len(self.found) - self.problems


def _report(targets: Sequence[str], agent: str | None, ignore: Sequence[str]) -> _Report:
    sources = load_sources(targets, agent)
    found = check_sources(sources)
    patterns = [*ignore, *_of_project(Path("pyproject.toml"))]
    used = {id(one): _fitting(one, patterns) for one in found}
    kept = [one for one in found if not used[id(one)]]
    idle = dict.fromkeys([*patterns, *(pattern for source in sources for pattern in source.ignore)])
    unused = [pattern for pattern in idle if all(pattern not in fitting for fitting in used.values())]
    notes = [*_notes(sources), *(f"the pattern {pattern} silences nothing" for pattern in unused)]
    return _Report(sources, kept, len(found) - len(kept), notes)


# --- silencing ---------------------------------------------------------------------------------


def _of_project(file: Path) -> list[str]:
    """What `[tool.falai] ignore` of the project says. Raises `LoadError` when that cannot be read."""
    try:
        said = tomllib.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    except (OSError, ValueError) as error:
        raise LoadError(f"{file} cannot be read: {error}") from error
    tool = said.get("tool", {})
    ours = tool.get("falai", {}) if is_object(tool) else None
    patterns = ours.get("ignore", []) if is_object(ours) else None
    if not is_list(patterns) or not all(isinstance(entry, str) for entry in patterns):
        raise LoadError(f"{file}: ignore of [tool.falai] is a list of texts")
    return list(patterns)


def _fitting(one: Found, patterns: Sequence[str]) -> set[str]:
    """The patterns that name this warning; a document's own are for itself alone."""
    if not isinstance(one.finding, Notice):
        return set()
    mine = [*patterns, *one.source.ignore]
    return {*mine} - {*silenced([one.finding], mine)[1]}


def _notes(sources: Sequence[Source]) -> Iterable[str]:
    nameless = [
        source.target for source in sources if source.registries is None and source.options is None and source.readable
    ]
    if nameless:
        files = nameless[0] if len(nameless) == 1 else f"{len(nameless)} files"
        yield f"the names in {files} were not looked up: say whose they are with --agent module:agent"
    for name in (name for source in sources for name in source.passed_over):
        yield f"{name} was passed over: it holds no flow"


# --- for people --------------------------------------------------------------------------------


def _show(report: _Report) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for one in report.found[:_IN_FULL]:
        _show_in_full(console, one)
    for one in report.found[_IN_FULL:]:
        finding = one.finding
        console.print(
            Text.assemble(_head(one), clean(f": {finding.where}: {finding.what}. {finding.fix}").replace("\n", " "))
        )
    for note in report.notes:
        console.print(Text(f"note: {clean(note)}", style="dim"))
    console.print(_sum(report))


def _show_in_full(console: Console, one: Found) -> None:
    finding = one.finding
    console.print(_head(one))
    if one.place is not None:
        for line in excerpt(one.place, _style(one), console.width if console.is_terminal else 120):
            console.print(line)
    console.print(Text(clean(f"  {finding.where}: {finding.what}.")))
    console.print(Text(clean(f"  {finding.fix}{'' if finding.fix[-1:] in '.?!' else '.'}"), style="green"))
    for number, step in enumerate(_trail(one), 1):
        console.print(Text(clean(f"    {number}. {step}"), style="dim"))
    console.print()


def _head(one: Found) -> Text:
    severity = "error" if one.is_problem else "warning"
    return Text.assemble((f"{severity}[{one.finding.code}]", _style(one)), " ", (clean(_address(one)), "bold"))


def _address(one: Found) -> str:
    if one.place is None:
        return " ".join(filter(None, (one.source.target, one.finding.path)))
    return f"{one.place.file}:{one.place.span.line}:{one.place.span.column}"


def _style(one: Found) -> str:
    return "bold red" if one.is_problem else "bold yellow"


def _trail(one: Found) -> tuple[str, ...]:
    return one.finding.trail if isinstance(one.finding, Notice) else ()


def _sum(report: _Report) -> Text:
    counts = [_count(report.problems, "problem"), _count(report.warnings, "warning")]
    counts += [f"{report.silenced} silenced"] if report.silenced else []
    flows = _count(sum(len(source.flows) for source in report.sources), "flow")
    style = "bold red" if report.problems else "bold yellow" if report.warnings else "bold green"
    return Text(f"{flows}: {', '.join(counts)}", style=style)


def _count(number: int, word: str) -> str:
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"


# --- for editors -------------------------------------------------------------------------------


def _as_json(report: _Report) -> Mapping[str, Any]:
    return {
        "version": 1,
        "problems": report.problems,
        "warnings": report.warnings,
        "silenced": report.silenced,
        "findings": [_finding(one) for one in report.found],
        "notes": list(report.notes),
    }


def _finding(one: Found) -> Mapping[str, Any]:
    finding = one.finding
    return {
        "file": one.place.file if one.place else one.source.file,
        "path": finding.path,
        "code": finding.code,
        "severity": "error" if one.is_problem else "warning",
        "where": finding.where,
        "message": finding.what,
        "fix": finding.fix,
        "trail": list(_trail(one)),
        "range": None if one.place is None else _range(one.place),
    }


def _range(place: Located) -> Mapping[str, Any]:
    """Lines and characters from 0, characters being units of UTF-16: as the language server protocol counts."""
    lines, span = lines_of(place.text), place.span
    return {
        "start": {"line": span.line - 1, "character": _units(lines, span.line, span.column)},
        "end": {"line": span.end_line - 1, "character": _units(lines, span.end_line, span.end_column)},
    }


def _units(lines: Sequence[str], line: int, column: int) -> int:
    text = lines[line - 1] if line <= len(lines) else ""
    return len(text[: column - 1].encode("utf-16-le", "surrogatepass")) // 2
