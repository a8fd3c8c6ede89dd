"""Which names this server answers to.

A page elsewhere can let its own name lead to this machine (DNS rebinding): then its requests count as its own
in the browser, and only the `Host` tells. So a name has to be a loopback one, a named one, or the very
address that the connection came to, as a health probe has it.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from falai.session.jsontext import show
from falai.web.access.authority import is_loopback, place_of_host
from falai.web.access.heads import App, Head, Receive, Send, value_of
from falai.web.access.refusing import problem, refuse

__all__ = ["Hosts"]


class Hosts:
    """ASGI: refuses what was sent to another name (421)."""

    def __init__(self, app: App, named: Sequence[str]) -> None:
        self._app = app
        self._any = "*" in named
        self._names = {place.name for name in named if (place := place_of_host(name, "http")) is not None}

    async def __call__(self, head: Head, receive: Receive, send: Send) -> None:
        if head["type"] == "lifespan" or self._knows(head):
            await self._app(head, receive, send)
            return
        said = show(value_of(head, b"host"))
        why = f"The request went to {said}, and this server has no such name. If it is its name, its operator names it in `hosts`."
        await refuse(head, receive, send, problem("bad-host", why))

    def _knows(self, head: Head) -> bool:
        host = value_of(head, b"host")
        place = None if host is None else place_of_host(host, "http")
        if place is None:
            return False
        return self._any or place.name in self._names or is_loopback(place.name) or place.name == _address(head)


def _address(head: Head) -> str | None:
    """Where the connection came to; a name there is nothing that a socket knows."""
    server = head.get("server")
    try:
        return str(ip_address(server[0])) if server else None
    except ValueError:
        return None
