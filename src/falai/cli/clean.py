"""What may reach a terminal.

Texts of customers and models are data: control characters are taken out, so that none can move the
cursor or colour the screen.
"""

from __future__ import annotations

import re

__all__ = ["clean"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def clean(text: str) -> str:
    """The text without characters that steer a terminal; line breaks and tabs stay."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))
