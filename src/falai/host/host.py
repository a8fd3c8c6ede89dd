"""The host of an agent: what a program calls. What happens with it is in the parts (see the package)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from datetime import datetime
from os import PathLike
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from falai.agent import Agent
from falai.channel.port import Attachment, Channel, Incoming, Receipt
from falai.host import people
from falai.host.answering import Answered, answered, asked
from falai.host.callables import Callables, Turning
from falai.host.campaigning import Campaign, Planned, Recipient, plan
from falai.host.engine import Engine
from falai.host.ledger import dead as set_aside
from falai.host.ledger import erasing, gating, looking
from falai.host.ledger.campaigning import stop_campaign
from falai.host.ledger.port import Arrival, DeadRow, Gate, Ledger, Place, SessionRow
from falai.host.looking import Look, Status, look_at, status_of
from falai.host.receiving import (
    Received,
    Whose,
    arrival_of_person,
    noted_receipt,
    read_person,
    session_of,
)
from falai.host.saving import person_says
from falai.host.settings import Settings
from falai.host.setup import Setup, channels_of
from falai.host.stores import clock_of, ledger_of
from falai.host.watching import Seen
from falai.session.dates import iso, to_ms
from falai.session.inputs import Anchor, Claims, Event, Message, Silenced, Start
from falai.turn.result import OutMessage

__all__ = ["Host"]

C = TypeVar("C")
T = TypeVar("T")
Asked = Callable[[Turning], T | Awaitable[T]]


class Host(Generic[C]):
    """Plays an agent's conversations: takes inputs in, plays their turns, sends what comes of them, keeps time.

    It works while it is a context manager (`async with host:`). `store` is a file of SQLite, which one
    process at a time may host, a `postgresql://` URL, or a `Ledger`. `channel` is the way to customers,
    or several by name; without one, messages are kept for whoever looks (`ask`, `look`). `context`,
    `anchors`, `claims`, `gate` and `history` are functions of a `Turning` that say what a turn is given
    (`Callables`). `clock` is the agent's, if none is given.

    What is promised: an input that was taken in is played, once in effect, in the order of its session;
    what a turn says is sent only if the turn counts, in order, at least once, under an idempotency key;
    an action sees the same key and the same choices of the model on every repetition.
    """

    def __init__(
        self,
        agent: Agent[C],
        store: str | PathLike[str] | Ledger = "falai.db",
        *,
        channel: Channel | Mapping[str, Channel] | None = None,
        context: Asked[C] | None = None,
        anchors: Asked[Mapping[str, Anchor]] | None = None,
        claims: Asked[Claims] | None = None,
        gate: Asked[Silenced | str | None] | None = None,
        history: Asked[Sequence[Mapping[str, Any]]] | None = None,
        settings: Settings | None = None,
        tenant: str = "default",
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        ledger = ledger_of(store)
        self._setup = Setup(
            agent=agent,
            ledger=ledger,
            channels=channels_of(channel),
            callables=Callables(context=context, anchors=anchors, claims=claims, gate=gate, history=history),
            settings=settings or Settings(),
            tenant=tenant,
            clock=clock_of(ledger, clock or agent.clock),
            checkpoint=self.checkpoint,
        )
        self._engine: Engine | None = None

    async def __aenter__(self) -> Self:
        """Opens the store and begins to work. Raises `HostBusyError` when another process hosts it."""
        if self._engine is not None:
            raise RuntimeError("the host runs already: one `async with host:` at a time, around all that uses it")
        await self._setup.ledger.open()
        engine = Engine(self._setup)
        try:
            await engine.start()
        except BaseException:
            await self._setup.ledger.close()
            raise
        self._engine = engine
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Finishes what was begun, within `settings.grace`, and gives back the rest."""
        engine, self._engine = self._running, None
        async with AsyncExitStack() as ending:  # from the last to the first, whatever one of them raises
            ending.push_async_callback(self._setup.ledger.close)
            for channel in self._setup.channels.values():
                ending.push_async_callback(channel.aclose)
            await engine.stop()

    # --- in ---------------------------------------------------------------------------------------

    async def receive(
        self,
        session_id: str,
        input: Message | Event | Start | str,
        *,
        customer: str | None = None,
        channel: str | None = None,
        address: str | None = None,
        attachments: Sequence[Attachment] = (),
        tenant: str | None = None,
    ) -> Received:
        """Takes in a message, an event or a start; it is durable when this returns.

        A message's `id`, an event's and a start's `key` names it within the session: one that comes
        again is dropped for good. `customer`, `channel` and `address` are noted on the session. Raises
        `ValueError` for what is no input, `OverloadedError` when too many wait, and what the store raises.
        """
        whose = Whose(customer=customer, channel=channel, address=address)
        place, arrival = self._arrival(session_id, input, whose, attachments, tenant)
        return await self._running.take(place, arrival)

    async def ask(
        self,
        session_id: str,
        input: Message | Event | Start | str,
        *,
        timeout: float = 60.0,  # noqa: ASYNC109 - it is how long to wait for another task's work
        customer: str | None = None,
        channel: str | None = None,
        address: str | None = None,
        attachments: Sequence[Attachment] = (),
        tenant: str | None = None,
    ) -> tuple[OutMessage, ...]:
        """Receives, waits for the turn, and gives what it said; nothing for an input that had its turn.

        Raises as `receive`, `TimeoutError` after so many seconds (the input is played all the same),
        `SetAsideError` when it failed for good, and `RuntimeError` when the host ends before.
        """
        whose = Whose(customer=customer, channel=channel, address=address)
        place, arrival = self._arrival(session_id, input, whose, attachments, tenant)
        return await asked(self._running, self.ledger, place, arrival, timeout)

    async def answer(
        self,
        session_id: str,
        message: Message,
        *,
        timeout: float = 60.0,  # noqa: ASYNC109 - likewise
        customer: str | None = None,
        channel: str | None = None,
        address: str | None = None,
        attachments: Sequence[Attachment] = (),
        tenant: str | None = None,
    ) -> Answered:
        """Receives a message, waits so many seconds for its turn, and tells what the message came to.

        One that comes again is told the same, whenever its turn was, as long as that is kept. Raises as `receive`.
        """
        whose = Whose(customer=customer, channel=channel, address=address)
        place, arrival = self._arrival(session_id, message, whose, attachments, tenant)
        return await answered(self._running, self.ledger, place, arrival, timeout)

    async def take(
        self, channel: str, headers: Mapping[str, str], body: bytes, *, tenant: str | None = None
    ) -> tuple[Received, ...]:
        """Takes in a request of a channel's vendor: its messages, each in the session `channel:address`, and receipts.

        Raises `KeyError` for a channel that the host does not have, `BadSignatureError` and `BadPayloadError`
        as the channel, and as `receive`; the vendor sends it again then, and what is known is dropped.
        """
        way = self.way(channel)
        way.verify(headers, body)
        taken = [await self.take_item(channel, item, tenant=tenant) for item in way.parse(headers, body)]
        return tuple(received for received in taken if received is not None)

    def way(self, channel: str) -> Channel:
        """The channel of this name. Raises `KeyError` for one that the host does not have."""
        return self._setup.channels[channel]

    async def take_item(self, channel: str, item: Incoming | Receipt, *, tenant: str | None = None) -> Received | None:
        """Takes in one item of a request that was verified and parsed elsewhere; a receipt is noted, and gives `None`."""
        if isinstance(item, Receipt):
            place = await self.ledger.run(noted_receipt(self._setup.name, channel, item, tenant))
            self._running.changed(*[place] if place else [])
            return None
        message = Message(item.text, id=item.id, at=iso(to_ms(item.at)))
        whose = {"channel": channel, "address": item.address, "tenant": tenant}
        return await self.receive(session_of(channel, item), message, attachments=item.attachments, **whose)

    async def campaign(
        self,
        name: str,
        flow: str,
        sessions: Sequence[str | Recipient],
        *,
        over: str = "1h",
        input: Any = None,
        tenant: str | None = None,
    ) -> Planned:
        """Starts a flow once in each of many sessions, spread over a time; they come behind all who write.

        Called again, after an error or with more sessions, it goes on, and starts nobody twice. Raises
        `ValueError` for a flow that is not there, and what the store raises.
        """
        campaign = Campaign(name=name, flow=flow, recipients=sessions, over=over, input=input)
        work = self._running.work
        planned = await plan(self._setup, campaign, tenant=self._setup.whose(tenant))
        work.due("wake", self._setup.now_ms())
        return planned

    async def stop_campaign(self, name: str, *, tenant: str | None = None) -> int:
        """Takes back the starts that have not come yet; how many. `campaign` goes on with them."""
        return await self.ledger.run(stop_campaign(self._setup.name, tenant=self._setup.whose(tenant), campaign=name))

    # --- people -----------------------------------------------------------------------------------

    async def hold(
        self,
        session_id: str,
        reason: str = "held",
        *,
        understand: bool = False,
        skip: bool = False,
        tenant: str | None = None,
    ) -> None:
        """Closes the gate: the assistant is silent until `release` (T-17), and what it has under way is not sent."""
        gate = Gate(reason=reason, understand=understand, skip=skip)
        place = self._place(session_id, tenant)
        with self._running.closing(place):
            await self.ledger.run(gating.hold(place, gate, now_ms=self._setup.now_ms()))
            await self._running.work.held(place)

    async def release(self, session_id: str, *, tenant: str | None = None) -> bool:
        """Opens the gate; whether it was closed. With the customer's next message, a question that is open is put again."""
        place = self._place(session_id, tenant)
        released = await self.ledger.run(gating.release(place))
        self._running.changed(place)
        return released

    async def human_message(
        self, session_id: str, text: str, *, id: str, by: str | None = None, tenant: str | None = None
    ) -> Received:
        """Sends what a person of the team wrote, and closes the gate if it is open; a known `id` is dropped.

        Raises `ValueError` for a blank `id`, and for what is no text.
        """
        place, now = self._place(session_id, tenant), self._setup.now_ms()
        message = read_person(text, id, by)
        row = await self.ledger.run(looking.session(place))
        channel = self._setup.channel(row.channel if row else None)
        done = person_says(place.session, message, channel, now_ms=now)
        arrival, reason = arrival_of_person(message), message.by or "a person answers"
        with self._running.closing(place):
            new = await self.ledger.run(people.speak_as_person(place, arrival, done, reason=reason, now_ms=now))
            await self._running.work.held(place)
        self._running.work.deliveries.ready(place, urgent=True)
        return Received(arrival.key, new)

    # --- to look at -------------------------------------------------------------------------------

    async def look(self, session_id: str, *, limit: int = 100, tenant: str | None = None) -> Look | None:
        """A session as it stands; `None` when nothing ever came in for it."""
        return await self.ledger.run(look_at(self._place(session_id, tenant), limit=limit))

    def watch(self, session_id: str, *, tenant: str | None = None) -> AbstractAsyncContextManager[AsyncIterator[Seen]]:
        """What happens in a session, as it happens, until the host ends::

            async with host.watch("s1") as seen:
                async for one in seen: ...

        The model is streamed only while somebody watches. A watcher that is slow loses words, and is told so
        (`Changed`); it never holds up a turn. Raises `ValueError` for what is no id.
        """
        return self._running.watching(self._place(session_id, tenant))

    async def sessions(
        self,
        *,
        tenant: str | None = None,
        customer: str | None = None,
        channel: str | None = None,
        held: bool | None = None,
        after: str | None = None,
        limit: int = 100,
    ) -> tuple[SessionRow, ...]:
        """Sessions in the order of their ids, those behind the id `after`: the last of a page brings the next.

        With `customer` and `channel` those of one, with `held` those whose gate is closed, or open.
        """
        wanted = looking.Wanted(customer=customer, channel=channel, held=held)
        work = looking.sessions(
            self._setup.name, tenant=self._setup.whose(tenant), wanted=wanted, after=after, limit=limit
        )
        return await self.ledger.run(work)

    async def status(self) -> Status:
        """How much waits, and how much is at work."""
        work = self._running.work
        found = await self.ledger.run(looking.counts(self._setup.name, now_ms=self._setup.now_ms()))
        return status_of(found, turns=work.turns.in_flight, deliveries=work.deliveries.in_flight)

    async def dead(
        self, session_id: str | None = None, *, limit: int = 100, tenant: str | None = None
    ) -> tuple[DeadRow, ...]:
        """What was set aside, the oldest first: inputs that failed, messages that could not be sent."""
        whose = None if tenant is None and session_id is None else self._setup.whose(tenant)
        return await self.ledger.run(set_aside.dead(self._setup.name, tenant=whose, session=session_id, limit=limit))

    async def retry(self, row: DeadRow) -> bool:
        """Tries it again, from where it stood; whether it was still set aside."""
        found = await self.ledger.run(set_aside.retry_dead(row, now_ms=self._setup.now_ms()))
        work = self._running.work
        lane = work.turns if row.what == "input" else work.deliveries
        lane.ready(row.place)
        self._running.changed(row.place)
        return found

    async def drop(self, row: DeadRow) -> bool:
        """Lets it go for good; whether it was still set aside."""
        found = await self.ledger.run(set_aside.drop_dead(row, now_ms=self._setup.now_ms()))
        self._running.changed(row.place)
        return found

    @property
    def agent(self) -> Agent[C]:
        """Whose conversations these are."""
        return self._setup.agent

    @property
    def ledger(self) -> Ledger:
        """What the host keeps everything in, for tools beside it. Raises `RuntimeError` while the host does not run."""
        assert self._running
        return self._setup.ledger

    # --- to forget --------------------------------------------------------------------------------

    async def erase(self, session_id: str, *, tenant: str | None = None) -> bool:
        """Erases all that is kept of a session, in every table; a turn that is under way will not count."""
        place = self._place(session_id, tenant)
        erased = await self.ledger.run(erasing.erase(place))
        self._running.silenced(place)
        return erased

    async def erase_customer(self, customer: str, *, tenant: str | None = None) -> tuple[str, ...]:
        """Erases all sessions of a customer; gives their ids."""
        work = erasing.erase_customer(self._setup.name, tenant=self._setup.whose(tenant), customer=customer)
        erased = await self.ledger.run(work)
        self._running.silenced(*(self._place(session, tenant) for session in erased))
        return erased

    async def sweep(self) -> None:
        """Forgets now what `settings.keep` no longer keeps; a host does so each minute."""
        await self._running.sweep()

    # --- for tests and shutdowns ------------------------------------------------------------------

    async def drained(self) -> None:
        """Returns when nothing is left to be done at the clock's now."""
        await self._running.drained()

    async def checkpoint(self, name: str) -> None:
        """Called between any two steps: a seam for tests of faults, and for the playground, which override it. It does nothing.

        `received`, `taken` (a job was read), `performed` (a call or an action of a turn), `noted` (the
        journal), `played` (before the commit), `committed`, `sending`, `sent` (before the ledger knows).
        """

    # --- within -----------------------------------------------------------------------------------

    @property
    def _running(self) -> Engine:
        if self._engine is None:
            raise RuntimeError("the host does not run: use it within `async with host:`")
        return self._engine

    def _place(self, session_id: str, tenant: str | None) -> Place:
        return self._setup.place(session_id, tenant)

    def _arrival(
        self, session_id: str, input: object, whose: Whose, attachments: Sequence[Attachment], tenant: str | None
    ) -> tuple[Place, Arrival]:
        arrival = self._setup.arrival(session_id, input, whose, attachments)
        return self._place(session_id, tenant), arrival
