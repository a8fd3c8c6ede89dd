"""What one turn knows while it runs: the marks of T-3.2, and what it has gathered for its result.

A `Turn` works on its own copy of the session. It survives nothing: `phases.py` makes one, the
phases change it, and the result is built from it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Literal, NamedTuple

from falai.flow.conditions import holds
from falai.flow.definition import Predicate, Repeat, TalkStep
from falai.flow.durations import parse_duration
from falai.flow.handlers import View
from falai.flow.plan import AgentPlan, FlowPlan
from falai.flow.templates import Roots, render, roots
from falai.model.inputs import Judgement
from falai.model.port import Usage
from falai.model.tasks import Acted, Corrected, Refused
from falai.session import keys
from falai.session.claims import blocking
from falai.session.codec import copy_session
from falai.session.dates import from_ms, iso, read_date, to_ms
from falai.session.inputs import Event, Message, Start, Wake
from falai.session.jsontext import json_equal, to_plain
from falai.session.model import Run, Session, StepOutcome, TriggerKind, TriggerRef
from falai.turn.given import Given
from falai.turn.result import Change, EndedRun, OutMessage, ScheduledWake, SkippedStart, StartedRun

__all__ = ["Talk", "Turn"]

NOT_JUDGED = Judgement()
_NOBODY: frozenset[str] = frozenset()
Source = Literal["understand", "speak", "tool", "action", "clear"]
LATEST_MS = 253_402_300_799_000
"""The last second of the year 9999: nothing is due later, since no date could say when (B-2.7)."""


class Talk(NamedTuple):
    """The talk step that is to speak."""

    run: Run
    flow: FlowPlan
    step: TalkStep


class Turn:
    """The state of one running turn. Attributes that are marks of T-3.2 have their names.

    Four are for the plan's listener: the flows of `barred` are no candidates for this message and are not
    resumed by it; in a `halted` turn no run is moved by the message; `finished` are the runs of driven flows whose talk
    step has nothing left to ask after its reply; `layer` is what it keeps of the turn.
    """

    def __init__(self, plan: AgentPlan, given: Given, clock: Callable[[], datetime]) -> None:
        self.plan = plan
        self.given = given
        self.input = given.input
        self.gate = given.silenced
        self.now_ms = to_ms(clock())
        self.now = iso(self.now_ms)
        before = given.session
        self.session = Session.fresh(given.session_id) if before is None else copy_session(before)
        self.spoken_before = None if before is None else before.last_assistant_at
        self.parked_on = {id(run): run.waiting.key for run in self.session.runs if run.waiting}
        self.history: Sequence[Mapping[str, Any]] = (
            given.history if given.history is not None else self.session.history or ()
        )
        self.compacted = False
        self.phase: Literal["ingest", "decide", "run", "settle"] = "ingest"
        self._start_marks()
        self._start_gathering()

    def _start_marks(self) -> None:
        self.ignored = False
        self.floor: str | None = None
        self.floor_taken = False
        self.spoke_by: list[Run] = []
        self.spoke = False
        self.delay = 0
        self.talk: Talk | None = None
        self.judged = NOT_JUDGED
        self.speak_done = False
        self.queue: deque[Run] = deque()
        self.barred = _NOBODY
        self.halted = False
        self.finished: list[Run] = []
        self.layer: object = None

    def _start_gathering(self) -> None:
        self.messages: list[OutMessage] = []
        self.schedule: list[ScheduledWake] = []
        self.outcomes: list[StepOutcome] = []
        self.started: list[StartedRun] = []
        self.ended: list[EndedRun] = []
        self.skipped: list[SkippedStart] = []
        self.llm_calls = 0
        self.usage: Usage | None = None
        self.changes: list[Change] = []
        self.refused: list[Refused] = []
        self.corrected: list[Corrected] = []
        self.acted: list[Acted] = []

    # --- the input ------------------------------------------------------------------------------

    @property
    def kind(self) -> Literal["message", "wake", "event", "start"]:
        """Which of the four kinds of input this is (T-1.2)."""
        match self.input:
            case Message():
                return "message"
            case Wake():
                return "wake"
            case Event():
                return "event"
            case Start():
                return "start"

    @cached_property
    def now_at(self) -> datetime:
        """The turn's now, for those who look at it."""
        return from_ms(self.now_ms)

    @property
    def is_message(self) -> bool:
        return isinstance(self.input, Message)

    @property
    def trigger_key(self) -> str:
        """The trigger key of the turn (T-1.5)."""
        if isinstance(self.input, Message):
            return keys.message_trigger_key(self.input.id, self.input.at, self.now)
        return self.input.key

    # --- runs -----------------------------------------------------------------------------------

    def is_live(self, run: Run) -> bool:
        """Whether this very run is in the session: a run is the object, not the id (B-9.6)."""
        return any(live is run for live in self.session.runs)

    def flow_of(self, run: Run) -> FlowPlan | None:
        return self.plan.flows.get(run.flow_id)

    def asking(self) -> Run | None:
        """The asker: the first run that asks (B-5.1)."""
        return next((run for run in self.session.runs if run.status == "asking"), None)

    def others_asking(self, run: Run) -> list[Run]:
        return [other for other in self.session.runs if other is not run and other.status == "asking"]

    def suspend(self, runs: Iterable[Run]) -> None:
        """Takes the floor from these runs; one that was to speak does not speak (T-11.4, T-12.11)."""
        for run in runs:
            run.status, run.suspended_at = "suspended", self.now
            if self.talk and self.talk.run is run:
                self.talk = None

    def has_spoken(self, run: Run) -> None:
        """The assistant has said something by this run (`spokeBy`, `spoke`)."""
        self.spoke_by.append(run)
        self.spoke = True

    def anchor_of(self, flow: FlowPlan) -> str:
        return keys.anchor_key(flow.flow.anchor, self.session.id, self.given.anchors)

    # --- judging --------------------------------------------------------------------------------

    def draft(
        self, flow: FlowPlan, kind: TriggerKind, trigger_key: str, nonce: str = "", *, payload: Any = None, hop: int = 0
    ) -> Run:
        """A run as it would start (T-6.1, F-7.8)."""
        anchor, payload = self.anchor_of(flow), to_plain(payload, "input")
        return Run(
            id=keys.run_id(flow.id, trigger_key),
            flow_id=flow.id,
            anchor=anchor,
            dedupe_key=keys.dedupe_key(flow.id, anchor, nonce),
            step_id=None,
            status="running",
            trigger=TriggerRef(kind=kind, key=trigger_key, payload=payload),
            input=payload,
            hop=hop,
            started_at=self.now,
            asked={},
            visits={},
            outcomes=[],
        )

    def view(self, run: Run | None) -> View[Any]:
        """What a predicate sees when this run, or the idle speaker, is judged (T-7.1)."""
        reason = None if self.gate is None else self.gate.reason
        data, run_input = self.session.data, None if run is None else run.input
        return View(self.given.context, data, run_input, run, reason, self.now_at)

    def holds(self, predicate: Predicate | None, run: Run | None) -> bool:
        """Whether a predicate holds for a run; one that is absent does."""
        return predicate is None or holds(predicate, self.view(run), self.plan.conditions)

    def blocked(self, key: str, repeat: Repeat) -> Literal["already-claimed", "cooldown"] | None:
        """What stops a start that would write this claim (B-10.4)."""
        cooldown = None if isinstance(repeat, str) else parse_duration(repeat["cooldown"])
        return blocking(self.session, key, cooldown, self.given.claims.held, self.now_ms)

    def may_start(self, flow: FlowPlan, trigger: Any, kind: str, trigger_key: str) -> bool:
        """Whether a trigger's `repeat` allows a start under this trigger key (T-8.2)."""
        repeat = trigger.repeat or keys.default_repeat(kind)
        key = keys.dedupe_key(flow.id, self.anchor_of(flow), keys.nonce(repeat, trigger_key))
        return self.blocked(key, repeat) is None

    def customer_wrote_since(self, flow: FlowPlan, date: str | None) -> bool:
        """Whether the customer wrote later than `date`, here or at the flow's anchor (T-5.9)."""
        since = read_date(date)
        if since is None:
            return False
        written = [self.session.last_user_at]
        name = flow.flow.anchor
        anchor = None if name is None or name == "session" else self.given.anchors.get(name)
        if anchor is not None:
            written.append(anchor.last_inbound_at)
        return any(at is not None and at > since for at in map(read_date, written))

    # --- words, times, data ---------------------------------------------------------------------

    def render(self, template: str, run: Run) -> str:
        return render(template, self.roots(run))

    def roots(self, run: Run) -> Roots:
        return roots(data=self.session.data, context=self.given.context, input=run.input)

    def due(self, at_ms: int, *, business_hours: bool | None = None) -> int:
        """A due time that a date can name, moved into business hours where that is asked for (T-11.25)."""
        at_ms = int(min(at_ms, LATEST_MS))  # a provider's time may be a fraction, an action's may be absurd
        if not business_hours or self.plan.business_hours is None:
            return at_ms
        return max(at_ms, to_ms(self.plan.business_hours(from_ms(at_ms), self.given.context)))

    def write(self, field: str, value: Any, source: Source) -> None:
        """Stores a value as plain JSON data and notes the change (F-19.6)."""
        value = to_plain(value, f"data.{field}")
        old = self.session.data.get(field)
        self.session.data[field] = value
        if not json_equal(old, value):
            self.changes.append(Change(field, old, value, source))

    def forget(self, fields: Iterable[str]) -> None:
        """Deletes fields from `data`, and notes the changes."""
        for name in fields:
            if name in self.session.data:
                self.changes.append(Change(name, self.session.data.pop(name), None, "clear"))

    def send(
        self,
        text: str,
        kind: Literal["ai", "verbatim"],
        key: str,
        run: Run | None = None,
        *,
        media: Mapping[str, str] | None = None,
    ) -> None:
        """Emits a message of the run's current step, behind the pauses that were gathered (T-11.8)."""
        run_id, step_id = (run.id, run.step_id) if run else (None, None)
        self.messages.append(OutMessage(to_plain(text), kind, self.delay, key, run_id, step_id, media))
        self.delay = 0
        self.spoke = True
        if run is not None:
            self.spoke_by.append(run)

    def spend(self, calls: int, usage: Usage | None) -> None:
        """Counts model calls and their usage (T-2.5)."""
        self.llm_calls += calls
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage
