"""Conversations written down as data and played against an agent: scenario files.

A file holds cases: an agent, a script of model replies, and turns with what each must return. The
format is documented in `docs/reference/scenarios.md`. `load_files` reads files strictly, all
problems at once; `run_case` plays a case with a fake clock and no network; `run_files` does both
and reports.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from falai.flow.documents import read_json, read_yaml
from falai.testing.scenario.match import is_list, is_object
from falai.testing.scenario.report import Difference, FileProblem, Report, ScenarioFileError
from falai.testing.scenario.shape import file_problems

__all__ = ["Case", "Difference", "FileProblem", "Report", "ScenarioFileError", "load_files", "run_case", "run_files"]

_READERS = {".json": read_json, ".yaml": read_yaml, ".yml": read_yaml}


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a file that was found to be right; `spec` is the case as written."""

    file: str
    name: str
    spec: Mapping[str, Any]


def load_files(paths: Iterable[str | Path]) -> list[Case]:
    """The cases of these files, in order; a folder stands for the scenario files in it.

    Raises `ScenarioFileError` with everything that is wrong in any of them. Raises `ImportError`
    naming the pip command for a YAML file without PyYAML.
    """
    problems: list[FileProblem] = []
    cases: list[Case] = []
    for path in _files(paths):
        content = _content(path, problems)
        if content is not None:
            problems += file_problems(str(path), content)
            cases += _cases(str(path), content)
    problems += _repeated_names(cases)
    if problems:
        raise ScenarioFileError(tuple(problems))
    return cases


async def run_case(case: Case) -> list[Difference]:
    """Plays one case; an empty list means that everything was as written."""
    # The stage needs the whole agent; a file can be checked without it.
    from falai.testing.scenario.play import play

    return [
        Difference(case.file, case.name, turn, mismatch.path, mismatch.expected, mismatch.found)
        for turn, mismatch in await play(case.spec)
    ]


def run_files(paths: Iterable[str | Path]) -> Report:
    """Loads and plays; raises nothing for a wrong file or a difference: the report has both."""
    try:
        cases = load_files(paths)
    except ScenarioFileError as error:
        return Report(problems=error.problems)
    return asyncio.run(_run_all(cases))


async def _run_all(cases: list[Case]) -> Report:
    differences = [difference for case in cases for difference in await run_case(case)]
    return Report(tuple(case.name for case in cases), tuple(differences))


def _files(paths: Iterable[str | Path]) -> Iterator[Path]:
    for path in map(Path, paths):
        if path.is_dir():
            yield from sorted(file for file in path.rglob("*") if file.suffix in _READERS)
        else:
            yield path


def _content(path: Path, problems: list[FileProblem]) -> Any:
    """What the file says, or `None` with a problem noted."""
    reader = _READERS.get(path.suffix)
    if reader is None:
        problems.append(_problem(path, f"a scenario file ends in one of {', '.join(_READERS)}"))
        return None
    try:
        content = reader(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        problems.append(_problem(path, str(error)))
        return None
    if content is None:
        problems.append(_problem(path, "it is empty"))
    return content


def _cases(file: str, content: Any) -> Iterator[Case]:
    """What has a name, be it right or wrong."""
    listed: Any = content.get("cases") if is_object(content) else None
    for case in listed if is_list(listed) else ():
        if is_object(case) and isinstance(name := case.get("name"), str):
            yield Case(file, name, case)


def _problem(path: Path, what: str) -> FileProblem:
    return FileProblem(str(path), None, None, "", what)


def _repeated_names(cases: list[Case]) -> Iterator[FileProblem]:
    first: dict[str, Case] = {}
    for case in cases:
        known = first.setdefault(case.name, case)
        if known is not case:
            yield FileProblem(case.file, case.name, None, "name", f"there is a case of that name in {known.file}")
