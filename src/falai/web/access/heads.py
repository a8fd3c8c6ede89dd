"""The head of a request as ASGI gives it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

__all__ = ["App", "Head", "Message", "Receive", "Send", "value_of", "values_of"]

# The types of ASGI, where Starlette is not to be imported. Its `Scope` is a `Head` here: a scope is what a token has.
Head = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Head, Receive, Send], Awaitable[None]]


def values_of(head: Head, name: bytes) -> list[str]:
    """The values of all headers of this name, in order."""
    return [value.decode("latin-1") for key, value in head["headers"] if key == name]


def value_of(head: Head, name: bytes) -> str | None:
    """The value of the one header of this name; `None` when there is none, or more than one."""
    found = values_of(head, name)
    return found[0] if len(found) == 1 else None
