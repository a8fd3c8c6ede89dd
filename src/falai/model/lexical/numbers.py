"""Numbers in a customer's words: in digits with either mark, and in English, Portuguese or Spanish words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Found", "amount", "numbers"]

_TOKEN = re.compile(r"-?\d{1,3}(?: \d{3})+(?!\d)|-?\d+(?:[.,]\d+)*|[a-z]+")
_JOINTS: Final = frozenset(("and", "e", "y"))
_ARTICLES: Final = frozenset(("a", "um", "uma", "un", "una", "uno"))

_WORDS: Final = {
    word: step * number
    for step, first, lists in (
        (1, 0, (
            "zero cero", "one a um uma un uno una", "two couple dois duas dos", "three tres", "four quatro cuatro",
            "five cinco", "six seis", "seven sete siete", "eight oito ocho", "nine nove nueve", "ten dez diez",
            "eleven onze once", "twelve doze doce dozen", "thirteen treze trece", "fourteen catorze quatorze catorce",
            "fifteen quinze quince", "sixteen dezesseis dezasseis dieciseis", "seventeen dezessete dezassete diecisiete",
            "eighteen dezoito dieciocho", "nineteen dezenove dezanove diecinueve",
        )),
        (1, 21, (
            "veintiuno veintiun", "veintidos", "veintitres", "veinticuatro", "veinticinco", "veintiseis",
            "veintisiete", "veintiocho", "veintinueve",
        )),
        (10, 2, (
            "twenty vinte veinte", "thirty trinta treinta", "forty quarenta cuarenta", "fifty cinquenta cincuenta",
            "sixty sessenta sesenta", "seventy setenta", "eighty oitenta ochenta", "ninety noventa",
        )),
        (100, 1, (
            "cem cento cien ciento", "duzentos duzentas doscientos doscientas", "trezentos trezentas trescientos",
            "quatrocentos cuatrocientos", "quinhentos quinientos", "seiscentos seiscientos", "setecentos setecientos",
            "oitocentos ochocientos", "novecentos novecientos",
        )),
    )
    for number, words in enumerate(lists, first)
    for word in words.split()
}  # fmt: skip
_SCALES: Final = {
    word: scale
    for scale, words in ((1000, "k thousand mil"), (10**6, "million milhao milhoes millon millones"))
    for word in words.split()
}


class Found(NamedTuple):
    """A number and where it stands in the folded text."""

    value: float
    start: int
    end: int


def amount(word: str) -> float | None:
    """What one word, or one number in digits, stands for."""
    if not word[-1].isdigit():
        return _WORDS.get(word, _SCALES.get(word) if word != "k" else None)
    if re.fullmatch(r"-?\d{1,3}([., ]\d{3})+", word):
        return _finite(re.sub("[., ]", "", word))
    if whole := re.fullmatch(r"(-?\d{1,3}(?:[.,]\d{3})+)[.,](\d{1,2})", word):
        return _finite(f"{re.sub('[.,]', '', whole[1])}.{whole[2]}")
    return _finite(word.replace(",", ".")) if re.fullmatch(r"-?\d+([.,]\d+)?", word) else None


def numbers(folded: str) -> Iterator[Found]:
    """The numbers of a folded text, in order; words that belong to one number are one: "mil e quinhentos"."""
    reading = _Reading()
    for token in _TOKEN.finditer(folded):
        if not reading.takes(token):
            yield from reading.found()
            reading = _Reading()
            reading.begins(token)
    yield from reading.found()


class _Reading:
    """A number that is being read: whole thousands, and what comes after them."""

    def __init__(self) -> None:
        self._high: float = 0
        self._low: float | None = None
        self._in_words = True
        self._span: tuple[int, int] | None = None

    def begins(self, token: re.Match[str]) -> None:
        """Takes the first word, if it is a number. A lone article is none."""
        word = token[0]
        value = amount(word)
        if word == "hundred" or (value is not None and word not in _ARTICLES):
            self._low = 0 if word == "hundred" or word in _SCALES else value
            self._in_words = not word[-1].isdigit()
            self._span = token.span()
            self._scale(word)

    def takes(self, token: re.Match[str]) -> bool:
        """Whether the word goes on with the number, which then has it."""
        word = token[0]
        if self._span is None:
            return False
        if word in _JOINTS:
            return True
        if not self._scale(word) and not self._adds(word):
            return False
        self._span = (self._span[0], token.end())
        return True

    def found(self) -> Iterator[Found]:
        value = self._high + (self._low or 0)
        if self._span is not None and math.isfinite(value):
            yield Found(value, *self._span)

    def _scale(self, word: str) -> bool:
        if word == "hundred":
            self._low = (self._low or 1) * 100
        elif word in _SCALES:
            self._high += (self._low or (0 if self._high else 1)) * _SCALES[word]
            self._low, self._in_words = None, True
        else:
            return False
        return True

    def _adds(self, word: str) -> bool:
        """Whether the word fills the zeros at the end: "fifty two", "cento e vinte", but not "two three"."""
        value = _WORDS.get(word)
        if value is None or not self._in_words:
            return False
        low = self._low
        fits = low is None or (
            low and low % (10 if value < 10 else 100 if value < 100 else 1000) == 0 and low % 100 != 10
        )
        if fits:
            self._low = (low or 0) + value
        return bool(fits)


def _finite(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None
