"""The ids of flows and signals of 3.x, and which v4 flow took over from each (G-13, G-27)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from falai.cli.loading import LoadError
from falai.session.jsontext import is_object, parse_json, quoted, show
from falai.session.keys import is_blank_id

__all__ = ["FlowIds"]


class FlowIds:
    """The `flow_id_of` of a map; an id that is not in it stays as it is. Counts what it is asked for."""

    def __init__(self, new_ids: Mapping[str, str]) -> None:
        self._new_ids = new_ids
        self._asked = Counter[str]()

    @classmethod
    def read(cls, file: Path | None) -> FlowIds:
        """The map of a JSON file, empty without one. Raises `LoadError` that tells of everything wrong in it."""
        if file is None:
            return cls({})
        try:
            found = parse_json(file.read_bytes())
        except (OSError, ValueError) as error:
            raise LoadError(f"the flow ids of {file} cannot be read: {error}") from error
        if not is_object(found):
            raise LoadError(f"{file} holds {show(found)}; an object of old ids and new ids was expected")
        wrong = [f"  {quoted(old)} leads to {show(new)}" for old, new in found.items() if is_blank_id(new)]
        if wrong:
            raise LoadError(
                "\n".join([f"{file}: each old id leads to the id of a flow, a text that is not blank", *wrong])
            )
        return cls(found)

    def __call__(self, old: str) -> str:
        self._asked[old] += 1
        return self._new_ids.get(old, old)

    def words(self) -> Iterator[str]:
        """Which ids were met, how often and what becomes of them, and those of the map that never were."""
        for old, count in self._asked.most_common():
            new = self._new_ids.get(old)
            yield f"  {count:>10,}  of the flow {old}, which " + ("keeps its id" if new is None else f"becomes {new}")
        for old in self._new_ids:
            if old not in self._asked:
                yield f"              the map has {old}, which no row names"
