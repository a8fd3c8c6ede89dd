"""Where old rows come from, by URL: the same URLs as those of the stores, and files of JSON lines.

A place is only read. Its rows come page by page, in short reads, so that the old system can go on
meanwhile; a page says where the next one begins.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

from falai.cli.loading import LoadError
from falai.cli.migrating.rows import OldPage
from falai.cli.urls import hosts

__all__ = ["Address", "OldPlace", "old_place", "same_place", "split"]

_FILES = (".db", ".sqlite", ".sqlite3")
_PORTS = {"postgresql": 5432, "mysql": 3306, "redis": 6379, "mongodb": 27017, "opensearch": 9200}
_HOME: dict[str, str] = dict.fromkeys(("127.0.0.1", "::1", ""), "localhost")
_FAMILIES = {
    "postgres": "postgresql",
    "rediss": "redis",
    "unix": "redis",
    "mariadb": "mysql",
    "opensearchs": "opensearch",
}
_EXTRAS = {"postgresql": "postgres", "mongodb": "mongo"}
_OPTIONS = ("table", "collection", "index", "prefix", "ttl", "refresh")


class OldPlace(Protocol):
    """Rows of sessions, whatever wrote them."""

    async def count(self) -> int | None:
        """How many rows there are, when that can be told at once."""
        ...

    def pages(self, after: str | None) -> AsyncGenerator[OldPage, None]:
        """All rows, or those behind a position; every row that is there the whole time at least once."""
        ...

    async def close(self) -> None: ...


class Address(NamedTuple):
    """A URL without what is for us, and that."""

    family: str
    url: str
    options: dict[str, str]

    @property
    def table(self) -> str:
        """The table, collection or index."""
        named = (self.options.get(name) for name in ("table", "collection", "index"))
        return next(filter(None, named), "agent_sessions")

    @property
    def prefix(self) -> str:
        return self.options.get("prefix", "agent:")

    @property
    def path(self) -> str:
        """Of a file."""
        return unquote(re.sub(r"^sqlite[^:]*:(///)?", "", self.url, flags=re.IGNORECASE))


def split(url: str) -> Address:
    """The parts of a URL, or of a path."""
    if ":" not in url and url.endswith((*_FILES, ".jsonl")):
        return Address("jsonl" if url.endswith(".jsonl") else "sqlite", url, {})
    address, _, query = url.partition("?")
    pieces = [piece for piece in query.split("&") if piece]
    ours = [piece for piece in pieces if piece.partition("=")[0] in _OPTIONS]
    rest = "&".join(piece for piece in pieces if piece not in ours)
    scheme = url.partition(":")[0].lower().partition("+")[0]
    return Address(
        _FAMILIES.get(scheme, scheme),
        f"{address}?{rest}" if rest else address,
        dict(parse_qsl("&".join(ours), keep_blank_values=True)),
    )


def same_place(one: str, other: str) -> bool:
    """Whether two URLs name one place, as far as that can be told from them. Raises `LoadError` for what is no URL."""
    return _identity(split(one)) == _identity(split(other))


def _identity(address: Address) -> tuple[object, ...]:
    if address.family in ("sqlite", "jsonl"):
        return (address.family, os.path.realpath(address.path), address.table.lower())
    port = str(_PORTS.get(address.family, ""))
    servers = {(_HOME.get(host.lower(), host.lower()), given or port) for host, given in hosts(address.url)}
    part = address.prefix if address.family == "redis" else address.table
    base = urlsplit(address.url).path.strip("/") or ("0" if address.family == "redis" else "")
    return (address.family, servers, base, part)


def old_place(url: str) -> OldPlace:
    """The place of a URL; nothing is opened before it is read.

    Raises `LoadError` for one whose rows cannot be read, or whose driver is not installed.
    """
    address = split(url)
    if address.family in ("sqlite", "jsonl") and "+" not in url.partition(":")[0]:
        if not Path(address.path).is_file():
            raise LoadError(f"there is no file {address.path}")
        return _file(address)
    try:
        return _server(url, address)
    except ModuleNotFoundError as error:
        raise LoadError(_missing(url, address, (error.name or "a driver").partition(".")[0])) from error


def _missing(url: str, address: Address, module: str) -> str:
    """Says what to install; a dialect of SQLAlchemy names its driver behind the `+`."""
    dialect = url.partition(":")[0].partition("+")[2]
    extra = "sqlalchemy" if dialect else _EXTRAS.get(address.family, address.family)
    driver = f" {module}" if module == dialect.lower() else ""
    return f'rows of {address.family} need {module}: pip install "falai[{extra}]"{driver}'


def _file(address: Address) -> OldPlace:
    # Each driver is imported where it is used: most are extras.
    if address.family == "jsonl":
        from falai.cli.migrating.jsonl import JSONLines

        return JSONLines(address)
    from falai.cli.migrating.sqlite import SQLiteRows

    return SQLiteRows(address)


def _server(url: str, address: Address) -> OldPlace:
    if address.family == "mongodb":
        from falai.cli.migrating.mongo import MongoRows

        return MongoRows(address)
    if "+" in url.partition(":")[0]:
        from falai.cli.migrating.sqlalchemy import SQLAlchemyRows

        return SQLAlchemyRows(address)
    if address.family == "postgresql":
        from falai.cli.migrating.postgres import PostgresRows

        return PostgresRows(address)
    if address.family == "redis":
        from falai.cli.migrating.redis import RedisRows

        return RedisRows(address)
    if address.family == "opensearch":
        from falai.cli.migrating.opensearch import OpenSearchRows

        return OpenSearchRows(address)
    raise LoadError(
        "rows are read from sqlite, postgresql, redis, mongodb, opensearch, a dialect+driver of SQLAlchemy, a path"
        f" that ends in {' or '.join(_FILES)}, and a file of JSON lines, .jsonl; this URL is of none of these"
    )
