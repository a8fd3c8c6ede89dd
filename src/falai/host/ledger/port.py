"""What a ledger is: rows of a host, and transactions over them that any SQL database carries out.

A transaction is a `Work`: a generator that yields statements and is given their rows. It knows no
driver, so there is one set of promises for all of them. `Ledger.run` carries a work out as one
transaction: all of it is kept, or nothing. A work that raises `Undo` is rolled back and gives the
value of `Undo`.

Instants are whole milliseconds since 1970 UTC and come from the host's clock. JSON travels as text.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from msgspec import Struct

__all__ = [
    "Arrival", "Claim", "Committed", "Counts", "DeadRow", "Done", "Gate", "InputRow", "Job", "Keep", "Ledger", "Letter", "Limits",
    "LiveRun", "LogRow", "MessageRow", "OutMessage", "Place", "Reply", "Row", "Said", "SaidRow", "SessionRow", "Statement", "Step",
    "TakenIn", "TranscriptLine", "TranscriptRow", "Undo", "WakeWrite", "Work",
]  # fmt: skip

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Row = Sequence[Any]


class Statement(NamedTuple):
    """SQL with `?` for its parameters, and the words in braces that `dialect` gives for each database.

    It gives rows if it begins with SELECT or has a RETURNING. With `many`, `params` is a sequence of parameter rows; the statement is carried out for each, and
    gives no rows.
    """

    sql: str
    params: Sequence[Any]
    many: bool = False


Step = Sequence[Statement]
"""Statements that go to the database together, in this order; none needs the rows of another."""

Work = Generator[Step, Sequence[Sequence[Row]], T]


class Undo(Exception):  # noqa: N818 - it is no error: it is how a work ends that keeps nothing
    """Ends a work without keeping anything of it; `run` gives `value`."""

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__()


class Ledger(Protocol):
    """A database of a host. It is opened once, before its first work, and closed after the last.

    `open` brings the tables up to date. It raises `HostBusyError` when another process is the host of
    the same database and the database takes only one, and `SchemaError` when a newer release made it.
    """

    async def open(self) -> None: ...

    async def run(self, work: Work[T]) -> T:
        """What the work returns, once all of it is kept. What the driver raises passes through, and
        then nothing was kept; only after a connection was lost may it have been.

        A task that is cancelled meanwhile does not know which: a work that has begun may be finished.
        """
        ...

    async def close(self) -> None: ...


class Place(Struct, frozen=True):
    """Whose rows: a session of an agent of a tenant. It is in the key of every row."""

    tenant: str
    agent: str
    session: str


# --- in ------------------------------------------------------------------------------------------

Kind = Literal["message", "wake", "event", "start", "human"]


class Arrival(Struct, frozen=True):
    """An input on its way in.

    `key` names it within its place for good. A turn takes it from `not_before` on; for a message that
    is the end of its pause, and a message that comes before that end joins its burst. `customer`,
    `channel` and `address` are noted on the session when they are given.
    """

    key: str
    kind: Kind
    body: str
    attachments: str = "[]"
    not_before: int = 0
    customer: str | None = None
    channel: str | None = None
    address: str | None = None


class Limits(Struct, frozen=True):
    """How many inputs may wait: of one session, and of the whole agent. With None they are not counted."""

    session: int | None = 100
    host: int | None = 10_000


class TakenIn(Struct, frozen=True):
    """The keys that were new, in order; or what is full: then nothing was taken in."""

    new: tuple[str, ...] = ()
    full: Literal["session", "host"] | None = None


class InputRow(Struct, frozen=True):
    """An input as it was taken in."""

    key: str
    kind: Kind
    body: str
    attachments: str
    received_at: int


class Said(NamedTuple):
    """A line of the conversation, as a turn is given it."""

    role: str
    text: str


class Gate(Struct, frozen=True):
    """Whether the assistant may speak. `reason` is None while it may; `epoch` counts the changes."""

    epoch: int = 0
    reason: str | None = None
    understand: bool = False
    skip: bool = False


class Job(Struct, frozen=True):
    """Everything that a turn of this place needs, read in one transaction.

    `inputs` has one input, or the messages of a burst, oldest first. `revision` counts the commits of
    the place and is what `commit` compares; `version` is that of the blob, 0 without one. `held` and
    `active` are what the customer's other sessions hold. `history` is oldest first. `journal` has the
    answers that were noted for this input, by name and position. `attempts` counts the failed ones.
    """

    place: Place
    inputs: tuple[InputRow, ...]
    revision: int
    version: int
    blob: str | None
    gate: Gate
    opted_out: bool
    customer: str | None
    channel: str | None
    address: str | None
    history: tuple[Said, ...]
    held: Mapping[str, str]
    active: tuple[str, ...]
    journal: Mapping[tuple[str, int], str]
    attempts: int

    @property
    def key(self) -> str:
        """The key of the first input, under which the turn is played and its answers are noted."""
        return self.inputs[0].key


# --- a turn's end --------------------------------------------------------------------------------


class Claim(Struct, frozen=True):
    """A claim that the turn wrote, and the date that it saw on this key, held here or elsewhere."""

    key: str
    at: str
    seen: str | None = None


class LiveRun(Struct, frozen=True, order=True):
    """A flow that runs for an anchor."""

    flow: str
    anchor: str


class Reply(Struct, frozen=True):
    """A message to send: `body` is for the one who sends, `after_ms` the pause after the one before it.

    One `by_person` is sent whatever the gate does; the assistant's are withheld when it closes.
    """

    body: str
    after_ms: int = 0
    by_person: bool = False


class TranscriptLine(Struct, frozen=True):
    """A line of the conversation. `message` is the place in `Done.outbox` of what was said with it, if any:
    a message that is withheld takes its line with it, and its idempotency key becomes the `id`."""

    role: Literal["user", "assistant", "person", "note"]
    text: str
    at: int
    id: str | None = None
    data: str | None = None
    message: int | None = None


class WakeWrite(Struct, frozen=True):
    """A timer to set; one of the same key, and the one that it `replaces`, go."""

    key: str
    due_at: int
    replaces: str | None = None


class Done(Struct, frozen=True):
    """What a turn leaves. Without a `blob` the session stays as it is; a blob has the version `job.version + 1`.

    `claims`, `live` and their `_gone` are changes. `hold` closes the gate with this commit; what the turn
    said is still sent. `opt_out` ends follow-ups. `log` is the turn's line of the run log, JSON.
    """

    blob: str | None = None
    claims: tuple[Claim, ...] = ()
    claims_gone: tuple[str, ...] = ()
    live: tuple[LiveRun, ...] = ()
    live_gone: tuple[LiveRun, ...] = ()
    transcript: tuple[TranscriptLine, ...] = ()
    outbox: tuple[Reply, ...] = ()
    wakes: tuple[WakeWrite, ...] = ()
    log: str | None = None
    hold: Gate | None = None
    opt_out: bool = False


class Committed(Struct, frozen=True):
    """Whether the turn counts. With a `conflict` nothing was kept, and the job is to be taken anew.

    After the conflict `claims`, `held` and `active` say what other sessions hold of what the turn wanted:
    the repetition needs them beside those of its job, since they may be of no session of its customer.
    """

    conflict: Literal["version", "gate", "claims"] | None = None
    held: Mapping[str, str] = {}
    active: tuple[str, ...] = ()


# --- out -----------------------------------------------------------------------------------------


class OutMessage(Struct, frozen=True):
    """The next message of a place. It may be sent from `due_at` on; `key` is its idempotency key.

    `calm`: nobody waits for it. `lined`: it waited for its turn on a channel that has a rate.
    """

    place: Place
    revision: int
    position: int
    key: str
    body: str
    due_at: int
    attempts: int
    channel: str | None
    address: str | None
    calm: int = 0
    lined: int = 0


# --- to look at ----------------------------------------------------------------------------------


class SessionRow(Struct, frozen=True):
    """A session as it is kept."""

    place: Place
    version: int
    blob: str | None
    gate: Gate
    customer: str | None
    channel: str | None
    address: str | None
    opted_out: bool
    created_at: int
    updated_at: int


class TranscriptRow(Struct, frozen=True):
    """A line of the conversation as it is kept; `seq` orders all of them."""

    seq: int
    role: str
    text: str
    at: int
    id: str | None
    data: str | None


class LogRow(Struct, frozen=True):
    """A line of the run log: what one input led to."""

    seq: int
    key: str
    at: int
    log: str


class MessageRow(Struct, frozen=True):
    """A message as it is kept."""

    key: str
    body: str
    state: Literal["new", "sent", "dead", "withheld"]
    due_at: int
    attempts: int
    provider_id: str | None
    status: str | None
    error: str | None


class Letter(Struct, frozen=True):
    """A message of a turn as it goes out: under `key`, `after_ms` behind the one before."""

    key: str
    body: str
    after_ms: int
    at: None = None
    """It is about to be sent."""


class SaidRow(Struct, frozen=True):
    """A message that the customer should see. `cursor` is behind it, `at` is when it was sent; `after_ms` is its pause."""

    cursor: str
    key: str
    body: str
    by_person: bool
    after_ms: int
    state: Literal["new", "sent", "dead"]
    at: int | None


class DeadRow(Struct, frozen=True):
    """What was set aside: an input that failed, or a message that could not be sent."""

    what: Literal["input", "message"]
    place: Place
    key: str
    kind: str
    body: str
    attempts: int
    error: str | None
    at: int


class Counts(Struct, frozen=True):
    """How much waits, and since when the oldest does."""

    inputs: int
    oldest: int | None
    messages: int
    wakes_due: int
    dead: int
    starts: int


class Keep(Struct, frozen=True):
    """How long what is finished is kept, in milliseconds; None is for ever.

    `inputs` is for what an input said; its key stays for `keys`, since only a known key is dropped.
    """

    inputs: int | None = 30 * 86_400_000
    keys: int | None = None
    messages: int | None = 30 * 86_400_000
    transcript: int | None = None
    log: int | None = 90 * 86_400_000
    dead: int | None = None
