"""Sessions in Redis, each a hash (P-45 to P-53), over redis-py's asynchronous client; Valkey's has the same methods.

A save is one script on one key: nothing comes between its check and its write, and it runs on a
cluster. A scan goes by the server's own cursor, which finds every key that is there the whole time,
in no order, and some of them twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime
from hashlib import sha1
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import urlsplit

from falai.errors import InvalidSessionError, SessionConflictError
from falai.session.check import is_whole
from falai.session.dates import iso, system_now, to_ms
from falai.session.jsontext import is_list, show
from falai.session.model import Session
from falai.store.contract import Page, Store
from falai.store.row import check_id, check_scan, read_page, read_row, to_row

if TYPE_CHECKING:
    from redis.asyncio import Redis, RedisCluster

__all__ = ["RedisStore", "from_url"]

_WEEK = 7 * 24 * 60 * 60
_LOOK = 100  # keys in one look of a scan: few would take many looks, many would hold up the server
_LONGEST = 10**15  # a later end is no time to Redis: the script would fail after it has written

_SAVE = """
local stored = redis.call('HGET', KEYS[1], 'version')
if ARGV[1] == '0' then
  if stored then return stored end
elseif stored ~= ARGV[1] then
  return stored or 'missing'
end
redis.call('HSET', KEYS[1], 'version', ARGV[2], 'blob', ARGV[3], 'updatedAt', ARGV[4])
redis.call('HSETNX', KEYS[1], 'createdAt', ARGV[4])
if ARGV[5] == '0' then
  redis.call('PERSIST', KEYS[1])
else
  redis.call('EXPIRE', KEYS[1], ARGV[5])
end
return false
"""  # `false` is Redis' way to give nothing back
_DIGEST = sha1(_SAVE.encode(), usedforsecurity=False).hexdigest()


class RedisStore(Store):
    """Sessions at the keys `<key_prefix>session:<id>`, each until `session_ttl` seconds after its last save.

    With a `session_ttl` of 0 they stay for ever. One that has expired is gone with its waits and its
    claims, so a host whose flows wait sets a time above the longest wait; an eviction policy that may
    evict these keys has the same effect (P-50).

    `clock` dates `createdAt` and `updatedAt`. Raises `ValueError` when `session_ttl` is no whole
    number of 0 or more (P-51).
    """

    def __init__(
        self,
        redis: Redis | RedisCluster,
        *,
        key_prefix: str = "agent:",
        session_ttl: int = _WEEK,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        if not is_whole(session_ttl) or session_ttl > _LONGEST:
            raise ValueError(
                f"session_ttl is {show(session_ttl)}; it must be a whole number of seconds, 0 for ever"
                f" or up to {_LONGEST:,}"
            )
        # Of a cluster and a single server the same few methods are called, and a stand-in needs no others (P-22).
        self._redis = cast(Any, redis)
        self._prefix = f"{key_prefix}session:"
        self._ttl = str(int(session_ttl))
        self._clock = clock or system_now

    async def load(self, id: str) -> Session | None:
        id = check_id(id)
        key = self._prefix + id
        try:
            row = await self._redis.hgetall(key)
        except UnicodeDecodeError:
            raise InvalidSessionError(id, "what is stored is no text in UTF-8") from None
        except Exception as error:
            if _is(error, "WRONGTYPE"):
                raise await self._no_hash(id, key) from error
            raise
        return read_row(id, *_columns(row)) if row else None

    async def save(self, session: Session, expected_version: int) -> Session:
        fresh, blob = to_row(session, expected_version)
        expected = fresh.version - 1
        now = iso(to_ms(self._clock()))
        found = await self._run_script(self._prefix + fresh.id, str(expected), str(fresh.version), blob, now, self._ttl)
        if found is not None:
            raise _conflict(fresh.id, expected, _text(found))
        return fresh

    async def scan(self, after: str | None = None, limit: int = 100) -> Page:
        """As `Store.scan`, which on Redis looks at all keys of the database, those of others too.

        On a cluster one primary comes after the other; a key that moves to another one meanwhile may
        be missed. Raises `ValueError` for a position that no scan of this store gave.
        """
        check_scan(after, limit)
        place = _Place.read(after) if after is not None else _Place()
        while len(place.found) < limit and not place.end:
            place = await self._look_further(place, max(limit, _LOOK))
        page = await self._read([key.encode("utf-8", "surrogateescape") for key in place.found[:limit]])
        return page._replace(after=place._replace(found=place.found[limit:]).text)

    async def delete(self, id: str) -> bool:
        return bool(await self._redis.delete(self._prefix + check_id(id)))

    async def initialize(self) -> None:
        """Nothing needs to be created (P-53)."""

    async def disconnect(self) -> None:
        await self._redis.aclose()

    async def _run_script(self, *call: str) -> Any:
        """By digest; in full when the server does not know it, which then keeps it (P-49)."""
        try:
            return await self._redis.evalsha(_DIGEST, 1, *call)
        except Exception as error:
            if not _is(error, "NOSCRIPT"):
                raise
        return await self._redis.eval(_SAVE, 1, *call)

    async def _no_hash(self, id: str, key: str) -> InvalidSessionError:
        """What is at the key instead (P-52)."""
        kind = _text(await self._redis.type(key))
        return InvalidSessionError(id, f"the key {show(key)} holds a {kind} where a session is a hash")

    async def _look_further(self, place: _Place, count: int) -> _Place:
        """One look of the server's scan at about so many keys; of ours it may find all, some or none."""
        servers = await self._servers()
        if place.server >= len(servers):
            return place._replace(end=True)
        asked = ("SCAN", place.cursor, "MATCH", _literally(self._prefix) + b"*", "COUNT", count)
        answer = await servers[place.server].execute_command(*asked, NEVER_DECODE=True)
        cursor, keys = int(answer[0]), [key.decode("utf-8", "surrogateescape") for key in answer[1]]
        server = place.server if cursor else place.server + 1
        return _Place(server, cursor, list(dict.fromkeys(place.found + keys)), end=server == len(servers))

    async def _servers(self) -> list[Any]:
        """Those that have keys of their own: the primaries of a cluster, or the one server."""
        if not hasattr(self._redis, "get_primaries"):
            return [self._redis]
        await self._redis.initialize()
        return sorted(self._redis.get_primaries(), key=lambda node: str(node.name))

    async def _read(self, keys: list[bytes]) -> Page:
        """The rows at these keys, those that are still there, as bytes: a text that is none hides no other row."""
        pipeline = self._redis.pipeline(transaction=False)
        for key in keys:
            pipeline.execute_command("HGETALL", key, NEVER_DECODE=True)
        answers: list[Any] = await pipeline.execute(raise_on_error=False)
        page = Page([], [], None)
        for key, answer in zip(keys, answers, strict=True):
            found = await self._read_one(key.decode("utf-8", "replace"), answer)
            page.sessions.extend(found.sessions)
            page.bad.extend(found.bad)
        return page

    async def _read_one(self, key: str, answer: Any) -> Page:
        """One row as a page: it may be gone, or bad."""
        id = key.removeprefix(self._prefix)
        if _is(answer, "WRONGTYPE"):
            return Page([], [await self._no_hash(id, key)], None)
        if isinstance(answer, Exception):
            raise answer
        return read_page([(id, *_columns(answer))] if answer else [], None)


