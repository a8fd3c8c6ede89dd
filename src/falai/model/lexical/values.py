"""Values in a customer's words: numbers, dates, times, options, addresses, names.

Nothing is guessed. A value is read where its form or the words around it show it; an answer that
shows neither counts only where it was asked for (`expected`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from itertools import islice
from typing import Any, Final

from falai.model.lexical.numbers import Found, amount, numbers
from falai.model.lexical.words import fold, polarity, stems, tokens, word_set
from falai.model.tasks import FieldTask, Today

__all__ = ["form_of", "kind_of", "read_list", "read_value", "says_correction"]

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+")  # tried once a word: a long text takes no longer
_PHONE = re.compile(r"\+?\d[\d ().-]{5,}\d")
_NEAR: Final = 25
_MOST_NUMBERS: Final = 100
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_NUMERIC_DATE = re.compile(r"\b(\d{1,2})[/.](\d{1,2})(?:[/.](\d{4}|\d{2}))?\b")
_IN_DAYS = re.compile(r"\b(?:in|em|en|dentro de|daqui a) (\w+) (?:days?|dias?)\b")
_TIME = re.compile(
    r"\b(?P<h>\d{1,2})(?:[:h](?P<m>\d{2})|h\b)(?: ?(?P<ap>[ap])\.?m)?|\b(?P<h2>\d{1,2}) ?(?P<ap2>[ap])\.?m\b"
    r"|\b(?:at|as|a las|a la) (?P<h3>\d{1,2})\b(?![/.:h]|\d| ?[ap]\.?m)"
)
_NOON = re.compile(r"\b(noon|meio[- ]dia|mediodia)\b")

_MONTHS: Final = {
    word: month
    for month, words in enumerate((
        "january jan janeiro enero", "february feb fevereiro febrero", "march mar marco marzo", "april apr abril",
        "may maio mayo", "june jun junho junio", "july jul julho julio", "august aug agosto",
        "september sep setembro septiembre", "october oct outubro octubre", "november nov novembro noviembre",
        "december dec dezembro diciembre",
    ), 1)
    for word in words.split()
}  # fmt: skip
_DAY_MONTH = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th|o)?(?: of| de)? ({'|'.join(_MONTHS)})\b")
_MONTH_DAY = re.compile(rf"\b({'|'.join(_MONTHS)}) (\d{{1,2}})(?:st|nd|rd|th)?\b")
_NO_AMOUNTS: Final = (_ISO, _NUMERIC_DATE, _DAY_MONTH, _MONTH_DAY, _TIME, _EMAIL)
_WEEKDAYS: Final = {
    word: day
    for day, words in enumerate((
        "monday segunda lunes", "tuesday terca martes", "wednesday quarta miercoles", "thursday quinta jueves",
        "friday sexta viernes", "saturday sabado", "sunday domingo",
    ))
    for word in words.split()
}  # fmt: skip
_NEAR_DAYS: Final = (
    (re.compile(r"\b(day after tomorrow|depois de amanha|pasado manana)\b"), 2),
    (re.compile(r"\b(tomorrow|amanha)\b|(?<!la )\bmanana\b"), 1),
    (re.compile(r"\b(today|tonight|hoje|hoy)\b"), 0),
    (re.compile(r"\b(next week|semana que vem|proxima semana|semana que viene)\b"), 7),
)
_NAMED = re.compile(
    r"\b(?:my name is|my name's|name is|i am called|call me|this is|i'm|i am|me chamo|meu nome e|aqui e [oa]?|eu sou [oa]"
    r"|eu sou|sou [oa]|sou|me llamo|mi nombre es|soy)\s+"
)
_NAME = re.compile(r"[^\W\d_][\w'-]*(?: (?:d[aeo]s?|van|von|del?|la|[^\W\d_][\w'-]*)){0,3}")
_NO_NAMES: Final = word_set(
    "looking trying interested calling writing not sorry here new ready fine ok okay good happy sure afraid a an the in"
    " on at from just very so procurando interessado interessada cliente novo nova bem aqui buscando de del un una el la"
    " o um uma"
)
_CORRECTION = re.compile(
    r"\b(actually|i meant|i mean|make (it|that)|change|correction|sorry|rather|instead|on second thought|na verdade"
    r"|quer dizer|quis dizer|corrigindo|correcao|troca|muda|melhor|alias|en realidad|quise decir|mejor|cambia|cambie"
    r"|corrijo|perdon|desculpa)\b|^(no|nao),? "
)

_FORMATS: Final = {"date": "date", "date-time": "moment", "time": "time", "email": "email"}
_KINDS: Final = (
    ("email", "email mail e-mail correo"),
    ("phone", "phone telephone mobile cell whatsapp tel telefone celular telefono movil fone"),
    ("moment", "when quando cuando slot datetime appointment_time"),
    ("date", "date day data dia fecha birthday birthdate start deadline checkin checkout nascimento nacimiento"),
    ("time", "time hour hora horario"),
    ("name", "name nome nombre"),
)
_PERSON: Final = word_set(
    "name full first last your customer client patient guest contact person nome nombre completo cliente paciente"
    " the of a s"
)


def read_value(field: FieldTask, text: str, today: Today | None, *, expected: bool) -> Any:
    """The value that the text gives for the field; `None` when it gives none."""
    if field.enum is not None:
        return _option(field, text)
    if field.type == "boolean":
        return polarity(text) if expected else None
    if field.type in ("number", "integer"):
        return _number(field, text, expected=expected)
    kind = kind_of(field)
    if kind in ("date", "time", "moment"):
        return _moment(kind, text, today)
    found = _READERS[kind](text) if kind in _READERS else None
    return found or _labelled(field, text) or (_answer(kind, text) if expected else None)


def read_list(text: str, enum: tuple[Any, ...] | None) -> list[Any] | None:
    """Every option that the text names, in their order; `None` for none."""
    folded = f" {' '.join(token[0] for token in tokens(fold(text)))} "
    found = [option for option in enum or () if f" {_plain(str(option))} " in folded]
    return found or None


def kind_of(field: FieldTask) -> str:
    """What a text field holds, by its type, else by the words of its name, description and question."""
    if field.format in _FORMATS:
        return _FORMATS[field.format]
    for source in (field.slug, field.description, field.question, field.ask):
        words = {token[0] for token in tokens(fold((source or "").replace("_", " ")))}
        for kind, hints in _KINDS:
            if not words.isdisjoint(hints.split()) and (kind != "name" or words <= _PERSON or source != field.slug):
                return kind
    return "text"


def form_of(field: FieldTask) -> str | None:
    """The form by which a value for the field is found anywhere in a text; options have none, free texts neither."""
    if field.enum is not None or field.type == "boolean":
        return None
    kind = "number" if field.type != "string" else kind_of(field)
    return None if kind == "text" else kind


def says_correction(text: str) -> bool:
    """Whether the customer takes something back."""
    return _CORRECTION.search(fold(text)) is not None


# --- numbers and options ----------------------------------------------------------------------


def _number(field: FieldTask, text: str, *, expected: bool) -> int | float | None:
    folded = fold(text)
    found = _amounts(folded)
    about = stems(f"{field.slug.replace('_', ' ')} {field.description or ''}")
    words = [token.start() for token in tokens(folded) if not about.isdisjoint(stems(token[0]))]
    near = [(min(abs(word - n[2]) for word in words), n) for n in found] if words else []
    chosen = min(near)[1] if near and min(near)[0] <= _NEAR else found[0] if found and expected else None
    return None if chosen is None else _typed(field.type, chosen[0])


def _amounts(folded: str) -> list[Found]:
    """The numbers that are no part of a date, a time or an address."""
    taken = {at for pattern in _NO_AMOUNTS for m in pattern.finditer(folded) for at in range(*m.span())}
    return list(islice((n for n in numbers(folded) if n.start not in taken), _MOST_NUMBERS))


def _typed(kind: str, number: float) -> int | float:
    return int(number) if kind == "integer" or number == int(number) else number


def _option(field: FieldTask, text: str) -> Any:
    """The option whose words the text has, else the range that its number falls into."""
    words = f" {' '.join(token[0] for token in tokens(fold(text)))} "
    best = max(field.enum or (), key=lambda option: _fit(option, field, words), default=None)
    if best is not None and _fit(best, field, words) > 0:
        return best
    said = [number.value for number in _amounts(fold(text))]
    inside = (option for option in field.enum or () for number in said if _holds(option, number))
    return next(inside, None)


def _fit(option: Any, field: FieldTask, words: str) -> int:
    """How much of the text says this option: the length of what matches, of its words or its hints."""
    hint = re.search(rf"{re.escape(str(option))}\s*[:=(]\s*([^;)\n]+)", field.description or "")
    names = [str(option), *(re.split(r"[,/]| or ", hint[1]) if hint else ())]
    plain = [form for name in names for form in (_plain(name), _plain(name).replace(" ", ""))]
    whole = max((len(name) for name in plain if name and f" {name} " in words), default=0)
    if whole:
        return whole
    about, said = stems(str(option)), stems(words)
    return len(about & said) if about and about <= said else 0


def _plain(text: str) -> str:
    return " ".join(token[0] for token in tokens(fold(text.replace("_", " "))))


def _holds(option: Any, number: float) -> bool:
    bounds = [float(n) for n in re.findall(r"\d+", str(option))]
    if isinstance(option, int | float):
        return option == number
    if len(bounds) == 2:
        return bounds[0] <= number <= bounds[1]
    return len(bounds) == 1 and (number >= bounds[0] if "+" in str(option) else number == bounds[0])


# --- days and times ---------------------------------------------------------------------------


def _moment(kind: str, text: str, today: Today | None) -> str | None:
    folded = fold(text)
    day = _day(folded, today) if kind != "time" else None
    hour = _hour(folded) if kind != "date" else None
    return f"{day}T{hour}" if day and hour else day or hour


def _day(folded: str, today: Today | None) -> str | None:
    if found := _ISO.search(folded):
        return _iso(int(found[1]), int(found[2]), int(found[3]))
    now = date.fromisoformat(today.date) if today else None
    if found := _NUMERIC_DATE.search(folded):
        return _calendar_day(int(found[1]), int(found[2]), found[3], now)
    if named := _named_day(folded):
        return _calendar_day(*named, None, now)
    return _relative_day(folded, now) if now else None


def _calendar_day(day: int, month: int, year: str | None, now: date | None) -> str | None:
    """A date that is written day first; without a year, the next one to come."""
    if year is not None:
        return _iso(int(year) if len(year) == 4 else 2000 + int(year), month, day)
    if now is None:
        return None
    this_year = _iso(now.year, month, day)
    return this_year if this_year is None or this_year >= now.isoformat() else _iso(now.year + 1, month, day)


def _named_day(folded: str) -> tuple[int, int] | None:
    if found := _DAY_MONTH.search(folded):
        return int(found[1]), _MONTHS[found[2]]
    found = _MONTH_DAY.search(folded)
    return (int(found[2]), _MONTHS[found[1]]) if found else None


def _relative_day(folded: str, now: date) -> str | None:
    for pattern, days in _NEAR_DAYS:
        if pattern.search(folded):
            return (now + timedelta(days=days)).isoformat()
    if found := _IN_DAYS.search(folded):
        ahead = amount(found[1])
        return None if ahead is None or ahead > 3650 else (now + timedelta(days=int(ahead))).isoformat()
    weekday = next((_WEEKDAYS[token[0]] for token in tokens(folded) if token[0] in _WEEKDAYS), None)
    return None if weekday is None else (now + timedelta(days=(weekday - now.weekday() - 1) % 7 + 1)).isoformat()


def _hour(folded: str) -> str | None:
    if _NOON.search(folded):
        return "12:00"
    found = _TIME.search(folded)
    if found is None:
        return None
    hour = int(found["h"] or found["h2"] or found["h3"])
    half = found["ap"] or found["ap2"]
    # Nobody means three in the morning who says "at 3" to a front desk.
    afternoon = half == "p" or (half is None and found["h3"] is not None and hour < 8)
    hour = hour % 12 + 12 if afternoon else 0 if half == "a" and hour == 12 else hour
    minute = int(found["m"] or 0)
    return f"{hour:02d}:{minute:02d}" if hour < 24 and minute < 60 else None


def _iso(year: int, month: int, day: int) -> str | None:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


# --- texts ------------------------------------------------------------------------------------


def _email(text: str) -> str | None:
    found = _EMAIL.search(fold(text))
    return found and text[found.start() : found.end()]


def _phone(text: str) -> str | None:
    found = (m for m in _PHONE.finditer(fold(text)) if not _ISO.search(m[0]))
    return next((text[m.start() : m.end()] for m in found if len(re.sub(r"\D", "", m[0])) >= 7), None)


def _person(text: str) -> str | None:
    """The name after "my name is" and its like."""
    for found in _NAMED.finditer(fold(text)):
        name = _NAME.match(_straight(text), found.end())
        if name and fold(name[0]).split()[0] not in _NO_NAMES:
            return _until_word(name[0])
    return None


def _straight(text: str) -> str:
    return text.replace("\u2019", "'")


def _until_word(name: str) -> str:
    """The name without the sentence that goes on behind it."""
    cut = re.split(r" (?:and|e|y|from|de onde|i|eu|yo|but|mas|pero|here|aqui|from)\b", name, maxsplit=1)[0]
    return cut.strip(" .,!")


def _labelled(field: FieldTask, text: str) -> str | None:
    """What follows the field's own name: "the company is Acme", "company: Acme"."""
    label = r"\W+".join(re.escape(_plain(part)) for part in field.slug.replace("_", " ").split())
    if not label:
        return None
    found = re.search(rf"\b{label}\b(?: is|'s| to| e| es| para|:|=)\s*([^.,;!?\n]+)", fold(text))
    return text[found.start(1) : found.end(1)].strip() if found else None


def _answer(kind: str, text: str) -> str | None:
    """The whole message, where it answers a question for a text."""
    bare = text.strip().strip(".!,").strip()
    if kind in ("email", "phone") or not stems(bare):  # a greeting is no answer
        return None
    if kind == "name":
        name = _NAME.fullmatch(_straight(bare))
        return bare if name and fold(bare).split()[0] not in _NO_NAMES and polarity(bare) is None else None
    return bare


_READERS: Final[dict[str, Callable[[str], str | None]]] = {"email": _email, "phone": _phone, "name": _person}
