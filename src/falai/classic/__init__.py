"""The front of version 3 on the same core: `Directive`, and the namespace `flow` that merges and checks them.

This room stands beside the others and may import all of them; nothing imports it (10-directives).
A definition is looked at in its wire form: objects of this room, and mappings with wire names or
their snake_case, all become that.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from falai.classic import flow
    from falai.classic.directive import Directive
    from falai.classic.errors import (
        DataValidationError,
        ResponseGenerationError,
        ToolCreationError,
        ToolExecutionError,
        UnsupportedOptionError,
    )

__all__ = [
    "DataValidationError", "Directive", "ResponseGenerationError", "ToolCreationError", "ToolExecutionError",
    "UnsupportedOptionError", "flow",
]  # fmt: skip

_HOMES: Final = {"Directive": "directive"}


def __getattr__(name: str) -> Any:
    """Loads what is asked for only then."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name == "flow":
        return import_module("falai.classic.flow")
    return getattr(import_module(f"falai.classic.{_HOMES.get(name, 'errors')}"), name)
