"""Breadth-first search over abstract states: what is reached, and the shortest way to it, in words."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

__all__ = ["Reached", "search"]

State = TypeVar("State", bound=Hashable)
Words = tuple[str, ...]


class Reached(Generic[State]):
    """The states that a search found, in the order of their distance."""

    def __init__(self, came: Mapping[State, tuple[State | None, Callable[[], Words]]]) -> None:
        self._came = came

    def __contains__(self, state: State) -> bool:
        return state in self._came

    def __iter__(self) -> Iterator[State]:
        return iter(self._came)

    def path(self, state: State) -> list[State]:
        """The states on the shortest way to one that was found, itself the last."""
        path: list[State] = []
        at: State | None = state
        while at is not None:
            path.append(at)
            at = self._came[at][0]
        return path[::-1]

    def trail(self, state: State) -> Words:
        """The shortest way to a state that was found, in words."""
        return tuple(line for at in self.path(state) for line in self._came[at][1]())


def search(
    starts: Iterable[tuple[State, Callable[[], Words]]],
    ahead: Callable[[State], Iterable[tuple[State, Callable[[], Words]]]],
) -> Reached[State]:
    """Every state to which the starts lead. `ahead` gives the states behind one, each with the words of the way."""
    came: dict[State, tuple[State | None, Callable[[], Words]]] = {}
    queue: deque[State] = deque()
    for state, words in starts:
        if state not in came:
            came[state] = (None, words)
            queue.append(state)
    while queue:
        at = queue.popleft()
        for state, words in ahead(at):
            if state not in came:
                came[state] = (at, words)
                queue.append(state)
    return Reached(came)
