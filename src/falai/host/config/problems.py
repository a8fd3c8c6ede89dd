"""What is wrong in a configuration: everything at once, each with its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from falai.errors import FalaiError

__all__ = ["ConfigError", "ConfigProblem"]


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing that is wrong: `where` (`falai.toml: host.burst`, `FALAI_HOST__BURST`, `--store`), and what to do.

    Neither text holds a secret.
    """

    where: str
    what: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


class ConfigError(FalaiError):
    """A configuration cannot be used. `problems` holds all that was found, in the order of the file."""

    def __init__(self, problems: Sequence[ConfigProblem]) -> None:
        self.problems = tuple(problems)
        count = "one problem" if len(self.problems) == 1 else f"{len(self.problems)} problems"
        super().__init__("\n".join([f"the configuration has {count}:", *(f"  {problem}" for problem in self.problems)]))
