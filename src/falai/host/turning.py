"""One input of a session, from the ledger to the ledger: job, turn, commit.

Everything that the turn needs comes out of one transaction, everything that it leaves goes into one.
In between nothing is kept but the journal, so that a turn which is lost, by a conflict, an error or the
end of the process, has never been; its input is still there and is played again (B-16.5, B-17).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from falai.errors import words_of
from falai.flow.durations import parse_duration
from falai.host.gating import handing_over
from falai.host.inputs import input_of
from falai.host.journal import Answer, JournaledDrive, JournaledModel, to_text
from falai.host.ledger.committing import commit
from falai.host.ledger.gating import opt_in
from falai.host.ledger.playing import next_job, note_answers, put_off, set_aside, try_later
from falai.host.ledger.port import Committed, Done, Job, Place, Undo, WakeWrite, Work
from falai.host.preparing import Prepared, prepare
from falai.host.retrying import pause_of_input
from falai.host.saving import done_of
from falai.host.setup import Setup
from falai.host.signals import Signals
from falai.host.trouble import others_cancelled
from falai.host.watching import Telling
from falai.host.windows import Later
from falai.log import line
from falai.model.redaction import without_secrets
from falai.observability import TurnWork
from falai.session.dates import to_ms
from falai.session.inputs import Wake
from falai.turn.given import Given
from falai.turn.result import OutMessage, TurnResult

__all__ = ["Turns"]

_LOG: Final = logging.getLogger("falai.host")


class _GoneError(Exception):
    """Another has this job by now, or a person has erased it: what is known of it is worth nothing."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A turn that is not committed yet."""

    done: Done
    prepared: Prepared
    result: TurnResult | None = None

    @property
    def messages(self) -> tuple[OutMessage, ...]:
        return self.result.messages if self.result else ()


