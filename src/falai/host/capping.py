"""So many of a tenant at a time, within one process: who is beyond that keeps its place in the queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from falai.host.ledger.port import Place

__all__ = ["TenantCap"]


class TenantCap:
    """Counts what is at work; without a limit all may be."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._at_work: Counter[str] = Counter()

    def first(self, places: Iterable[Place]) -> Place | None:
        """The first of these that may begin."""
        return next((place for place in places if self._takes(place)), None)

    def begin(self, place: Place) -> None:
        if self._limit is not None:
            self._at_work[place.tenant] += 1

    def end(self, place: Place) -> None:
        if self._limit is not None:
            self._at_work[place.tenant] -= 1
            self._at_work += Counter()  # without those that are at nought

    def _takes(self, place: Place) -> bool:
        return self._limit is None or self._at_work[place.tenant] < self._limit
