"""What the web can be told: its names, whose pages may call it, and how much it takes.

The defaults are closed: loopback names only, no page of another place, no proxy believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from falai.flow.durations import EXAMPLES, is_duration
from falai.session.jsontext import is_list, show
from falai.web.access.addresses import is_network
from falai.web.access.authority import is_host, is_origin
from falai.web.access.buckets import RATE_FIX, is_rate

__all__ = ["ServeSettings", "WebSettings"]

_PORTS = 65_535


@dataclass(frozen=True, kw_only=True)
class WebSettings:
    """The settings of the web. Durations are texts as authors write them: `"15s"` (F-11.1).

    Raises `ValueError` that names every setting that cannot be.
    """

    hosts: Sequence[str] = ()
    """The names by which this server is called, as `"chat.shop.example"`, beside loopback and its own address;
    `"*"`: any, where a proxy in front looks at them."""
    origins: Sequence[str] = ()
    """The pages that may call from a browser, as `"https://shop.example"`, beside those of this server itself."""
    proxies: Sequence[str] = ()
    """The addresses of the reverse proxies in front, as `"10.0.0.7"` or `"10.0.0.0/24"`; only these are believed."""
    max_body: int = 1_000_000
    """So many bytes the body of a request, or a message of a WebSocket, may have."""
    body_time: str = "20s"
    """So long a client may take to send its body."""
    rate: str = "3000 in 1m"
    """So many requests each token may make, and each address without one."""
    heartbeat: str = "15s"
    """How often an open stream says that it is alive."""

    def __post_init__(self) -> None:
        found = list(self._wrong())
        if found:
            raise ValueError(f"WebSettings: {'; '.join(found)}")

    def _wrong(self) -> Iterator[str]:
        yield from _items("hosts", self.hosts, is_host, 'a name without a port, as "chat.shop.example", or "*"')
        yield from _items("origins", self.origins, is_origin, 'a scheme and a host, as "https://shop.example"')
        yield from _items("proxies", self.proxies, is_network, 'an address or a network, as "10.0.0.0/24"')
        if type(self.max_body) is not int or self.max_body < 1:
            yield f"max_body is {show(self.max_body)}. Write a whole number of bytes, 1 or more"
        for name in ("body_time", "heartbeat"):
            if not is_duration(getattr(self, name)):
                yield f"{name} is {show(getattr(self, name))}. Write {EXAMPLES}"
        if not is_rate(self.rate):
            yield f"rate is {show(self.rate)}. {RATE_FIX}"


@dataclass(frozen=True, kw_only=True)
class ServeSettings(WebSettings):
    """The same, and where `falai serve` listens."""

    host: str = "127.0.0.1"
    """The address to listen on; beyond loopback only with a token in the store."""
    port: int = 8000
    """The port; 0: one that is free."""

    def _wrong(self) -> Iterator[str]:
        yield from super()._wrong()
        if type(self.port) is not int or not 0 <= self.port <= _PORTS:
            yield f"port is {show(self.port)}. Write a whole number, 0 to {_PORTS}"


def _items(name: str, values: Any, is_right: Callable[[str], bool], what: str) -> Iterator[str]:
    if not is_list(values):
        yield f"{name} is {show(values)}. Write a list of texts"
        return
    for at, value in enumerate(values):
        if not isinstance(value, str) or not is_right(value):
            yield f"{name}[{at}] is {show(value)}. Write {what}"
