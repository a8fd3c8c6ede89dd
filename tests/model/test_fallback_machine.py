"""A fallback under any order of calls, answers, failures and time: who is asked is what M-21 says.

Calls are coroutines driven by hand: each waits inside the model that it asked until a rule lets it
go, so that any number of them is under way at once, without an event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Generator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from falai.errors import ProviderError
from falai.model import FallbackModel, ModelChunk, ModelReply, ModelRequest
from falai.model.tasks import SummaryTask
from falai.session.dates import to_ms
from falai.testing import Clock

REQUEST = ModelRequest(
    schema_name="summary", prompt="", system=None, history=(), context=None, schema={}, task=SummaryTask(items=())
)
COOLDOWNS: dict[Any, int | None] = {
    "rate": 60_000, "timeout": 30_000, "network": 30_000, "overload": 30_000, "quota": 3_600_000, "auth": 3_600_000,
    "entitlement": 3_600_000, "model": 3_600_000, "context": None, "content": None, "invalid": None, "unknown": None,
}  # fmt: skip
NAMES = ["a", "b", "c"]


@dataclass
class _Asked:
    """What a call says of itself when it waits inside a model."""

    name: str

    def __await__(self) -> Generator[_Asked, ModelReply, ModelReply]:
        return (yield self)


@dataclass
class _Model:
    name: str

    async def complete(self, request: ModelRequest) -> ModelReply:
        return await _Asked(self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        reply = await self.complete(request)
        yield ModelChunk(reply.message, reply.message, reply)


@dataclass
class _Known:
    """What the rules say of a model."""

    until: int | None = None
    probe: int | None = None


@dataclass
class _Call:
    number: int
    running: Coroutine[Any, Any, ModelReply]
    at: int = -1
    """The place of the model that it waits in."""
    failures: list[ProviderError] = field(default_factory=list[ProviderError])


class Fallback(RuleBasedStateMachine):
    """The fallback beside its rules."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Clock()
        self.model = FallbackModel([_Model(name) for name in NAMES], clock=self.clock)
        self.known = [_Known() for _ in NAMES]
        self.calls: list[_Call] = []
        self.begun = 0

    def teardown(self) -> None:
        for call in self.calls:
            call.running.close()

    def _now(self) -> int:
        return to_ms(self.clock())

    def _next(self, call: _Call) -> int | None:
        """The model that a call has to ask next; to ask one that was cooled down is to probe it."""
        for place in range(call.at + 1, len(NAMES)):
            known = self.known[place]
            if known.until is None:
                return place
            if known.probe is None and self._now() >= known.until:
                known.probe = call.number
                return place
        return None

    def _go(self, call: _Call, answer: ModelReply | Exception | None) -> None:
        """Lets a call go on, and holds what it does against the rules."""
        expected = self._next(call) if answer is None or isinstance(answer, ProviderError) else None
        try:
            asked = call.running.throw(answer) if isinstance(answer, Exception) else call.running.send(answer)
        except ProviderError as raised:
            assert expected is None
            self._check_error(call, raised)
        else:
            assert isinstance(asked, _Asked)
            assert expected is not None
            assert asked.name == NAMES[expected]
            call.at = expected
            self.calls.append(call)

    def _check_error(self, call: _Call, raised: ProviderError) -> None:
        if call.failures:
            assert raised is call.failures[-1], "the last failure is raised"
            return
        earliest = max(self._now(), min(known.until or 0 for known in self.known))
        assert (raised.provider, raised.kind, raised.reset_at_ms) == ("fallback", "rate", earliest)
        assert raised.retry_after_ms == earliest - self._now()

    def _leaves(self, call: _Call) -> bool:
        """A call leaves its model; whether it was the probe of it."""
        probed = self.known[call.at].probe == call.number
        if probed:
            self.known[call.at].probe = None
        return probed

    @rule()
    def begin(self) -> None:
        """A call begins."""
        self.begun += 1
        self._go(_Call(self.begun, self.model.complete(REQUEST)), None)

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def succeed(self, data: st.DataObject) -> None:
        """A model answers; the reply says which."""
        call = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        if self._leaves(call):
            self.known[call.at] = _Known()
        with pytest.raises(StopIteration) as done:
            call.running.send(ModelReply(message="hi"))
        assert done.value.value == ModelReply(message="hi", model=NAMES[call.at])

    @precondition(lambda self: self.calls)
    @rule(
        data=st.data(),
        kind=st.sampled_from(sorted(COOLDOWNS)),
        wait=st.none() | st.integers(0, 200_000),
        reset=st.none() | st.integers(-10_000, 200_000),
    )
    def fail(self, data: st.DataObject, kind: Any, wait: int | None, reset: int | None) -> None:
        """A model fails, perhaps with a stated time."""
        call = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        now, known = self._now(), self.known[call.at]
        error = ProviderError(
            "down", kind=kind, retry_after_ms=wait, reset_at_ms=None if reset is None else now + reset
        )
        call.failures.append(error)
        if (cooldown := COOLDOWNS[kind]) is None:
            self._leaves(call)
            with pytest.raises(ProviderError) as raised:
                call.running.throw(error)
            assert raised.value is error
            return
        stated = [now + after for after in (wait, reset) if after is not None]
        known.until = max(known.until or 0, max(stated, default=now + cooldown))
        self._leaves(call)
        self._go(call, error)

    @precondition(lambda self: self.calls)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """A caller goes away."""
        call = self.calls.pop(data.draw(st.integers(0, len(self.calls) - 1)))
        self._leaves(call)
        with pytest.raises(asyncio.CancelledError):
            call.running.throw(asyncio.CancelledError())

    @rule(by=st.sampled_from([1, 29_999, 30_000, 60_000, 3_600_000]))
    def wait(self, by: int) -> None:
        """Time passes."""
        self.clock.advance(by)

    @rule(place=st.none() | st.sampled_from([0, 1, 2]))
    def reset(self, place: int | None) -> None:
        """Somebody knows better."""
        self.model.reset(None if place is None else NAMES[place])
        for index in range(len(NAMES)) if place is None else [place]:
            self.known[index] = _Known()

    @invariant()
    def status_is_known(self) -> None:
        """`status()` tells what the rules say."""
        found = [status.next_attempt and to_ms(status.next_attempt) for status in self.model.status()]
        assert found == [known.until for known in self.known]


TestFallback = pytest.mark.property(Fallback.TestCase)
"""No order of calls, answers, failures, cancellations and time breaks the rules."""
