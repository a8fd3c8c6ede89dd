"""Several databases, each with the sessions of its own: where one is not enough, or is to lie elsewhere.

A session is in one of them for good, chosen by its id. So their number stays as it is: whoever expects to
grow begins with more databases than servers, and moves whole databases later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from hashlib import blake2b
from types import TracebackType
from typing import Generic, Self, TypeVar

from falai.channel.port import Receipt
from falai.host.host import Host
from falai.host.receiving import Received, session_of

__all__ = ["Shards"]

C = TypeVar("C")


def _itself(session_id: str) -> str:
    return session_id


class Shards(Generic[C]):
    """Hosts of one agent, each with a database of its own, in an order that never changes.

    `of` gives the host of a session. What sessions of a customer share (claims, live runs, opt-outs) they
    share within one database: `by` says which part of a session's id chooses it, so that they can meet.
    """

    def __init__(self, hosts: Sequence[Host[C]], *, by: Callable[[str], str] = _itself) -> None:
        if not hosts:
            raise ValueError("Shards: give at least one host")
        self.hosts = tuple(hosts)
        self._by = by
        self._stack = AsyncExitStack()

    def of(self, session_id: str) -> Host[C]:
        """The host of a session, the same in every process and in every release."""
        digest = blake2b(self._by(session_id).encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return self.hosts[int.from_bytes(digest, "big") % len(self.hosts)]

    async def take(
        self, channel: str, headers: Mapping[str, str], body: bytes, *, tenant: str | None = None
    ) -> tuple[Received, ...]:
        """Takes in a request of a channel's vendor, as `Host.take`; each message goes to the host of its session.

        A receipt does not say whose it is, so every host is told.
        """
        way = self.hosts[0].way(channel)
        way.verify(headers, body)
        received: list[Received] = []
        for item in way.parse(headers, body):
            to = self.hosts if isinstance(item, Receipt) else (self.of(session_of(channel, item)),)
            taken = [await host.take_item(channel, item, tenant=tenant) for host in to]
            received += [one for one in taken if one is not None]
        return tuple(received)

    async def __aenter__(self) -> Self:
        """Opens all of them. When one cannot be opened, none stays open."""
        async with AsyncExitStack() as opening:
            for host in self.hosts:
                await opening.enter_async_context(host)
            self._stack = opening.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, trace)
