"""Secrets: texts that no log line, no error and no `repr` shows."""

from __future__ import annotations

__all__ = ["Secret"]


class Secret:
    """A text that is shown as `***`, until it is asked for by `reveal`."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """The text itself, for whoever sends it to its owner."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._text == self._text

    def __hash__(self) -> int:
        return hash(self._text)
