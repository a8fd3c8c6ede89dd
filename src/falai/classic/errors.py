"""What goes wrong in the front of version 3, beside the errors of the core (D-83).

    FalaiError                       never raised itself
    ├── DataValidationError          the author's: a handler wrote what the schema does not allow
    ├── ResponseGenerationError      a turn failed; its cause says why
    ├── ToolExecutionError           the author's: a tool used as a hook failed
    ├── ToolCreationError            the host's own: a tool could not be made
    └── UnsupportedOptionError       the author's: an option asks for what is not there

`FlowConfigurationError`, `ProviderError`, `SessionConflictError` and `InvalidSessionError` come
out of a turn as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from falai.errors import FalaiError, words_of
from falai.model.redaction import without_secrets
from falai.session.jsontext import quoted, show

__all__ = [
    "DataProblem", "DataValidationError", "Phase", "ResponseGenerationError", "ToolCreationError",
    "ToolExecutionError", "UnsupportedOptionError",
]  # fmt: skip

Phase = Literal[
    "preparation", "step_preparation", "routing", "response_generation", "completion", "signals", "streaming",
    "finalize",
]  # fmt: skip
"""Where in a turn a `ResponseGenerationError` came from."""


@dataclass(frozen=True, slots=True)
class DataProblem:
    """One value that does not fit: the field, the value, why, and the place in the schema (D-83)."""

    field: str
    value: Any
    message: str
    schema_path: str

    def to_wire(self) -> dict[str, Any]:
        """`{field, value, message, schemaPath}`."""
        return {"field": self.field, "value": self.value, "message": self.message, "schemaPath": self.schema_path}


class DataValidationError(FalaiError):
    """The data writes of one phase do not fit the schema; nothing was written (D-56).

    `errors` has every value that does not fit, `emitters` who wrote in that phase, in order.
    """

    def __init__(self, errors: Sequence[DataProblem], emitters: Sequence[str] = ()) -> None:
        self.errors = tuple(errors)
        self.emitters = tuple(emitters)
        by = f", written by {', '.join(self.emitters)}" if self.emitters else ""
        why = "; ".join(f"{quoted(problem.field)} {problem.message}" for problem in self.errors)
        super().__init__(f"[DataValidationError] data{by}: {why}. Nothing was written; write what the schema allows.")


class ResponseGenerationError(FalaiError):
    """A turn failed for a reason without an error of its own; it had no effect (D-30, D-83).

    `cause` is the original exception, `details` has `originalError` and `phase`.
    """

    def __init__(self, cause: BaseException, phase: Phase) -> None:
        self.cause = cause
        self.__cause__ = cause
        self.phase: Phase = phase
        self.details: Mapping[str, Any] = {"originalError": cause, "phase": phase}
        why = f"{type(cause).__name__}: {without_secrets(words_of(cause))}"
        super().__init__(
            f"[ResponseGenerationError] {phase}: {why}. Nothing was saved; see `cause`, and repeat the message."
        )

    @property
    def retryable(self) -> bool:
        """As the cause says of itself; a cause that says nothing will come again."""
        return isinstance(self.cause, FalaiError) and self.cause.retryable


class ToolExecutionError(FalaiError):
    """A tool that serves as a hook failed (D-80); `tool_id` names it."""

    def __init__(self, tool_id: str, why: str) -> None:
        self.tool_id = tool_id
        words = without_secrets(why)
        super().__init__(
            f"[ToolExecutionError] tool {quoted(tool_id)}: {words}. Mend the tool, or take it off the hook."
        )


class ToolCreationError(FalaiError):
    """A tool could not be made. Nothing here raises it: it is for hosts that make tools of their own."""

    def __init__(self, tool_id: str, why: str) -> None:
        self.tool_id = tool_id
        super().__init__(f"[ToolCreationError] tool {quoted(tool_id)}: {why}. Mend what the tool is made of.")


class UnsupportedOptionError(FalaiError, NotImplementedError):
    """An option has a value that version 3 announced and nobody has built (D-9)."""

    def __init__(self, option: str, value: object, supported: str) -> None:
        self.option = option
        self.value = value
        super().__init__(
            f"[UnsupportedOptionError] {option}: {show(value)} is not implemented. Write {supported}, or leave it out."
        )
