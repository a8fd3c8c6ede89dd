"""`falai test`: plays scenario files and says what differs where."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Console
from rich.text import Text

from falai.cli.clean import clean
from falai.testing.scenario import Case, Difference, FileProblem, Report, ScenarioFileError, load_files, run_case

__all__ = ["run_scenarios"]

WRONG = 2


def run_scenarios(paths: Sequence[Path], name_contains: str | None, *, verbose: bool = False) -> int:
    """Plays the cases of these files; the result is the program's exit code.

    With `verbose` it also says which case is played, and what the library logs meanwhile.
    """
    if not verbose:
        logging.getLogger("falai").addHandler(logging.NullHandler())
    console = Console(highlight=False, soft_wrap=True)
    try:
        cases = load_files(paths)
    except ScenarioFileError as error:
        _show_problems(console, error.problems)
        return WRONG
    except ImportError as error:
        console.print(Text(str(error), style="red"))
        return WRONG
    chosen = [case for case in cases if name_contains is None or name_contains.lower() in case.name.lower()]
    if not chosen:
        console.print(Text(clean(_nothing_to_play(len(cases), name_contains)), style="red"))
        return WRONG
    differences = asyncio.run(_play(console if verbose else None, chosen))
    _show_differences(console, differences)
    _sum_up(console, chosen, differences)
    return Report(differences=tuple(differences)).exit_code


async def _play(console: Console | None, cases: Sequence[Case]) -> list[Difference]:
    differences: list[Difference] = []
    for case in cases:
        if console:
            console.print(Text(clean(case.name), style="dim"))
        differences += await run_case(case)
    return differences


def _nothing_to_play(count: int, name_contains: str | None) -> str:
    return f"no name among the {count} cases contains {name_contains!r}" if count else "there is no case in these files"


def _show_problems(console: Console, problems: Sequence[FileProblem]) -> None:
    for problem in problems:
        console.print(Text(clean(str(problem)), style="red"))
    count = "One thing is" if len(problems) == 1 else f"{len(problems)} things are"
    console.print(Text(f"{count} wrong in the files, so nothing was played.", style="bold red"))


def _show_differences(console: Console, differences: Sequence[Difference]) -> None:
    for (file, case, turn), found in groupby(differences, key=lambda d: (d.file, d.case, d.turn)):
        place = "the agent" if turn is None else f"turn {turn}"
        console.print(Text.assemble((f'{file}, case "{case}", {place}', "bold red")))
        for one in found:
            console.print(Text(f"  {clean(one.path)}", style="cyan"))
            console.print(Text(f"    expected  {_below(one.expected)}"))
            console.print(Text(f"    found     {_below(one.found)}"))


def _below(text: str) -> str:
    """Further lines stand below the first."""
    return clean(text).replace("\n", "\n" + " " * 14)


def _sum_up(console: Console, cases: Sequence[Case], differences: Sequence[Difference]) -> None:
    different = len({(one.file, one.case) for one in differences})
    count = "one case" if len(cases) == 1 else f"{len(cases)} cases"
    if different:
        console.print(Text(f"{count}: {len(cases) - different} as written, {different} different", style="bold red"))
    else:
        console.print(Text(f"{count}: all as written", style="bold green"))
