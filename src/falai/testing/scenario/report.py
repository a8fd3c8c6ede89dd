"""What is said about scenarios: what is wrong in a file, and what differed when it was played."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Difference", "FileProblem", "Report", "ScenarioFileError"]


@dataclass(frozen=True, slots=True)
class FileProblem:
    """One thing that is wrong in a scenario file; `turn` counts from 0, `path` is within case or turn."""

    file: str
    case: str | None
    turn: int | None
    path: str
    what: str

    def __str__(self) -> str:
        return ": ".join(part for part in (_place(self.file, self.case, self.turn), self.path, self.what) if part)


class ScenarioFileError(ValueError):
    """Files that are no scenarios; `problems` has everything that was found in all of them."""

    def __init__(self, problems: tuple[FileProblem, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that was not as a case says. `turn` counts from 0; it is `None` for the agent itself."""

    file: str
    case: str
    turn: int | None
    path: str
    expected: str
    found: str

    @property
    def is_of_the_file(self) -> bool:
        """Whether the agent cannot be built, and the case does not say so: then the file is wrong."""
        return self.turn is None and self.path == "error"

    def __str__(self) -> str:
        return f"{_place(self.file, self.case, self.turn)}: {self.path}: expected {self.expected}, found {self.found}"


@dataclass(frozen=True, slots=True)
class Report:
    """How a run went: the names of the cases that were played, and what differed or was wrong."""

    cases: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    problems: tuple[FileProblem, ...] = ()

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the cases with differences, in order."""
        return tuple(dict.fromkeys(difference.case for difference in self.differences))

    @property
    def exit_code(self) -> int:
        """0 when everything was as written, 1 with differences, 2 when a file or an agent in it is wrong."""
        wrong = self.problems or any(difference.is_of_the_file for difference in self.differences)
        return 2 if wrong else 1 if self.differences else 0


def _place(file: str, case: str | None, turn: int | None) -> str:
    parts = [file, "" if case is None else f'case "{case}"', "" if turn is None else f"turn {turn}"]
    return ", ".join(part for part in parts if part)
