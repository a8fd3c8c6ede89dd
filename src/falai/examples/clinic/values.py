"""The types of what patients are asked for. A refused value's reason is told to the model, and so to the patient."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated

from pydantic import AfterValidator

from falai.examples.clinic.calendar import TIMES

__all__ = ["Phone", "VisitDay", "VisitTime"]

_SUNDAY = 7


def _open_day(day: date) -> date:
    if day.isoweekday() == _SUNDAY:
        raise ValueError("the clinic is closed on Sundays")
    return day


def _visit_time(time: str) -> str:
    padded = time.strip().zfill(5)
    if padded not in TIMES:
        raise ValueError(f"a visit begins at one of {', '.join(TIMES)}")
    return padded


def _phone(number: str) -> str:
    if len(re.sub(r"\D", "", number)) < 7:
        raise ValueError("a phone number has seven digits or more")
    return number.strip()


VisitDay = Annotated[date, AfterValidator(_open_day)]
VisitTime = Annotated[str, AfterValidator(_visit_time)]
Phone = Annotated[str, AfterValidator(_phone)]
