"""Who may call, from where, how much and how often.

`guard` puts the parts in their order, each plain ASGI, for WebSockets too:

    hosts ▸ origins ▸ identifying (rates, keys) ▸ bodies ▸ the routes, each with `allowed(scope)`

`headers` goes around all of it. What is closed by default is opened by `WebSettings`, never by a request:
what a proxy says counts only from one that is named (`addresses`). Routes name a session's id `session_id`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from falai.web.access.allowing import allowed, caller_of_socket
    from falai.web.access.callers import SCOPES, Caller, Scope
    from falai.web.access.guard import guarded
    from falai.web.access.headers import Headers, page_policy
    from falai.web.access.keys import Keys

__all__ = ["SCOPES", "Caller", "Headers", "Keys", "Scope", "allowed", "caller_of_socket", "guarded", "page_policy"]

_HOMES = {
    "SCOPES": "falai.web.access.callers",
    "Caller": "falai.web.access.callers",
    "Headers": "falai.web.access.headers",
    "Keys": "falai.web.access.keys",
    "Scope": "falai.web.access.callers",
    "allowed": "falai.web.access.allowing",
    "caller_of_socket": "falai.web.access.allowing",
    "guarded": "falai.web.access.guard",
    "page_policy": "falai.web.access.headers",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