class Turns:
    """Plays what waits in the inbox of a place."""

    def __init__(self, setup: Setup, signals: Signals) -> None:
        self._setup = setup
        self._signals = signals

    async def play(self, place: Place) -> bool:
        """Plays the next input of a place; whether there may be more. Raises what the ledger raises."""
        setup, elsewhere = self._setup, Committed()
        while True:
            work = next_job(place, now_ms=setup.now_ms(), history_items=setup.settings.history)
            job = await setup.ledger.run(work)
            if job is None:
                return False
            await setup.checkpoint("taken")
            try:
                with self._signals.telling(job) as telling:
                    committed, more = await self._play(job, elsewhere, telling)
            except _GoneError:
                return True
            if committed.conflict is None:
                return more
            elsewhere = _both(elsewhere, committed)
            extra = line("turn.lost", session=place.session, conflict=committed.conflict)
            _LOG.info("a turn lost to another writer (%s), and is played again", committed.conflict, extra=extra)

    async def _play(self, job: Job, elsewhere: Committed, telling: Telling) -> tuple[Committed, bool]:
        limit = asyncio.timeout(parse_duration(self._setup.settings.turn_limit) / 1000)
        try:
            with others_cancelled():
                async with limit:
                    prepared = await prepare(self._setup, job, elsewhere)
                    ended = prepared if isinstance(prepared, Later) else await self._done(job, prepared, telling)
        except _GoneError:
            raise
        except Exception as error:  # noqa: BLE001  # whatever it is, the input is still there
            late = TimeoutError(f"the turn took longer than {self._setup.settings.turn_limit} (turn_limit)")
            telling.withdraw()
            await self._failed(job, late if limit.expired() else error)
            return Committed(), True
        if isinstance(ended, Later):
            return await self._put_off(job, ended)
        await self._setup.checkpoint("played")
        committed, more = await self._commit(job, ended)
        if committed.conflict is None:
            telling.kept()
        return committed, more

    async def _done(self, job: Job, prepared: Prepared, telling: Telling) -> Ended:
        if prepared.given is None:
            return Ended(Done(transcript=prepared.heard), prepared)
        with handing_over() as reasons:
            result = await self._turn(job, prepared.given, telling)
        done = done_of(
            job,
            prepared.given.session,
            result,
            now_ms=self._setup.now_ms(),
            channel=self._setup.channel(job.channel),
            heard=prepared.heard,
            template=prepared.template,
            hold=reasons[-1] if reasons and job.gate.reason is None else None,  # a person's gate stays as it is
            opt_out=prepared.opts == "out",
        )
        return Ended(done, prepared, result)

    async def _turn(self, job: Job, given: Given, telling: Telling) -> TurnResult:
        agent, clock = self._setup.agent, self._setup.clock
        model = JournaledModel(agent.model, job.journal, withdraw=telling.withdraw)

        async def keep(answers: Sequence[Answer]) -> None:
            noted = {(answer.name, answer.position): to_text(answer.reply) for answer in answers}
            if not await self._setup.ledger.run(note_answers(job, noted)):
                raise _GoneError
            await self._setup.checkpoint("noted")

        with TurnWork(agent.plan.name, model.name, given, content=agent.trace_content) as watched:
            drive = JournaledDrive(agent.plan, model, clock, given, watched, journal=model, keep=keep, telling=telling)
            while drive.effect is not None:
                await drive.perform()
                await self._setup.checkpoint("performed")
        if not any(message.kind == "ai" for message in drive.result.messages):
            telling.withdraw()  # the reply came whole and was none: a broken envelope, say (T-20.5, M-10.3)
        return drive.result

    async def _commit(self, job: Job, ended: Ended) -> tuple[Committed, bool]:
        work = _kept(job, ended, self._signals.answers(job, ended.messages), now_ms=self._setup.now_ms())
        committed, more = await self._setup.ledger.run(work)
        await self._setup.checkpoint("committed")
        if committed.conflict is None:
            self._signals.committed(job, ended.done, ended.result)
        return committed, more

    async def _put_off(self, job: Job, later: Later) -> tuple[Committed, bool]:
        """A timer is set anew, so that it takes no room in the inbox until then; any other input stays there."""
        at, first = max(to_ms(later.at), self._setup.now_ms() + 1), job.inputs[0]
        if first.kind == "wake":
            wake = input_of(first.kind, first.body)
            assert isinstance(wake, Wake)
            return await self._commit(job, Ended(Done(wakes=(WakeWrite(wake.key, at),)), Prepared()))
        await self._setup.ledger.run(put_off(job, at))
        self._signals.due("input", at)
        return Committed(), True

    async def _failed(self, job: Job, error: Exception) -> None:
        now, why = self._setup.now_ms(), _why(error)
        waited, settings = now - job.inputs[0].received_at, self._setup.settings
        pause = pause_of_input(error, attempts=job.attempts, waited_ms=waited, now_ms=now, settings=settings)
        _tell_failed(job, error, pause)
        if pause is None:
            await self._setup.ledger.run(set_aside(job, why, now_ms=now))
            self._signals.failed(job, why)
        else:
            await self._setup.ledger.run(try_later(job, why, now + pause))
            self._signals.due("input", now + pause)


def _both(one: Committed, other: Committed) -> Committed:
    """What two lost tries learned of other sessions: a third must know both, or it would lose to the first again."""
    return Committed(held={**one.held, **other.held}, active=(*one.active, *other.active))


def _tell_failed(job: Job, error: Exception, pause: int | None) -> None:
    kind, session = type(error).__name__, job.place.session
    detail = error if _LOG.isEnabledFor(logging.DEBUG) else None  # its words may be a customer's
    if pause is None:
        extra = line("input.set_aside", session=session, error=kind)
        _LOG.error("an input failed for good and is set aside: %s", kind, exc_info=detail, extra=extra)
    else:
        extra = line("input.failed", session=session, error=kind, ms=pause)
        _LOG.warning("an input failed and is tried again in %d ms: %s", pause, kind, exc_info=detail, extra=extra)


def _kept(job: Job, ended: Ended, answers: Work[None], *, now_ms: int) -> Work[tuple[Committed, bool]]:
    """Commits the turn; and whether the place has another job at once."""
    try:
        committed = yield from commit(job, ended.done, now_ms=now_ms)
    except Undo as lost:
        raise Undo((lost.value, True)) from None
    if ended.prepared.opts == "in":
        yield from opt_in(job.place)
    yield from answers
    return committed, (yield from next_job(job.place, now_ms=now_ms, history_items=0)) is not None


def _why(error: Exception) -> str:
    return without_secrets(f"{type(error).__name__}: {words_of(error)}")[:2000]
