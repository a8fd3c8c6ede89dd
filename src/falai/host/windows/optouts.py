"""The words by which a customer ends follow-ups: `Stop!` is `stop`; `stop by at three` is not."""

from __future__ import annotations

import re
from collections.abc import Iterable
from unicodedata import category, normalize

from falai.session.jsontext import show

__all__ = ["check_opt_outs", "is_opt_out"]

_WORD = re.compile(r"\w+")


def is_opt_out(text: str, words: Iterable[str]) -> bool:
    """Whether a whole message is one of these words or sentences.

    Case, accents, punctuation and spaces do not count.
    """
    folded = _folded(text)
    return bool(folded) and any(folded == _folded(word) for word in words)


def check_opt_outs(words: Iterable[str]) -> None:
    """Raises ValueError for a word that no message could be: one without a letter or digit."""
    for word in words:
        if not _folded(word):
            raise ValueError(f"the opt-out word {show(word)} has neither letter nor digit: no message would be it")


def _folded(text: str) -> str:
    plain = "".join(mark for mark in normalize("NFKD", text) if category(mark) != "Mn")
    return " ".join(_WORD.findall(plain.casefold()))
