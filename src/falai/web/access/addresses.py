"""Where a request comes from. What a proxy says of that counts only if the proxy is a named one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any

from falai.web.access.heads import Head, values_of

__all__ = ["Proxies", "is_network", "neighbourhood"]


def is_network(text: str) -> bool:
    """Whether this is an address, or a network."""
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=1024)
def neighbourhood(address: str) -> str:
    """What is counted as one: an address, and of IPv6 the network of a site, of which one client has all."""
    found = _parsed(address)
    return str(ip_network((found, 64), strict=False)) if isinstance(found, IPv6Address) else address


class Proxies:
    """The proxies that are believed."""

    def __init__(self, named: Sequence[str]) -> None:
        self._networks = [ip_network(one) for one in named]

    def client(self, head: Head) -> str:
        """The address of the client: the last one on its way that is no named proxy."""
        address = _peer(head)
        for one in reversed(_list(head, b"x-forwarded-for")):
            if not self._knows(address) or _parsed(one) is None:
                break
            address = one
        return address

    def scheme(self, head: Head) -> str:
        """`http` or `https`, as the client sees it."""
        said = _list(head, b"x-forwarded-proto")
        if said and self._knows(_peer(head)) and said[-1] in ("http", "https"):
            return said[-1]
        return "https" if head.get("scheme") in ("https", "wss") else "http"

    def _knows(self, address: str) -> bool:
        found = _parsed(address)
        return found is not None and any(found in network for network in self._networks)


def _peer(head: Head) -> str:
    client: Any = head.get("client")
    return str(client[0]) if client else ""


def _list(head: Head, name: bytes) -> list[str]:
    return [part.strip().lower() for value in values_of(head, name) for part in value.split(",")]


def _parsed(address: str) -> IPv4Address | IPv6Address | None:
    """Without the zone; one of IPv4 that was written as IPv6 is that of IPv4."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return (found.ipv4_mapped or found) if isinstance(found, IPv6Address) else found
