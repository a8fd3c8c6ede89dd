"""What one `respond` knows while its turn runs, shared by all who act in it.

The core's `Turn` is the truth about runs and data. Here is what the layer has beside it: what it was
given, what handlers emitted in this phase, and what the response will tell. The sync functions that a
compiled flow holds find it in `CURRENT`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from falai.classic.directive import Directive, is_directive, members_of
from falai.classic.errors import Phase
from falai.classic.response import AppliedInstruction, ExecutedStep, Firing, ToolCall
from falai.classic.sessions import ClassicSession, as_classic
from falai.classic.templates import TemplateContext
from falai.classic.validating import validate
from falai.session.jsontext import show
from falai.session.model import Run
from falai.turn.lines import key_of
from falai.turn.run import last_suspended
from falai.turn.state import Turn

if TYPE_CHECKING:
    from falai.classic.compiling import Compiled  # whose functions look into this state
    from falai.classic.handling import Wants  # likewise

__all__ = ["CURRENT", "Emission", "Link", "Mark", "RunNote", "TurnState", "check_emitted"]

Mark = Literal["aborted", "halt", "reply", "completed", "goto", "reset", "last_step", "finalize_error"]

CURRENT: Final[ContextVar[TurnState | None]] = ContextVar("falai.classic.turn", default=None)
"""The state of the turn that is at work. `respond` sets it before the turn; it serves that one turn."""


@dataclass(frozen=True, slots=True)
class Emission:
    """A directive and who emitted it: `pending`, `signal:<id>`, `tool:<id>`, `hook:prepare:<step>`, … (D-67)."""

    emitter: str
    directive: Directive | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Link:
    """A position that was applied in this turn: `goTo:<flow>`, and who emitted it (D-67)."""

    description: str
    emitter: str


@dataclass(slots=True)
class RunNote:
    """What a turn knows of one run, beside what the run itself says."""

    run: Run
    """Held, so that no other run can come to have its identity."""
    stood_at: str | None = None
    """The key of the step at which it was seen last; `None` for one that has not moved yet."""
    is_unjudged: bool = False
    """Its step is entered without its `if` and `skip` (D-54)."""
    has_begun: bool = False
    """It has entered its flow: the data is in place."""
    was_left: bool = False
    """Its flow's `onExit` has had its turn."""


def opened_before(run: Run) -> set[str]:
    """The keys of the run's flow and steps whose `onEnter` was called in earlier turns, as its lines tell.

    It was where a line tells of a step that did something, or that a halt stopped. Of a step that was passed
    over, since all was known there, a line tells only where the run went.
    """
    passed = {line.key for line in run.outcomes if line.code == "already-known"}
    lines = [line for line in run.outcomes if line.kind != "if" and line.code in (None, "branch")]
    keys = {line.key for line in lines if line.next is None or line.key not in passed}
    return {run.id, *(key for key in keys if key is not None)} if keys else set()


def check_emitted(emitter: str, directive: Any) -> None:
    """Raises `TypeError` for what is no directive, and FlowConfigurationError for an invalid one (D-62)."""
    if not is_directive(directive):
        raise TypeError(f"{emitter} gave {show(directive)}, and a directive is expected, or nothing")
    validate(directive)


