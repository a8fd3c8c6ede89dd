"""What the host of an agent adds to a turn: small functions, each with a good default.

Each is called with a `Turning` just before the turn, and anew for a repetition; each may be async.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from falai.channel.port import Attachment
from falai.host.ledger.port import Place
from falai.session.inputs import Anchor, Claims, Input, Silenced
from falai.session.model import Session

__all__ = ["Callables", "Turning", "settled"]

C = TypeVar("C")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Turning:
    """The turn that is about to be played: whose it is, and what came in.

    `customer`, `channel` and `address` are `None` where nobody has named them. `attachments` came with
    the message, in the order in which they came.
    """

    place: Place
    input: Input
    session: Session | None
    customer: str | None
    channel: str | None
    address: str | None
    attachments: Sequence[Attachment]
    now: datetime

    @property
    def tenant(self) -> str:
        """Whose agent it is."""
        return self.place.tenant

    @property
    def session_id(self) -> str:
        """The conversation."""
        return self.place.session


Asked = Callable[[Turning], T | Awaitable[T]]


@dataclass(frozen=True, kw_only=True)
class Callables(Generic[C]):
    """The functions of `Host`; `None` takes the default.

    `context`: the agent's context (none). `anchors`: what runs are keyed to (`customer`, where one is
    known). `claims`: what other sessions hold (those of the customer that the ledger has). `gate`: why
    the assistant may not speak, beside `Host.hold` (it may). `history`: the conversation so far (the
    end of the transcript).
    """

    context: Asked[C] | None = None
    anchors: Asked[Mapping[str, Anchor]] | None = None
    claims: Asked[Claims] | None = None
    gate: Asked[Silenced | str | None] | None = None
    history: Asked[Sequence[Mapping[str, Any]]] | None = None


async def settled(value: T | Awaitable[T]) -> T:
    """The value, awaited where it is an awaitable one."""
    return cast(T, await value if inspect.isawaitable(value) else value)
