"""What the parts of a host share: the agent, the ledger, the ways to customers, the clock."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from falai.agent import Agent
from falai.channel.port import Attachment, Channel
from falai.flow.durations import parse_duration
from falai.host.callables import Callables
from falai.host.inputs import check_id
from falai.host.ledger.port import Arrival, Ledger, Place
from falai.host.rates import check_channels
from falai.host.receiving import Whose, arrival_of
from falai.host.settings import Settings
from falai.session.dates import to_ms
from falai.turn.given import read_id

__all__ = ["Setup", "channels_of"]


@dataclass(frozen=True, kw_only=True)
class Setup:
    """One host. `checkpoint` is called between any two steps with a name for the place: a fault injector's seam."""

    agent: Agent[Any]
    ledger: Ledger
    channels: Mapping[str, Channel]
    callables: Callables[Any]
    settings: Settings
    tenant: str
    clock: Callable[[], datetime]
    checkpoint: Callable[[str], Awaitable[None]]

    def __post_init__(self) -> None:
        check_channels(self.settings.rates, self.channels)

    @property
    def name(self) -> str:
        """The agent's name, which is in the key of every row."""
        return self.agent.plan.name

    def now_ms(self) -> int:
        """The host's clock."""
        return to_ms(self.clock())

    def whose(self, tenant: str | None) -> str:
        """The tenant. Raises `ValueError` for one that is blank, no text, too long or with a NUL: it is nobody's, and not the default's."""
        return check_id(read_id(self.tenant if tenant is None else tenant, "tenant"), "tenant")

    def place(self, session_id: str, tenant: str | None) -> Place:
        """Where a session's rows are. Raises `ValueError` for an id that is blank, no text, too long or with a NUL."""
        return Place(self.whose(tenant), self.name, check_id(read_id(session_id, "sessionId"), "sessionId"))

    def arrival(self, session_id: str, input: object, whose: Whose, attachments: Sequence[Attachment]) -> Arrival:
        """What came in, now, as the inbox takes it. Raises `ValueError` for what is no input."""
        burst_ms = parse_duration(self.settings.burst)
        now_ms = self.now_ms()
        return arrival_of(session_id, input, now_ms=now_ms, burst_ms=burst_ms, attachments=attachments, whose=whose)

    def channel(self, name: str | None) -> Channel | None:
        """The channel of this name; without a name the only one there is."""
        if name is not None:
            return self.channels.get(name)
        return next(iter(self.channels.values())) if len(self.channels) == 1 else None


def channels_of(given: Channel | Mapping[str, Channel] | None) -> Mapping[str, Channel]:
    """The channels by name."""
    if given is None:
        return {}
    return dict(given) if isinstance(given, Mapping) else {given.name: given}
