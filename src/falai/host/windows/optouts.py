"""The words by which a customer ends follow-ups: `Stop!` is `stop`; `stop by at three` is not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from unicodedata import category, normalize

from falai.session.jsontext import show

__all__ = ["check_opt_outs", "is_opt_out"]

_WORD = re.compile(r"\w+")


def is_opt_out(text: str, words: Iterable[str]) -> bool:
    """Whether a whole message is one of these words or sentences.

    Case, accents, punctuation and spaces do not count.
    """
    wanted = _wanted(tuple(words))
    return bool(wanted) and _folded(text) in wanted


def check_opt_outs(words: Iterable[str]) -> None:
    """Raises ValueError for a word that no message could be: one without a letter or digit."""
    for word in words:
        if not _folded(word):
            raise ValueError(f"the opt-out word {show(word)} has neither letter nor digit: no message would be it")


@lru_cache(maxsize=64)
def _wanted(words: tuple[str, ...]) -> frozenset[str]:
    """Folded once, since every message is compared with them."""
    return frozenset(filter(None, map(_folded, words)))


def _folded(text: str) -> str:
    plain = "".join(mark for mark in normalize("NFKD", text) if category(mark) != "Mn")
    return " ".join(_WORD.findall(plain.casefold()))
