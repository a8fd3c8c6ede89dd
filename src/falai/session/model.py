"""What a conversation remembers between two turns: the structs *are* the wire JSON (B-3 to B-8).

Attribute names are the snake_case of the wire names; an optional key that is not set is `None`
here and absent on the wire. Dates are text in the form of B-2.4, because a blob may hold one that
cannot be read (B-2.8). Treat a session that you hold as a value: a turn works on a copy of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

if TYPE_CHECKING:
    from typing import Optional as Absent
else:

    class Absent:
        """`None` here when the key is absent on the wire; there with null, it is refused by the decoder (B-14.3)."""

        def __class_getitem__(cls, kind: object) -> object:
            return kind


__all__ = ["Claim", "Run", "RunStatus", "Session", "StepOutcome", "TriggerKind", "TriggerRef", "Waiting"]

Count = Annotated[int, msgspec.Meta(ge=0)]
RunStatus = Literal["running", "asking", "waiting", "suspended"]
TriggerKind = Literal["message", "mention", "silence", "event", "start", "flow"]
OutcomeKind = Literal["prompt", "collect", "say", "do", "wait", "if", "idle"]
OutcomeStatus = Literal["ok", "skipped", "failed", "waiting", "deferred"]


class Claim(msgspec.Struct, rename="camel"):
    """An entry of the ledger that stops a second start (B-10)."""

    at: str


class TriggerRef(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """What started a run; `payload` is any JSON, absent when there was none (B-4)."""

    kind: TriggerKind
    key: str
    payload: Any = None


class Waiting(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """Why a run is parked and when its wake is due (B-6)."""

    kind: Literal["timer", "event"]
    key: Absent[str] = None
    until: Absent[str] = None
    set_at: str
    event: Absent[str] = None


class StepOutcome(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One line about one thing that a run, or the turn, did (B-8, O-3)."""

    run_id: str | None = None
    flow_id: str | None = None
    step_id: str | None = None
    key: str | None = None
    kind: OutcomeKind
    status: OutcomeStatus
    code: str | None = None
    message: str | None = None
    detail: str | None = None
    next: str | None = None
    until: str | None = None
    at: str
    llm_calls: int | None = None


class Run(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """One live execution of a flow inside one session (B-4)."""

    id: str
    flow_id: str
    anchor: str
    dedupe_key: str
    step_id: str | None
    status: RunStatus
    trigger: TriggerRef
    input: Any = None
    hop: Count
    started_at: str
    suspended_at: str | None = None
    staying: Literal[True] | None = None
    waiting: Absent[Waiting] = None
    asked: dict[str, Count]
    visits: dict[str, Count]
    outcomes: list[StepOutcome]


class Session(msgspec.Struct, rename="camel", omit_defaults=True, kw_only=True):
    """The state of one conversation (B-3)."""

    id: str
    v: Literal[4]
    version: Count
    data: dict[str, Any]
    runs: list[Run]
    claims: dict[str, Claim]
    inputs: list[str]
    metadata: dict[str, Any]
    last_user_at: Absent[str] = None
    last_assistant_at: Absent[str] = None
    history: Absent[list[Any]] = None

    @classmethod
    def from_json(cls, text: str | bytes, session_id: str | None = None) -> Session:
        """The session of a JSON text; raises `InvalidSessionError` when it holds none, or that of another id."""
        from falai.session.codec import session_from_json  # the codec imports this module

        return session_from_json(text, session_id)

    def to_json(self) -> str:
        """The wire form as JSON text; raises `TypeError`, with its path, for a value that has no JSON form (P-16)."""
        from falai.session.codec import session_to_json  # the codec imports this module

        return session_to_json(self)

    @classmethod
    def fresh(cls, session_id: str) -> Session:
        """The session of a first contact (B-3.1)."""
        return cls(id=session_id, v=4, version=0, data={}, runs=[], claims={}, inputs=[], metadata={})
