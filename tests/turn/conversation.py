"""Random conversations: what is given to each turn, what the host's handlers answer, what was seen.

`play(seed)` draws an agent and plays a sequence of turns with it. Each turn is `Played`: what was
given, what came back, and what the model, the actions and the tools were asked. All of it follows
from the seed, turn by turn, so any turn can be played again with the same answers.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from falai import Agent, Event, Message, Start, Wake
from falai.flow.functions import Action, Tool
from falai.flow.handlers import ActionContext, ToolContext
from falai.model.port import ModelRequest
from falai.session.codec import session_to_json
from falai.session.dates import iso, read_date
from falai.session.keys import dedupe_key, run_id
from falai.session.model import Claim, Run, Session, TriggerRef
from falai.testing import Clock
from falai.turn.result import TurnResult
from strategies import ACTIONS, CONDITIONS, EVENTS, FLOW_IDS, STEP_IDS, Dice, draw_agent, edited
from turn.random_model import RandomModel
from turn.watching import Watched, watch

__all__ = ["Acted", "Given", "Played", "World", "play", "play_turn", "replay", "since"]

START_MS = 1_789_898_400_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
ALLOWED = (ArithmeticError,)  # what the drawn predicate raises; a failed understand call is told by its kind


# --- what is seen -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Acted:
    """One call of an action."""

    key: str
    run: str
    step: str | None
    spoke: bool


@dataclass(frozen=True)
class Given:
    """What a turn was given."""

    session_id: str
    input: Message | Wake | Event | Start
    session: Session | None
    now_ms: int
    context: Mapping[str, Any] | None
    history: Sequence[Mapping[str, Any]] | None
    silenced: Any
    anchors: Mapping[str, Any] | None
    claims: Mapping[str, Any] | None
    seed: str
    """Of the answers of model, actions and tools."""

    @property
    def around(self) -> dict[str, Any]:
        """What `pending_wakes` takes too."""
        return {"context": self.context, "silenced": self.silenced, "anchors": self.anchors, "claims": self.claims}

    @property
    def now(self) -> str:
        return iso(self.now_ms)


@dataclass
class Played:
    """One turn that was played."""

    world: World
    agent: Agent[Any]
    options: Mapping[str, Any]
    """The options of the agent that played it; its flows may have been edited since the last turn."""
    given: Given
    before: Session
    """A copy of the given session as it was, or the fresh one of a first contact."""
    before_json: str
    result: TurnResult | None = None
    error: Exception | None = None
    requests: list[ModelRequest] = field(default_factory=list)
    acted: list[Acted] = field(default_factory=list)
    tools_used: int = 0
    watched: Watched | None = None
    """The same turn again, by a driver that looks inside (V-4, V-32, V-44)."""
    after_save: Played | None = None
    """The same input on the saved session, where a replay has something to show (V-37)."""

    @property
    def done(self) -> TurnResult:
        assert self.result is not None
        return self.result

    @property
    def after(self) -> Session:
        return self.done.session

    @property
    def ignored(self) -> bool:
        void = {"duplicate-input", "stale-wake", "silence-broken", "no-session"}
        return any(line.code in void for line in self.done.outcomes)


# --- the host -----------------------------------------------------------------------------------


class World:
    """An agent's host: one clock, one model, handlers that answer by the turn's dice."""

    def __init__(self, seed: int) -> None:
        dice = Dice((seed, "agent"))
        self.clock = Clock()
        self.model = RandomModel()
        self.dice = Dice(0)
        self.acted: list[Acted] = []
        self.tools_used = 0
        self.session_id = dice.pick(["s1", "s1", "s:1"])
        self.calm = dice.chance(0.4)
        """A host that edits nothing, silences nobody and keeps its sessions: conversations go deeper."""
        self.options = draw_agent(dice)
        self.edited = edited(dice, self.options)
        self.moves = self._moves(Dice((seed, "moves")))
        self.agents = [self._agent(self.options), self._agent(self.edited)]

    def _moves(self, dice: Dice) -> list[Any]:
        """Where actions and tools may move: steps that every flow has, also when it was edited, and all the rest."""
        flows = [flow for options in (self.options, self.edited) for flow in options["flows"]]
        steps: list[Any] = [step for step in STEP_IDS if all(step in (s["id"] for s in f["steps"]) for f in flows)]
        kept: list[Any] = [{"flow": flow["id"]} for flow in self.edited["flows"]]
        return dice.some([*steps, "end", {"reset": True}, *kept])

    def _agent(self, options: Mapping[str, Any]) -> Agent[Any]:
        moves = self.moves
        return Agent(
            **options,
            model=self.model,
            clock=self.clock,
            conditions=CONDITIONS,
            events=EVENTS,
            actions={
                name: Action(name, self._act, parameters={"text": {"type": "string"}}, moves=moves) for name in ACTIONS
            },
            tools=[
                Tool("look", self._use, moves=moves),
                Tool("fetch", self._use, read_only=lambda _arguments: True, moves=moves),
            ],
        )

    def begin(self, given: Given) -> None:
        """Sets the clock and the dice for a turn, also for one that is played again."""
        self.clock.set(iso(given.now_ms))
        self.model.begin(Dice((given.seed, "model")))
        self.dice = Dice((given.seed, "host"))
        self.acted, self.tools_used = [], 0

    def _act(self, ctx: ActionContext[Any], **_parameters: Any) -> Any:
        result, wrong = self._with_beside(self._result())
        said_so = isinstance(result, dict) and result.get("ok") is True and result.get("spoke") is True
        spoke = said_so and not wrong
        self.acted.append(Acted(ctx.key, ctx.run.id, ctx.run.step_id, spoke))
        if self.dice.chance(0.3):
            ctx.set({self.dice.pick(["name", "size", "other"]): self.dice.pick([None, "set", 5])})
        if result == "raise":
            raise RuntimeError(self.dice.pick(["it broke", ""]))
        return result

    def _with_beside(self, result: Any) -> tuple[Any, bool]:
        """The result with a move or a text beside it now and then, and whether one of these is wrong."""
        if not isinstance(result, dict) or self.dice.chance(0.6):
            return result, False
        beside: dict[str, Any] = {}
        if self.moves and self.dice.chance(0.6):
            beside["move"] = self._move()
        if self.dice.chance(0.4):
            beside["say"] = "By the way."
        if self.dice.chance(0.15):
            wrong = [{"move": 5}, {"move": {"step": "a", "flow": "a"}}, {"move": "nowhere"}, {"say": 3}, {"say": " "}]
            return {**result, **beside, **self.dice.pick(wrong)}, True
        return {**result, **beside}, "defer" in result and "move" in beside

    def _move(self) -> Any:
        move = self.dice.pick(self.moves)
        if isinstance(move, str) and move != "end" and self.dice.chance(0.5):
            return {"step": move, "clear": self.dice.some(["name", "size"])}
        return {**move, "input": {"from": "code"}} if "flow" in move and self.dice.chance(0.3) else move

    def _result(self) -> Any:
        good = [{"ok": True}, {"ok": True, "detail": "done"}, {"ok": True, "spoke": True}, {"skipped": "no need"}]
        bad = [{"failed": "no"}, {"failed": ["x"]}, "raise", None, {"ok": False}, {"ok": "yes"}, {"defer": "soon"}, 3]
        later = [{"defer": "1h", "detail": "busy"}, {"defer": "0s"}, {"defer": "2d", "detail": ["x"]}]
        return self.dice.pick(
            {"good": good, "bad": bad, "later": later}[self.dice.pick(["good", "good", "bad", "later"])]
        )

    def _use(self, _ctx: ToolContext[Any], **_arguments: Any) -> Any:
        self.tools_used += 1
        if self.dice.chance(0.2):
            raise RuntimeError("the tool broke")
        found = self.dice.pick([{}, {"value": "found"}, {"data": {"name": "from a tool"}}, {"data": "odd"}, "words"])
        return self._with_beside(found)[0] or None


# --- playing ------------------------------------------------------------------------------------


async def play_turn(world: World, agent: Agent[Any], options: Mapping[str, Any], given: Given) -> Played:
    """Plays one turn. What may go out of a turn (V-46) is kept in `error`; anything else is raised."""
    world.begin(given)
    session = given.session
    before = Session.fresh(given.session_id) if session is None else copy.deepcopy(session)
    played = Played(world, agent, options, given, before, session_to_json(before))
    try:
        played.result = await agent.turn(
            given.session_id, given.input, session=session, history=given.history, **given.around
        )
    except Exception as error:
        failed_call = bool(world.model.requests) and world.model.requests[-1].schema_name == "understand"
        if not failed_call and not isinstance(error, ALLOWED):
            raise
        played.error = error
    played.requests, played.acted, played.tools_used = world.model.requests, world.acted, world.tools_used
    return played


async def replay(played: Played) -> None:
    """Plays the turn again in two ways: as it was, watched; and on the saved session."""
    given, agent = played.given, played.agent
    played.world.begin(given)
    played.watched = await watch(
        agent, given.session_id, given.input, session=given.session, history=given.history, **given.around
    )
    saved = replace(given, session=played.after)
    if played.done.changed and _means_the_same(played):
        played.after_save = await play_turn(played.world, agent, played.options, saved)


def _means_the_same(played: Played) -> bool:
    """Whether a replay after the save must do nothing: V-37 speaks of these inputs only."""
    match played.given.input:
        case Message(id=message_id):
            return message_id is not None and bool(message_id.strip())
        case Wake():
            return True
        case Start(flow=flow, key=key):
            return f"{flow}#{key}" in {run.run_id for run in played.done.started}
        case _:
            return False


async def play(seed: int) -> AsyncIterator[Played]:
    """A random conversation, turn by turn."""
    world = World(seed)
    dice = Dice((seed, "turns"))
    memory = _Memory(world)
    for number in range(dice.number(5, 22 if world.calm else 14)):
        played = await play_turn(*_next_turn(Dice((seed, number)), world, memory, f"{seed}/{number}"))
        memory.note(played)
        yield played


@dataclass
class _Memory:
    """What a host would know of earlier turns."""

    world: World
    now_ms: int = START_MS
    sessions: list[Session] = field(default_factory=list)
    keys: list[tuple[str, int]] = field(default_factory=list)
    messages: int = 0

    def note(self, played: Played) -> None:
        if played.result is not None:
            self.sessions.append(played.result.session)
            self.keys += [(wake.key, int(wake.at.timestamp() * 1000)) for wake in played.result.schedule]


def _next_turn(
    dice: Dice, world: World, memory: _Memory, seed: str
) -> tuple[World, Agent[Any], Mapping[str, Any], Given]:
    which = 1 if not world.calm and dice.chance(0.15) else 0
    memory.now_ms += dice.pick([0, 0, 1_000, 20_000, 10 * MINUTE, HOUR, 2 * HOUR, DAY])
    session = _session(dice, world, memory)
    what = _input(dice, memory, session)  # a wake may move the clock to its due time
    given = Given(
        session_id=world.session_id,
        input=what,
        session=session,
        now_ms=memory.now_ms,
        context=_context(dice),
        history=_history(dice),
        silenced=None if world.calm else _silenced(dice),
        anchors=_anchors(dice, memory),
        claims=_claims(dice),
        seed=seed,
    )
    return world, world.agents[which], [world.options, world.edited][which], given


# --- inputs -------------------------------------------------------------------------------------


def _input(dice: Dice, memory: _Memory, session: Session | None) -> Message | Wake | Event | Start:
    match dice.weighted({"message": 10, "wake": 6 if memory.keys else 1, "event": 4, "start": 2}):
        case "message":
            return _message(dice, memory)
        case "wake":
            return Wake(_wake_key(dice, memory, session))
        case "event":
            name = dice.pick(["in", "out", "plain", "undeclared"])
            return Event(name, dice.pick(["k1", "k2", f"k{memory.messages}"]), _payload(dice), _hop(dice))
        case _:
            flow = dice.pick([*FLOW_IDS, *FLOW_IDS, "gone"])
            return Start(flow, dice.pick(["k1", "k2", f"k{memory.messages}"]), _payload(dice), _hop(dice))


def _message(dice: Dice, memory: _Memory) -> Message:
    memory.messages += 1
    known = f"m{max(1, memory.messages - 2)}"
    message_id = dice.weighted({f"m{memory.messages}": 10, known: 1, None: 1, " ": 0.3})
    written = dice.pick([None, None, None, iso(memory.now_ms - HOUR), "yesterday", "2026-09-20"])
    return Message(dice.pick(["hello", "I want this", ""]), message_id, written)


def _wake_key(dice: Dice, memory: _Memory, session: Session | None) -> str:
    """A key that somebody waits on, of late or long ago, or one that was never scheduled."""
    waiting = [run.waiting.key for run in session.runs if run.waiting and run.waiting.key] if session else []
    silences = [key for key, _ in memory.keys if key.startswith("silence:")][-2:]
    pools = [waiting, waiting, waiting, silences, silences, [key for key, _ in memory.keys]]
    pool = dice.pick(pools) or ["never:scheduled:1", "silence:gone:s1:5", "silence:a:s1:x"]
    return _on_time(dice, memory, dice.pick(pool))


def _on_time(dice: Dice, memory: _Memory, key: str) -> str:
    due = dict(memory.keys).get(key)
    if due is not None and dice.chance(0.7):
        memory.now_ms = max(memory.now_ms, due)
    return key


def _payload(dice: Dice) -> Any:
    return dice.pick([None, {"deal": 7}, "text", 0])


def _hop(dice: Dice) -> int:
    return dice.weighted({0: 8, 3: 1, 4: 1, 5: 0.5})


# --- what comes with an input -------------------------------------------------------------------


def _context(dice: Dice) -> Mapping[str, Any] | None:
    if dice.chance(0.1):
        return None
    flow = dice.pick([*FLOW_IDS, "nowhere"])
    return {"vip": dice.chance(0.5), "who": dice.pick(["Bo", ""]), "flow": flow, "boom": dice.chance(0.03)}


def _history(dice: Dice) -> Sequence[Mapping[str, Any]] | None:
    if dice.chance(0.6):
        return None
    talk = [{"role": "user", "content": "hello there, it is me again"}, {"role": "assistant", "content": "Hi! " * 9}]
    return talk * dice.number(0, 3)


def _silenced(dice: Dice) -> Any:
    if dice.chance(0.8):
        return None
    flags = {key: dice.chance(0.5) for key in ("understand", "skip")}
    return dice.pick(["a person writes", "", {"reason": "held", **flags}, {"reason": "", **flags}])


def _anchors(dice: Dice, memory: _Memory) -> Mapping[str, Any] | None:
    if dice.chance(0.6):
        return None
    inbound = dice.pick([None, iso(memory.now_ms), iso(memory.now_ms - HOUR), "never"])
    return {"deal": {"key": dice.pick(["d1", "d2", "s1:d"]), "lastInboundAt": inbound}}


def _claims(dice: Dice) -> Mapping[str, Any] | None:
    if dice.chance(0.8):
        return None
    held = {f"{dice.pick(FLOW_IDS)}:s1:": iso(START_MS - HOUR)}
    return {"held": held, "active": [f"{dice.pick(FLOW_IDS)}:{dice.pick(['s1', 'd1'])}"]}


# --- sessions -----------------------------------------------------------------------------------


def _session(dice: Dice, world: World, memory: _Memory) -> Session | None:
    """The last one mostly; at first sometimes, and later rarely, a hand-made one."""
    if not memory.sessions:
        return _hand_made(dice, world, memory.now_ms) if dice.chance(0.45) else None
    if world.calm:
        return memory.sessions[-1]
    match dice.weighted({"last": 90, "earlier": 3, "made": 4, "none": 3}):
        case "last":
            return memory.sessions[-1]
        case "earlier":
            return dice.pick(memory.sessions)
        case "made":
            return _hand_made(dice, world, memory.now_ms)
        case _:
            return None


def _hand_made(dice: Dice, world: World, now_ms: int) -> Session:
    """A blob with runs that run, ask or are suspended at any step; at most one asks."""
    session = Session.fresh(world.session_id)
    session.version = dice.number(0, 9)
    session.metadata = {"channel": "test"}
    session.last_user_at = iso(now_ms - dice.pick([0, MINUTE, DAY]))
    session.last_assistant_at = iso(now_ms - dice.pick([0, MINUTE, DAY]))
    session.data = {name: value for name, value in {"name": "Bo", "size": 4, "plan": ""}.items() if dice.chance(0.4)}
    if dice.chance(0.1):
        session.history = [{"role": "user", "content": "before"}]
    for flow_id in dice.some(FLOW_IDS):
        run = _run(dice, world, flow_id, now_ms)
        if run.status == "asking" and any(other.status == "asking" for other in session.runs):
            run.status, run.suspended_at = "suspended", iso(now_ms - MINUTE)
        session.runs.append(run)
        session.claims[run.dedupe_key] = Claim(at=run.started_at)
    return session


def _run(dice: Dice, world: World, flow_id: str, now_ms: int) -> Run:
    key, started = dice.pick(["h1", "h2"]), iso(now_ms - dice.pick([0, MINUTE, DAY]))
    nonce = dice.pick(["", key])
    step = dice.pick(STEP_IDS)
    status = dice.pick(["running", "asking", "suspended"])
    payload = _payload(dice)
    kind = dice.pick(["message", "mention", "silence", "event", "start", "flow"])
    run = Run(
        id=run_id(flow_id, key),
        flow_id=flow_id,
        anchor=world.session_id,
        dedupe_key=dedupe_key(flow_id, world.session_id, nonce),
        step_id=step,
        status=status,
        trigger=TriggerRef(kind=kind, key=key, payload=payload),
        input=payload,
        hop=dice.number(0, 4),
        started_at=started,
        suspended_at=iso(now_ms - dice.pick([0, MINUTE])) if status == "suspended" else None,
        asked={},
        visits={step: dice.number(1, 3)},
        outcomes=[],
    )
    if status != "running" and dice.chance(0.2):
        run.staying = True
    if dice.chance(0.3):
        run.asked = {"name": 1}
    return run


def since(later: str | None, earlier: str | None) -> bool:
    """Whether one date text is later than another; an unreadable one is not (T-5.9)."""
    a, b = read_date(later), read_date(earlier)
    return a is not None and b is not None and a > b
