"""Public holidays, from the package of that name."""

from __future__ import annotations

from collections.abc import Container
from datetime import date

from falai.flow.nearest import meant
from falai.session.jsontext import show

__all__ = ["holidays_of"]


def holidays_of(code: object) -> Container[date]:
    """The holidays of a country (`"BR"`) or of a part of one (`"BR-SP"`).

    Raises ValueError when there is no such place, ImportError when the package is missing.
    """
    try:
        import holidays  # an extra, and quick to load only since it loads countries one by one
    except ImportError as error:
        raise ImportError('holidays of a country need the package holidays: pip install "falai[holidays]"') from error
    country, dash, part = code.partition("-") if isinstance(code, str) else ("", "", "")
    known = holidays.list_supported_countries()
    if country not in known:
        raise ValueError(f"holidays is {show(code)}: write a country by its ISO code, such as BR, or BR-SP for a part")
    if dash and part not in known[country]:
        raise ValueError(_no_part(code, country, part, known[country]))
    return holidays.country_holidays(country, subdiv=part or None)


def _no_part(code: object, country: str, part: str, parts: list[str]) -> str:
    listed = f"it knows {', '.join(parts)}" if parts else f"it knows no parts of {country}"
    return f"holidays is {show(code)}: {meant(part, parts)}{listed}"
