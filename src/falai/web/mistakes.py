"""A request that does not fit: every mistake at once, with its path, and what was meant by a misspelt key.

Bodies are read by models that refuse unknown keys (`Body`), so that a misspelt option is told and not ignored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self, cast

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError

from falai.flow.nearest import meant
from falai.web.problems import CODES, Found, ProblemError

if TYPE_CHECKING:
    from fastapi.exceptions import ValidationException

__all__ = ["Body", "Wire", "problem_of_mistakes"]

_HINTS: Mapping[str, str] = {
    "missing": "It has to be there",
    "string_pattern_mismatch": (
        "An id has a sign that is no space, and nowhere U+0000; a cursor is one that a frame brought, or `start`"
    ),
    "model_attributes_type": "Send a JSON object, with `Content-Type: application/json`",
}
_WORDS: Mapping[str, str] = {"string_pattern_mismatch": "it has not the form of an id, or of a cursor"}
"""Said in place of the framework's words, which would be a regular expression."""

_MOST: Final = 100
"""So many mistakes of a body are told: an answer with each of a hundred thousand would hold up everybody else's."""


class Wire(BaseModel):
    """JSON with camelCase names."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Body(Wire):
    """The body of a request: nothing but what it names."""

    model_config = ConfigDict(extra="forbid", populate_by_name=False)

    @model_validator(mode="wrap")
    @classmethod
    def _say_what_was_meant(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(value)
        except ValidationError as error:
            names = [field.alias or name for name, field in cls.model_fields.items()]
            lines = [_told(one, names) for one in error.errors()[:_MOST]]
            raise ValidationError.from_exception_data(error.title, lines) from None


def problem_of_mistakes(error: ValidationException) -> ProblemError:
    """The problem of what the framework refused."""
    mistakes = error.errors()
    if any(one["type"] == "json_invalid" for one in mistakes):
        return ProblemError(400, "bad-json", CODES["bad-json"].meaning)
    found = [_found(one) for one in mistakes]
    return ProblemError(422, "invalid", f"The request has {_count(found)}.", errors=found)


def _count(found: Sequence[Found]) -> str:
    if len(found) == 1:
        return "one mistake"
    return f"{len(found)} mistakes" if len(found) < _MOST else f"{_MOST} mistakes or more; these are the first"


def _told(one: Any, names: Sequence[str]) -> InitErrorDetails:
    """A line of an error as it came, but an unknown key as ours: with a hint."""
    if one["type"] != "extra_forbidden":
        kind: Any = PydanticCustomError(one["type"], _literal(one["msg"]), one.get("ctx"))
    else:
        hint = f"{meant(str(one['loc'][-1]), names)}The keys are {', '.join(names)}"
        kind = PydanticCustomError("unknown-key", "there is no such key", {"hint": hint})
    return InitErrorDetails(type=kind, loc=one["loc"], input=None)


def _literal(text: str) -> Any:
    """A message is a template of pydantic's: braces in it would be places."""
    return text.replace("{", "(").replace("}", ")")


def _found(one: Mapping[str, Any]) -> Found:
    kind = str(one["type"])
    context = cast("Mapping[str, Any]", one.get("ctx") or {})
    hint = context.get("hint") or _HINTS.get(kind, "")
    message = _WORDS.get(kind, str(one["msg"]))
    return Found("".join(_path(one["loc"])), kind.replace("_", "-"), message, str(hint))


def _path(loc: Sequence[str | int]) -> Iterator[str]:
    """`attachments[0].kind` of a body; `query.limit` elsewhere."""
    parts = loc[1:] if loc and loc[0] == "body" else loc
    for at, part in enumerate(parts):
        if isinstance(part, int):
            yield f"[{part}]"
        else:
            yield f".{part}" if at else part
