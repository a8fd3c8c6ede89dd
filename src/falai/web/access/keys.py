"""Whose token it is: looked up in the ledger, and known for a moment, so that a request costs no query.

A token that was revoked elsewhere is dead once that moment is over. One that nobody has is not remembered,
so that a stranger cannot fill the memory.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

from falai.host.ledger.port import Ledger
from falai.host.ledger.tokens import TokenRow, find_token
from falai.session.dates import system_now, to_ms
from falai.web.access.callers import Caller
from falai.web.access.tokens import is_secret_of, parts_of

__all__ = ["Keys"]

_FRESH_S: Final = 2.0
_MOST: Final = 10_000


class _Known(NamedTuple):
    row: TokenRow
    read_at: float


class Keys:
    """The tokens that the agent of this name takes. `ledger` gives the open ledger; `own` are tokens that it lacks."""

    def __init__(
        self,
        ledger: Callable[[], Ledger],
        agent: str,
        *,
        own: tuple[TokenRow, ...] = (),
        now_ms: Callable[[], int] = lambda: to_ms(system_now()),
    ) -> None:
        self._ledger = ledger
        self._agent = agent
        self._own = {row.id: row for row in own}
        self._now_ms = now_ms
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._reading: dict[str, asyncio.Task[TokenRow | None]] = {}

    def seen(self, text: str) -> str | None:
        """The id of a token that was right when it was last looked at; it may be over since."""
        parts = parts_of(text)
        row = None if parts is None else self._remembered(parts.id)
        return parts.id if parts and row and is_secret_of(parts.secret, row.hash) else None

    async def caller(self, text: str) -> Caller | None:
        """Whose token this is; `None` when it is none, of another agent, expired or revoked.

        Raises what the ledger raises.
        """
        parts = parts_of(text)
        row = None if parts is None else await self._row(parts.id)
        if parts is None or row is None or not is_secret_of(parts.secret, row.hash):
            return None
        if row.agent not in ("", self._agent) or not row.is_live(self._now_ms()):
            return None
        return Caller(row.name, row.tenant, frozenset(row.scopes), row.session, row.id)

    def _remembered(self, id: str) -> TokenRow | None:
        known = self._known.get(id)
        return self._own.get(id) or (known.row if known else None)

    async def _row(self, id: str) -> TokenRow | None:
        if id in self._own:
            return self._own[id]
        known = self._known.get(id)
        if known is not None and asyncio.get_running_loop().time() - known.read_at < _FRESH_S:
            return known.row
        reading = self._reading.get(id)
        if reading is None:
            reading = self._reading[id] = asyncio.create_task(self._read(id))
        return await asyncio.shield(reading)  # whoever goes away leaves the others their answer

    async def _read(self, id: str) -> TokenRow | None:
        read_at = asyncio.get_running_loop().time()
        try:
            row = await self._ledger().run(find_token(id))
        finally:
            del self._reading[id]
        self._known.pop(id, None)
        if row is not None:
            self._known[id] = _Known(row, read_at)
            if len(self._known) > _MOST:
                self._known.popitem(last=False)
        return row
