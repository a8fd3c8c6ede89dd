"""A store from a URL: the scheme says which, and its own `from_url` reads the rest.

A `from_url` gets the address, without the options that the table lists, and those as keyword
arguments. It makes the client and opens nothing: the store does so when it is entered, and closes
what it has opened. What is wrong is said without the URL, which may hold a password.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, unquote

from falai.store.contract import Store

__all__ = ["store_from_url"]


class _Home(NamedTuple):
    """Where the stores of a scheme are made."""

    module: str
    extra: str = ""
    options: Mapping[str, str] = {}
    """What may stand behind the `?`: its name there → the keyword argument of `from_url`."""


_TABLE = {"table": "table"}
_MEMORY = _Home("falai.store.memory")
_SQLITE = _Home("falai.store.sqlite", options=_TABLE)
_SQLALCHEMY = _Home("falai.store.sqlalchemy_store", "sqlalchemy", _TABLE)
_POSTGRES = _Home("falai.store.postgres", "postgres", _TABLE)
_MONGO = _Home("falai.store.mongo", "mongo", {"collection": "collection"})
_OPENSEARCH = _Home("falai.store.opensearch", "opensearch", {"index": "index", "refresh": "refresh"})
_REDIS = _Home("falai.store.redis", "redis", {"prefix": "key_prefix", "ttl": "session_ttl"})

_DIALECTS = "dialect+driver"  # any scheme with a + that has no line of its own
_HOMES: dict[str, _Home] = {
    _DIALECTS: _SQLALCHEMY,
    "memory": _MEMORY,
    "mongodb": _MONGO,
    "mongodb+srv": _MONGO,
    "opensearch": _OPENSEARCH,
    "opensearchs": _OPENSEARCH,
    "postgres": _POSTGRES,
    "postgresql": _POSTGRES,
    "redis": _REDIS,
    "rediss": _REDIS,
    "sqlite": _SQLITE,
    "unix": _REDIS,
}
_FILES = (".db", ".sqlite", ".sqlite3")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_SHORT = 3  # a shorter piece of a password is in any sentence by chance


def store_from_url(url: str, **options: Any) -> Store:
    """The store that a URL names: `sqlite:///sessions.db`, `memory:`, or a path that ends in `.db` or `.sqlite`.

    What the store's constructor takes by keyword may be given here too, and wins over the URL.
    Nothing is opened or connected: `async with` does that, or `initialize()`, and `disconnect()`
    closes it.

    Raises `ValueError` for a URL that names no store or has a wrong part, `ImportError` with the
    command to run when the store's driver is not installed. No message shows a password.
    """
    scheme, home = _home(url)
    address, given = _split(url, home.options)
    try:
        return _made(home, address, given | options)
    except ModuleNotFoundError as error:
        raise _missing(scheme, home, error) from error
    except Exception as error:
        if _tells(error, url):
            raise ValueError(
                f"the {scheme} URL cannot be read ({type(error).__name__}; its words are left out, since they show"
                " a part of the user name or password). A / ? # @ or : inside those is written %2F %3F %23 %40 %3A"
            ) from None
        raise


def _home(url: str) -> tuple[str, _Home]:
    if "://" not in url and url.endswith(_FILES):
        return "sqlite", _SQLITE
    found = _SCHEME.match(url)
    scheme = found[1].lower() if found else ""
    home = _HOMES.get(scheme) or (_HOMES.get(_DIALECTS) if "+" in scheme else None)
    if home is None:
        known = ", ".join(sorted(_HOMES))
        what = f"the scheme {scheme} is of no store" if scheme else "the URL of a store begins with a scheme"
        raise ValueError(f"{what}; known are {known}, and a path that ends in {' or '.join(_FILES)} is an SQLite file")
    if home.extra and not url.startswith("://", len(scheme)):  # some drivers would take it for a server on this machine
        raise ValueError(f"the URL of a {scheme} store begins with {scheme}://")
    return scheme, home


def _split(url: str, names: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """The address without our options, and these by their keywords; the driver's stay where they are."""
    address, _, query = url.partition("?")
    ours: dict[str, Any] = {}
    rest: list[str] = []
    for piece in filter(None, query.split("&")):
        name, value = (parse_qsl(piece, keep_blank_values=True) or [("", "")])[0]
        if name in names:
            ours[names[name]] = int(value) if re.fullmatch(r"-?[0-9]{1,18}", value) and name == "ttl" else value
        else:
            rest.append(piece)
    return "?".join([address, *(["&".join(rest)] if rest else [])]), ours


def _made(home: _Home, address: str, options: dict[str, Any]) -> Store:
    return cast(Store, import_module(home.module).from_url(address, **options))


def _missing(scheme: str, home: _Home, error: ModuleNotFoundError) -> ImportError:
    """Says what to install; a dialect of SQLAlchemy names its driver behind the `+`."""
    driver = f" {error.name}" if error.name and scheme.endswith(f"+{error.name}") else ""
    return ImportError(f'a {scheme} store needs {error.name}: pip install "falai[{home.extra}]"{driver}')


def _tells(error: Exception, url: str) -> bool:
    """Whether an error's words show a part of what stands in front of the last `@`, or of a password behind the `?`."""
    rest = url.partition("://")[2]
    secrets = [rest.rpartition("@")[0], *re.findall(r"pass\w*=([^&]*)", rest, re.IGNORECASE)]
    texts = {text for secret in secrets for text in (secret, unquote(secret))}
    pieces = {piece for text in texts for piece in re.split(r"[:/?#@&=]", text)}
    return any(piece in str(error) for piece in pieces if len(piece) >= _SHORT)
