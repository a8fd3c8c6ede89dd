"""What handlers of tools and of signals have in common: a view of their own, and what they want (D-44, D-72).

What a handler wants written and done happens once it has succeeded; until then only it sees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any

from falai.classic.directive import Directive
from falai.classic.state import TurnState
from falai.classic.writing import check_data
from falai.flow.places import is_object

__all__ = ["HandlerContext", "Wants"]


@dataclass(slots=True)
class Wants:
    """What one call of a handler wants written and done, in its order; nothing of it has happened yet."""

    state: TurnState
    emitter: str
    data: dict[str, Any] = field(default_factory=dict[str, Any])
    context: dict[str, Any] = field(default_factory=dict[str, Any])
    directives: list[Any] = field(default_factory=list[Any])


@dataclass(slots=True, kw_only=True)
class HandlerContext:
    """What a handler sees and may write.

    `data` and `context` show what was written before, and what this handler writes; others see that
    once it has succeeded.
    """

    context: Any
    data: dict[str, Any]
    history: Sequence[Mapping[str, Any]]
    _wants: Wants

    def update_data(self, patch: Mapping[str, Any]) -> None:
        """Merges values into `data`. Raises `DataValidationError` when they do not fit the schema (D-46)."""
        check_data(self._wants.state, patch, [self._wants.emitter])
        self.data |= patch
        self._wants.data |= patch

    def update_context(self, patch: Mapping[str, Any]) -> None:
        """Merges values into the context; an object that is no mapping gets attributes."""
        self.context = _laid_over(self.context, patch)
        self._wants.context |= patch

    def dispatch(self, directive: Directive | Mapping[str, Any] | None) -> None:
        """Emits a directive, which comes before the one that the handler returns; `None` is none."""
        if directive is not None:
            self._wants.directives.append(directive)


def _laid_over(context: Any, patch: Mapping[str, Any]) -> Any:
    """The context as its writer sees it; nobody else's is changed."""
    if context is None or is_object(context):
        return {**(context or {}), **patch}
    changed = copy(context)
    for name, value in patch.items():
        setattr(changed, name, value)
    return changed
