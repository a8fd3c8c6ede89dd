"""Which form of a schema a model is sent, and whether its provider is asked to enforce it (M-22.4).

What a provider publishes about the schemas that it enforces stands in `dialects`. A schema that has no
equivalent form there is sent all the same, but unenforced, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

from falai.log import line
from falai.model.dialects import Dialect, hard_offences
from falai.model.pydantic_ai.forms import Form, form_of
from falai.session.jsontext import json_text

__all__ = ["Enforcement"]

_LOG: Final = logging.getLogger(__name__)
_REMEMBERED: Final = 200
_SAID: Final = 1_000


class Enforcement:
    """The forms of one model's schemas; says once for each schema when it cannot be enforced."""

    def __init__(self, model: str, dialect: Dialect, *, lists: bool) -> None:
        self._model = model
        self._dialect = dialect
        self._lists = lists
        self._forms: dict[str, Form] = {}
        self._said: set[int] = set()

    def form(self, schema: Mapping[str, Any]) -> Form:
        """The form in which a schema is sent. The schemas of the last calls are remembered."""
        text = json_text(schema)
        if text not in self._forms:
            while len(self._forms) >= _REMEMBERED:
                self._forms.pop(next(iter(self._forms)), None)
            self._forms[text] = form_of(schema, self._dialect, lists=self._lists)
        form = self._forms[text]
        if form.why is not None and hash(text) not in self._said and len(self._said) < _SAID:
            self._said.add(hash(text))
            extra = line("schema.unenforced", model=self._model)
            _LOG.warning("%s: a schema is sent unenforced: %s", self._model, form.why, extra=extra)
        return form

    def refuses(self, schema: Mapping[str, Any]) -> bool:
        """Whether a tool's schema cannot be enforced as it is; its calls are an author's, and not rewritten here."""
        return bool(hard_offences(schema, self._dialect))
