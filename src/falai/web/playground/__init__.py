"""The playground: a page on which one talks to an agent, sees why it does what it does, and tries what else it could do.

A sandbox in a temporary folder; nothing of it leaves. Each conversation is a branch with a ledger of its own, which
a `Host` plays a bit at a time: `branch` says what can happen, `playing` how it is played, `keeping` how it stands on
disk, so that another branch can begin at any turn. `staging` puts the agent on a movable clock and a model that can
be switched. `state` and `telling` are what the page shows, `app` the addresses, `page/` the page itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from falai.web.playground.app import create_playground

__all__ = ["create_playground"]

_HOMES = {"create_playground": "falai.web.playground.app"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