class _Place(NamedTuple):
    """A position: where the server's scan goes on, and the keys that it has found beyond the last page."""

    server: int = 0
    cursor: int = 0
    found: list[str] = []  # noqa: RUF012 - never changed
    end: bool = False

    @property
    def text(self) -> str | None:
        if self.end and not self.found:
            return None
        return json.dumps(self)

    @classmethod
    def read(cls, text: str) -> _Place:
        try:
            server, cursor, found, end = json.loads(text)
            if is_list(found) and is_whole(server) and is_whole(cursor):
                return cls(int(server), int(cursor), [str(key) for key in found], bool(end))
        except (TypeError, ValueError):
            pass
        raise ValueError(f"after is {show(text)}; it must be the `after` of the page before, or None for the first")


def _columns(row: Mapping[Any, Any]) -> tuple[object, Any]:
    """Version and blob, of a client that decodes or of one that does not (P-46)."""
    version = row.get("version", row.get(b"version"))
    return _number(_text(version)) if version is not None else None, row.get("blob", row.get(b"blob"))


def _conflict(id: str, expected: int, found: str) -> SessionConflictError | InvalidSessionError:
    """What the script's answer means (P-48)."""
    if found == "missing":
        return SessionConflictError(id, expected, None)
    version = _number(found)
    if isinstance(version, int):
        return SessionConflictError(id, expected, version)
    return InvalidSessionError(id, f"the field version holds {show(found)}, which is no number")


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() and len(text) < 100 else text


def _text(value: str | bytes) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _is(error: object, code: str) -> bool:
    """Whether this is the server's error of that code.

    The driver gives some errors a class of their own and takes the code out of their words. It is
    not imported for that: Valkey's has classes of the same names.
    """
    if not isinstance(error, Exception):
        return False
    return str(error).startswith(code) or (code == "NOSCRIPT" and type(error).__name__ == "NoScriptError")


def _literally(prefix: str) -> bytes:
    """The pattern that matches this text: what means something in a pattern is escaped."""
    return "".join(f"\\{letter}" if letter in "*?[]^\\" else letter for letter in prefix).encode()


def from_url(address: str, **options: Any) -> RedisStore:
    """The store of `redis://…`, `rediss://…` or `unix://…`.

    Of more tasks than connections (`?max_connections=`, 50 unless it says otherwise) the last ones
    wait, and after 20 seconds get the driver's error. What fails is not tried again by the driver:
    a script whose answer was lost would run a second time, and take its own first run for another
    writer's. A connection that was closed while nobody used it is seen before it is used, which the
    driver does only without the notices that some servers send of their maintenance.

    Raises `ValueError` when the path is no number of a database: the driver would take the first one.
    """
    from redis.asyncio import BlockingConnectionPool, Redis  # the driver is an extra
    from redis.asyncio.retry import Retry
    from redis.backoff import NoBackoff
    from redis.maint_notifications import MaintNotificationsConfig

    parts = urlsplit(address)
    if parts.scheme != "unix" and not re.fullmatch("/?[0-9]*", parts.path):
        raise ValueError("the path of a Redis URL is the number of a database: redis://host:6379/0")
    careful = {"retry": Retry(NoBackoff(), 0), "maint_notifications_config": MaintNotificationsConfig(enabled=False)}
    pool = cast(Any, BlockingConnectionPool).from_url(address, **careful)
    return RedisStore(Redis.from_pool(pool), **options)