class TurnState:
    """The state of one `respond`.

    `context` is the very object that the core is given, so that a write is seen at once. `history` ends
    with the message that is answered. `allowed` are the ids of the flows that may be routed to, `None` for
    all. What stands under *told* is for the response.
    """

    def __init__(
        self,
        compiled: Compiled,
        *,
        context: Any = None,
        history: Sequence[Mapping[str, Any]] = (),
        allowed: frozenset[str] | None = None,
    ) -> None:
        self.compiled = compiled
        self.context = context
        self.history = history
        self.allowed = allowed
        self.phase: Phase = "preparation"
        """Where in the turn an error came from (D-83)."""
        self._turn: Turn | None = None
        self._start_telling()
        self._start_working()

    def _start_telling(self) -> None:
        self.marks: set[Mark] = set()
        """What happened, of the reasons of D-27."""
        self.completed: set[str] = set()
        """The ids of runs that a `complete` ended; other ends are told by the turn's result (D-28)."""
        self.executed: list[ExecutedStep] = []
        self.firings: list[Firing] = []
        self.applied: list[AppliedInstruction] = []
        self.tool_calls: list[ToolCall] = []

    def _start_working(self) -> None:
        self.texts: dict[int, str] = {}
        """What the functions of templates gave at this moment, by their identity."""
        self.calls: list[Wants] = []
        """The tools that the model called, in order."""
        self.wrong: Exception | None = None
        """An invalid directive of a tool: the turn fails, and not the tool's call (D-62)."""
        self.emissions: list[Emission] = []
        """Of the phase that is under way, in order."""
        self.left: Directive = Directive()
        """What the merges before the model left to do: `reply`, `appendPrompt`, `injectTools`."""
        self.links: list[Link] = []
        self.auto_steps: list[str] = []
        self._start_moving()
        self._start_looking()

    def _start_moving(self) -> None:
        self.stepping: Run | None = None
        """The run that is being moved: it needs no place in the queue."""
        self.acting: Run | None = None
        """The run that is stepped, or speaks."""
        self.silent = False
        """Nobody speaks any more in this turn."""
        self.is_cleared = False
        """An `abort` has emptied the session, its history included."""
        self.utterance: str | None = None
        """The key of the message with which this turn answers, once it is known who speaks."""
        self.after_model: Emission | None = None
        """A position that is applied once the reply is."""
        self.is_over = False
        """The signals that follow the turn have run."""

    def _start_looking(self) -> None:
        self.closed: set[str] = set()
        """Flows whose `if` fails, and completed ones."""
        self.asked: set[tuple[str, str, int]] = set()
        """The branches, by flow, step and place, that the model is asked about."""
        self._notes: dict[int, RunNote] = {}
        """By the identity of the run."""
        self.opened: set[str] = set()
        """The keys of the flows and steps whose `onEnter` was called, in this turn or earlier."""
        self.seen_data: dict[str, Any] = {}
        """The data of which the hooks have heard."""
        self.unwanted_signals: frozenset[str] = frozenset()
        """Signals that code keeps from firing on this message."""
        self.disallowed: frozenset[str] = frozenset()
        """Flows that `allowed` leaves out."""
        self.fired: set[str] = set()
        """Signals that have fired before the model."""

    # --- the turn -------------------------------------------------------------------------------

    @property
    def turn(self) -> Turn:
        """The core's turn; there is one from the first moment on."""
        assert self._turn is not None
        return self._turn

    @property
    def is_bound(self) -> bool:
        """Whether the turn has begun."""
        return self._turn is not None

    def bind(self, turn: Turn) -> None:
        """Takes the turn that begins."""
        self._turn = turn
        self.seen_data = dict(turn.session.data)
        for run in turn.session.runs:
            self.note(run).stood_at = key_of(run)
            self.opened |= opened_before(run)

    def note(self, run: Run) -> RunNote:
        """What this turn knows of the run: of this very object, and not of its id."""
        return self._notes.setdefault(id(run), RunNote(run))

    @property
    def session(self) -> ClassicSession:
        """The session as it stands, for a handler to read."""
        return as_classic(self.turn.session)

    def current(self) -> Run | None:
        """The run that a position leaves: the one that acts or is to speak, that asks, or was suspended last (D-92)."""
        turn = self.turn
        if self.acting is not None and turn.is_live(self.acting):
            return self.acting
        if turn.talk is not None:
            return turn.talk.run
        return turn.asking() or last_suspended(turn.session.runs)

    def scene(self) -> TemplateContext:
        """What a predicate and a template's function get (D-12, D-17)."""
        return TemplateContext(self.context, self.turn.session.data, self.session, self.history)

    # --- directives -----------------------------------------------------------------------------

    def emit(self, emitter: str, directive: Any) -> None:
        """Takes a directive that a handler returned or dispatched, into the phase that is under way (D-62, D-63).

        Nothing and an empty one are no emissions. Raises FlowConfigurationError for an invalid one, and
        `TypeError` for what is none.
        """
        if directive is None:
            return
        check_emitted(emitter, directive)
        if members_of(directive):
            self.emissions.append(Emission(emitter, directive))

    def taken(self) -> list[Emission]:
        """The emissions of the phase; the next phase begins."""
        taken, self.emissions = self.emissions, []
        return taken
