"""The HTTP API of a host, and the playground: one ASGI application, alone or within another.

`app` puts it together; `api` has the routes, one file a subject; `access` says who may do what;
`problems` is what every refusal looks like. What is heavy is imported when a name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from falai.web.app import create_app, mount
    from falai.web.page import PageChannel
    from falai.web.settings import WebSettings

__all__ = ["PageChannel", "WebSettings", "create_app", "mount"]

_HOMES = {
    "PageChannel": "falai.web.page",
    "WebSettings": "falai.web.settings",
    "create_app": "falai.web.app",
    "mount": "falai.web.app",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
