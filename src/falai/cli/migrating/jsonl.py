"""Old rows from a file of JSON lines, for databases that have no reader of their own: an object a line, with an id.

A position is the number of bytes that have been read.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from falai.cli.migrating.places import Address
from falai.cli.migrating.rows import OldPage, OldRow, id_column, number, row_of
from falai.session.jsontext import is_object, parse_json

__all__ = ["JSONLines"]

_PAGE = 100


class JSONLines:
    """The lines of a file."""

    def __init__(self, address: Address) -> None:
        self._path = Path(address.path)

    async def count(self) -> int | None:
        return None

    async def pages(self, after: str | None) -> AsyncGenerator[OldPage, None]:
        with self._path.open("rb") as file:
            file.seek(number(after))
            every = _lines(file)
            while lines := list(islice(every, _PAGE)):
                rows = [_row(line, f"the line that ends at byte {end}") for end, line in lines]
                yield OldPage(rows, str(lines[-1][0]))

    async def close(self) -> None:
        """Each read closes the file."""


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Where each line ends, and the line."""
    end = file.tell()
    for line in file:
        end += len(line)
        if line.strip():
            yield end, line


def _row(line: bytes, name: str) -> OldRow:
    try:
        values = parse_json(line)
    except ValueError:
        return OldRow(name, line)
    if not is_object(values):
        return OldRow(name, line)
    try:
        return row_of(values[id_column(list(values), "it")], values)
    except ValueError as error:
        return OldRow(name, "", str(error))
