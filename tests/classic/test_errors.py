"""The errors of the 3.x front are data: each carries what a host needs to act on (D-9, D-83)."""

from __future__ import annotations

import inspect
import re

import pytest

from falai import FalaiError, ProviderError
from falai.classic import (
    DataValidationError,
    ResponseGenerationError,
    ToolCreationError,
    ToolExecutionError,
    UnsupportedOptionError,
    errors,
)
from falai.classic.errors import DataProblem


def test_the_file_draws_its_family_tree() -> None:
    """The docstring shows every class of the file, and each is an error of falai."""
    drawn = re.findall(r"^ +[├└]── (\w+Error) ", errors.__doc__ or "", re.MULTILINE)
    own = [n for n, v in vars(errors).items() if inspect.isclass(v) and v.__module__ == errors.__name__]
    assert drawn == [name for name in own if name.endswith("Error")]
    assert all(issubclass(getattr(errors, name), FalaiError) for name in drawn)


def test_data_that_does_not_fit_names_fields_and_emitters() -> None:
    """D-56: every value with its field, why, and the place in the schema; and who wrote."""
    wrong = DataProblem("age", "ten", "is no number", "properties.age.type")
    error = DataValidationError([wrong, DataProblem("size", 1, "is no field", "properties")], ["tool:crm", "pending"])
    assert [problem.field for problem in error.errors] == ["age", "size"]
    assert wrong.to_wire() == {
        "field": "age",
        "value": "ten",
        "message": "is no number",
        "schemaPath": "properties.age.type",
    }
    assert error.emitters == ("tool:crm", "pending")
    assert str(error) == (
        '[DataValidationError] data, written by tool:crm, pending: "age" is no number; "size" is no field. '
        "Nothing was written; write what the schema allows."
    )
    assert not error.retryable


def test_a_failed_turn_has_its_cause() -> None:
    """D-83: `cause` is the original, `details` has it with the phase, and a retry helps when it helps the cause."""
    cause = KeyError("x")
    error = ResponseGenerationError(cause, "step_preparation")
    assert error.cause is error.__cause__ is cause
    assert error.details == {"originalError": cause, "phase": "step_preparation"}
    assert str(error).startswith("[ResponseGenerationError] step_preparation: KeyError: 'x'. ")
    assert not error.retryable
    assert ResponseGenerationError(ProviderError("slow", kind="timeout"), "routing").retryable


def test_an_error_quotes_no_key() -> None:
    """What an author's function raises may hold one; the exception itself has it still."""
    cause = ValueError("401 for https://crm.example/?key=abcdef123456")
    for error in (ResponseGenerationError(cause, "preparation"), ToolExecutionError("crm", str(cause))):
        assert "https://crm.example/?key=[secret]" in str(error)


@pytest.mark.parametrize("kind", [ToolExecutionError, ToolCreationError])
def test_a_tool_is_named(kind: type[ToolExecutionError | ToolCreationError]) -> None:
    """The id is in the message and on the error."""
    error = kind("crm", "it is closed")
    assert error.tool_id == "crm"
    assert str(error).startswith(f'[{kind.__name__}] tool "crm": it is closed. ')


def test_what_is_not_built_is_pythons_own_error_too() -> None:
    """D-9: a subclass of NotImplementedError that names option and value."""
    error = UnsupportedOptionError("routerMode", "rules", '"ai"')
    assert isinstance(error, NotImplementedError)
    assert str(error) == '[UnsupportedOptionError] routerMode: "rules" is not implemented. Write "ai", or leave it out.'
