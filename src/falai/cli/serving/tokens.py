"""`falai token`: makes, lists and revokes tokens in a host's database, while the host may run.

A token is printed once, when it is made, and alone on standard output; the database has a hash of it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from falai.cli.hosted.database import check_store
from falai.cli.loading import LoadError
from falai.cli.store_access import guarded, note
from falai.cli.table import table
from falai.flow.durations import EXAMPLES, is_duration, parse_duration
from falai.host.ledger.port import Ledger
from falai.host.ledger.tokens import TokenRow, add_token, list_tokens, revoke_token
from falai.host.schema import beside_host, is_postgres, schema_of, upgrade
from falai.session.dates import iso
from falai.session.jsontext import json_text
from falai.web.access.tokens import new_token, parts_of

__all__ = ["Asked", "run_create", "run_list", "run_revoke"]

_COLUMNS = ("id", "name", "tenant", "agent", "session", "scopes", "created", "expires", "state")
_TIMES = {"created_at": "createdAt", "expires_at": "expiresAt", "revoked_at": "revokedAt"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a token is made for; `expires` is a duration, `None` for ever."""

    name: str
    tenant: str
    scopes: Sequence[str]
    agent: str | None = None
    session: str | None = None
    expires: str | None = None


def run_create(store: str, asked: Asked, *, as_json: bool) -> int:
    """Makes a token, and the tables of a store that has none; prints it."""
    check_store(store, must_be_there=False)
    if asked.expires is not None and not is_duration(asked.expires):
        raise LoadError(f"--expires is {asked.expires}: write {EXAMPLES}")
    now = _now_ms()
    token = new_token(
        name=asked.name,
        tenant=asked.tenant,
        scopes=asked.scopes,
        agent=asked.agent or "",
        session=asked.session,
        now_ms=now,
        expires_at=None if asked.expires is None else now + parse_duration(asked.expires),
    )

    there = is_postgres(store) or Path(store.removeprefix("sqlite:///")).is_file()

    async def act() -> int:
        if not there or not (await schema_of(store))[0].done:
            await upgrade(store, after=False)  # a new store; an older one is the matter of its host, or of a deploy
        await _checked(store)
        async with beside_host(store) as ledger:
            await ledger.run(add_token(token.row))
        print(json_text({"token": token.text, **_shown(token.row)}) if as_json else token.text)
        note(f"This is the only time that it is shown. To end it: falai token revoke STORE {token.row.id}")
        return 0

    return guarded(act, store)


def run_list(store: str, *, tenant: str | None, agent: str | None, as_json: bool) -> int:
    """Prints the tokens, without what is secret in them."""

    async def look(ledger: Ledger) -> int:
        rows = await ledger.run(list_tokens(tenant=tenant, agent=agent))
        for line in map(json_text, map(_shown, rows)) if as_json else _table(rows):
            print(line)
        return 0

    return _on_ledger(store, look)


def _table(rows: Sequence[TokenRow]) -> Iterable[str]:
    return table([_COLUMNS, *map(_cells, rows)]) if rows else ["there is no token; `falai token create` makes one"]


def run_revoke(store: str, ids: Sequence[str]) -> int:
    """Ends tokens for good; the exit code is 1 when one of them is not there, or was revoked before."""
    if any(parts_of(id) for id in ids):
        raise LoadError("name the token's id, as `falai token list` shows it: a secret on a command line can be seen")

    async def act(ledger: Ledger) -> int:
        revoked = [id for id in ids if await ledger.run(revoke_token(id, now_ms=_now_ms()))]
        for id in ids:
            if id not in revoked:
                note(f"there is no token {id} to revoke")
        print(f"{len(revoked)} revoked")
        return 0 if len(revoked) == len(ids) else 1

    return _on_ledger(store, act)


def _on_ledger(store: str, work: Callable[[Ledger], Awaitable[int]]) -> int:
    check_store(store)

    async def act() -> int:
        await _checked(store)
        async with beside_host(store) as ledger:
            return await work(ledger)

    return guarded(act, store)


async def _checked(store: str) -> None:
    if (await schema_of(store))[0].before:
        raise LoadError("its tables are not those of this release: run falai db upgrade first")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _shown(row: TokenRow) -> dict[str, Any]:
    """A token as JSON shows it, with its state in place of the hash."""
    said = msgspec.to_builtins(row)
    times = {name: None if said[name] is None else iso(said[name]) for name in _TIMES}
    shown = {name: said[name] for name in ("id", "name", "tenant", "agent", "session", "scopes")} | times
    return {_TIMES.get(name, name): value for name, value in shown.items()} | {"state": _state(row)}


def _state(row: TokenRow) -> str:
    if row.revoked_at is not None:
        return "revoked"
    return "live" if row.is_live(_now_ms()) else "expired"


def _cells(row: TokenRow) -> tuple[str, ...]:
    expires = "-" if row.expires_at is None else iso(row.expires_at)[:16]
    whose = (row.id, row.name, row.tenant, row.agent or "-", row.session or "-", ",".join(row.scopes))
    return (*whose, iso(row.created_at)[:16], expires, _state(row))
