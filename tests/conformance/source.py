"""Where the cases and tables are: the folder that FALAI_CONFORMANCE names, else the project's copy."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(os.environ.get("FALAI_CONFORMANCE") or Path(__file__).parent / "data")
if not any((FOLDER / part).is_dir() for part in ("cases", "tables")):
    raise FileNotFoundError(f"FALAI_CONFORMANCE names {FOLDER.resolve()}, which holds neither cases nor tables")


class Row(NamedTuple):
    """One row of a table; `number` counts from 0."""

    table: str
    number: int
    row: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.table}[{self.number}] {self.row.get('rule', '')}"


def case_files() -> list[Path]:
    """The files of cases; a folder without any has none to play."""
    folder = FOLDER / "cases"
    return [folder] if folder.is_dir() else []


def rows() -> list[Row]:
    """The rows of all tables."""
    tables = [json.loads(file.read_text(encoding="utf-8")) for file in sorted((FOLDER / "tables").glob("*.json"))]
    return [Row(table["table"], number, row) for table in tables for number, row in enumerate(table["rows"])]
