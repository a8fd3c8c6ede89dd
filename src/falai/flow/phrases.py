"""Phrases of triggers and instructions: what fits, and what rules out (F-7.4, F-7.5)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Phrases", "split_phrases"]


class Phrases(NamedTuple):
    """Phrases apart: any of `matches` suffices; any of `exclusions` rules out."""

    matches: tuple[str, ...]
    exclusions: tuple[str, ...]


def split_phrases(phrases: Iterable[str]) -> Phrases:
    """Trims, drops the blank ones, and tells matches from exclusions (`!`, F-7.5)."""
    trimmed = [text for phrase in phrases if (text := phrase.strip())]
    matches = tuple(text for text in trimmed if not text.startswith("!"))
    exclusions = tuple(rest for text in trimmed if text.startswith("!") and (rest := text[1:].strip()))
    return Phrases(matches, exclusions)
