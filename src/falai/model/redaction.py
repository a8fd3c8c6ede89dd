"""Words of a vendor or a server without the secrets that they quote.

What is known to be a secret goes, and what has the shape of one: the well-known beginnings of keys,
what follows `Bearer`, `key=` in a URL, a password in an address, the value of a header or a member
that holds a key. The rest of the words stays, so that a person still reads what went wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

__all__ = ["without_secrets"]

_GONE: Final = "[secret]"
_SHORTEST: Final = 8  # a shorter word is the stand-in of a server without keys, and may be any word of the text

_SHAPES: Final = (
    # OpenAI's, Anthropic's, OpenRouter's and DeepSeek's keys; some providers star out the middle of what they quote.
    re.compile(r"(?<![\w-])()(?:sk|pk|rk)[-_](?=[\w*-]*[\d*])[\w*-]{8,}"),
    re.compile(r"(?<![\w-])()(?:gsk_|xai-|hf_|gh[opsu]_|github_pat_|glpat-|xox[abp]-|ya29\.|AIza|AKIA)[\w*.-]{8,}"),
    re.compile(r"(?<![\w-])()eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?"),  # a JSON web token
    re.compile(
        r"(?i)\b((?:bearer|basic)\s+)(?!(?:auth|(?:tokens?|credentials?|access|scheme|format|header)\b))"
        r"[\w.~+/=*-]{6,}"
    ),
    re.compile(r"(?i)((?:key|token|secret|password|sig|signature)=)(?!\[secret\])[^&\s\"'<>,;)]+"),
    re.compile(
        r"(?i)((?:authorization|api[-_ ]?key|access[-_]token|secret|password)(?: provided)?[\"'\\]*\s*[:=]\s*[\"'\\]*"
        r"(?:(?:bearer|basic|token)\s+)?+)(?!\[secret\])[^\s\"'\\,;}\])]{6,}"
    ),
    re.compile(r"(://)[^/\s:@]+:[^/\s@]+(?=@)"),
)
"""Each with what stays of it as its first group."""


def without_secrets(text: str, known: Collection[str] = ()) -> str:
    """The text with `[secret]` for each of `known` and for what looks like a secret."""
    for secret in sorted(known, key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, _GONE)
    for shape in _SHAPES:
        text = shape.sub(rf"\1{_GONE}", text)
    return text
