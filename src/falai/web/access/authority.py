"""Who a request says it is for: the forms of a `Host` and of an `Origin`, and when two of them are the same place."""

from __future__ import annotations

import re
from functools import lru_cache
from ipaddress import ip_address
from typing import Final, NamedTuple

__all__ = ["LOOPBACK", "Place", "is_host", "is_loopback", "is_origin", "place_of_host", "place_of_origin"]

LOOPBACK: Final = "localhost"
_AUTHORITY: Final = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252}))(?::([0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"(https?)://([^/?#@\\\s]+)", re.IGNORECASE)
_PORTS: Final = {"http": 80, "https": 443}


class Place(NamedTuple):
    """Where a page or a server is; two that are equal are the same origin."""

    scheme: str
    name: str
    port: int


@lru_cache(maxsize=256)  # a server has few names, and an address in it takes its time
def place_of_host(text: str, scheme: str) -> Place | None:
    """Where a request went that had this `Host`; `None` when it is none."""
    found = _AUTHORITY.fullmatch(text)
    name = None if found is None else _name(found[1])
    if found is None or name is None:
        return None
    return Place(scheme, name, int(found[2]) if found[2] else _PORTS.get(scheme, 0))


def place_of_origin(text: str) -> Place | None:
    """Where a page is from that has this `Origin`; `None` for `null` and for what is no page of the web."""
    found = _ORIGIN.fullmatch(text)
    return None if found is None else place_of_host(found[2], found[1].lower())


@lru_cache(maxsize=256)  # likewise
def is_loopback(name: str) -> bool:
    """Whether this name, as a `Place` has it, leads nowhere but to this machine."""
    if name == LOOPBACK:
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def is_host(text: str) -> bool:
    """Whether this can stand in a list of hosts."""
    place = place_of_host(text, "http")
    return text == "*" or (place is not None and not re.search(r":[0-9]+$", text.rpartition("]")[2]))


def is_origin(text: str) -> bool:
    """Whether this can stand in a list of origins."""
    return place_of_origin(text) is not None


def _name(text: str) -> str | None:
    """In small letters, without the point at the end, an address in its one short form."""
    name = text.lower().removesuffix(".")
    try:
        return str(ip_address(name.strip("[]")))
    except ValueError:
        return None if name.startswith("[") else name or None
