"""Turns for real: a durable inbox, one turn of a session at a time, an outbox, timers, a gate for people.

`Host` is the one class. Everything that it keeps is in a ledger, one transaction for each step, so
that a process may die at any moment: what was taken in is played, what was committed is sent, and
what was neither never leaves the host (B-16, B-17). The parts, one file each:

    inputs ▸ inbox ▸ turning ▸ outbox ▸ delivering        dispatching says which session is next
                        ▲                                 timing turns due wakes into inputs
                    gating, windows                       journal keeps the model's choices
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from falai.host.answering import Answered
    from falai.host.callables import Turning
    from falai.host.campaigning import Planned, Recipient
    from falai.host.errors import HostBusyError, HostError, OverloadedError, SetAsideError
    from falai.host.gating import hand_over
    from falai.host.host import Host
    from falai.host.looking import Look, Status
    from falai.host.metrics import to_prometheus
    from falai.host.receiving import Received
    from falai.host.settings import Keep, Settings
    from falai.host.shards import Shards
    from falai.host.watching import Changed, Seen, SetAside, Turned, Withdrawn, Words
    from falai.host.windows import SendingWindow, Windows

__all__ = [
    "Answered", "Changed", "Host", "HostBusyError", "HostError", "Keep", "Look", "OverloadedError", "Planned", "Received",
    "Recipient", "Seen", "SendingWindow", "SetAside", "SetAsideError", "Settings", "Shards", "Status", "Turned",
    "Turning", "Windows", "Withdrawn", "Words", "hand_over", "to_prometheus",
]  # fmt: skip

# The files below import their package: names are looked up when they are asked for.
_HOMES = {
    "Answered": "falai.host.answering",
    "Changed": "falai.host.watching",
    "Host": "falai.host.host",
    "HostBusyError": "falai.host.errors",
    "HostError": "falai.host.errors",
    "Keep": "falai.host.settings",
    "Look": "falai.host.looking",
    "OverloadedError": "falai.host.errors",
    "Planned": "falai.host.campaigning",
    "Received": "falai.host.receiving",
    "Recipient": "falai.host.campaigning",
    "Seen": "falai.host.watching",
    "SendingWindow": "falai.host.windows",
    "SetAside": "falai.host.watching",
    "SetAsideError": "falai.host.errors",
    "Settings": "falai.host.settings",
    "Shards": "falai.host.shards",
    "Status": "falai.host.looking",
    "Turned": "falai.host.watching",
    "Turning": "falai.host.callables",
    "Windows": "falai.host.windows",
    "Withdrawn": "falai.host.watching",
    "Words": "falai.host.watching",
    "hand_over": "falai.host.gating",
    "to_prometheus": "falai.host.metrics",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
