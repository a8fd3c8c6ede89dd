"""The picture of one flow: its triggers, its steps, and where it leads.

An end, and a flow that is chained, is drawn once for each step that leads there: arrows stay short, and the
same box twice says no less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from falai.flow.definition import Flow, Step
from falai.flow.drawing.picture import NodeKind, Picture, PictureEdge, PictureNode
from falai.flow.drawing.telling import condition_words, exit_words, step_words, trigger_words
from falai.flow.drawing.trail import run_words, started_by, taken_ways
from falai.flow.exits import Exit, exits
from falai.flow.plan import FlowPlan
from falai.flow.spec import from_spec
from falai.flow.wire import to_wire
from falai.session.model import Run

__all__ = ["chained", "path_of", "picture_of_flow", "plan_of", "trigger_nodes"]


def picture_of_flow(flow: FlowPlan | Flow | Mapping[str, Any], run: Run | None = None) -> Picture:
    """A flow with its steps; with a run, where that has been and where it stands.

    The flow may be a plan, a definition or a spec. Its names are not looked up, so a flow with unknown
    fields or missing steps is drawn as well. Raises FlowConfigurationError when its shape is wrong.
    """
    return _Drawing(plan_of(flow), run).picture()


def plan_of(flow: FlowPlan | Flow | Mapping[str, Any]) -> FlowPlan:
    """The plan of a flow whose shape is right, each step with an id of its own."""
    if isinstance(flow, FlowPlan):
        return flow
    made = from_spec(to_wire(flow))
    return FlowPlan(replace(made, id=made.id or "flow", name=made.name or made.id or "flow", steps=_told_apart(made)))


def trigger_nodes(flow: FlowPlan) -> Iterator[PictureNode]:
    """What starts the flow, one node for each trigger; a flow without any has one that says so."""
    for index, trigger in enumerate(flow.triggers):
        yield PictureNode(
            id=path_of(flow.id, "on", str(index)), kind="trigger", title="", words=trigger_words(trigger), flow=flow.id
        )
    if not flow.triggers:
        words = "another flow, or the program, starts it"
        yield PictureNode(id=path_of(flow.id, "on"), kind="trigger", title="", words=words, flow=flow.id)


def chained(target: str) -> str | None:
    """The flow that a target names; `None` for a template, which names one only when the run is there (F-8.7)."""
    return None if "{{" in target else target


def path_of(*parts: str) -> str:
    """The id of a node: no two lists of parts give the same."""
    return "/".join(part.replace("%", "%25").replace("/", "%2F") for part in parts)


_KINDS: Mapping[str, NodeKind] = {
    "Collect": "collect", "Prompt": "prompt", "Say": "say", "Do": "do", "Wait": "wait", "WaitEvent": "waitEvent", "If": "if",
}  # fmt: skip


def _told_apart(flow: Flow) -> list[Any]:
    """The steps; one without an id, or with that of an earlier one, gets its number for an id."""
    seen: set[str] = set()
    steps: list[Any] = []
    for number, step in enumerate(flow.steps, 1):
        named: Any = step
        if not named.id or named.id in seen:
            named = replace(named, id=f"{named.id or ''}#{number}")
        seen.add(named.id)
        steps.append(named)
    return steps


@dataclass
class _Drawing:
    """One picture in the making: nodes by id, in reading order."""

    flow: FlowPlan
    run: Run | None

    def __post_init__(self) -> None:
        self._taken = taken_ways(self.flow, self.run)
        self._nodes: dict[str, PictureNode] = {}
        self._edges: list[PictureEdge] = []

    def picture(self) -> Picture:
        self._start()
        for step in self.flow.steps:
            self._add(self._step_node(step))
            for way in exits(self.flow, step):
                self._leave(step, way)
        return Picture(
            title=self.flow.name if self.flow.name == self.flow.id else f"{self.flow.name} ({self.flow.id})",
            description=self._about(),
            nodes=tuple(self._nodes.values()),
            edges=tuple(map(self._seen, self._edges)),
            run=None if self.run is None else run_words(self.run),
        )

    def _about(self) -> str:
        while_ = self.flow.flow.while_
        lasts = "" if while_ is None else f"Goes on while {condition_words(while_)}."
        return " ".join(part for part in (self.flow.flow.description or "", lasts) if part)

    def _start(self) -> None:
        begun = started_by(self.flow, self.run) if self.run else None
        for index, node in enumerate(trigger_nodes(self.flow)):
            self._add(replace(node, visits=int(index == begun)))
            first = self._first()
            target = self._end(node.id) if first is None else self._step_id(first)
            entered = bool(self.run and self.run.visits)
            taken = int(index == begun and entered)
            self._edges.append(PictureEdge(source=node.id, target=target, kind="start", taken=taken))

    def _step_node(self, step: Step) -> PictureNode:
        return PictureNode(
            id=self._step_id(step.id),
            kind=_KINDS[type(step).__name__],
            title=step.id if not step.label or step.label == step.id else f"{step.label} ({step.id})",
            words=step_words(step),
            flow=self.flow.id,
            step=step.id,
            visits=0 if self.run is None else self.run.visits.get(step.id, 0),
            here=self.run is not None and self.run.step_id == step.id,
        )

    def _leave(self, step: Step, way: Exit) -> None:
        source, taken = self._step_id(step.id), self._taken[step.id, way.path]
        target = self._target(source, way)
        self._edges.append(
            PictureEdge(source=source, target=target, kind=way.kind, label=exit_words(step, way), taken=taken)
        )
        reached = self._nodes.get(target)
        if reached is not None and reached.step is None:
            self._nodes[target] = replace(reached, visits=reached.visits + taken)

    def _seen(self, edge: PictureEdge) -> PictureEdge:
        """What leads on from an end was taken as often as that was reached."""
        return replace(edge, taken=self._nodes[edge.source].visits) if edge.kind == "onEnd" else edge

    def _target(self, source: str, way: Exit) -> str:
        if way.flow is not None:
            return self._add(_flow_node(f"{source}/{path_of('flow', way.flow)}", way.flow))
        if way.step is None:
            return self._end(source)
        if way.step not in self.flow.positions:
            words = f"there is no step {way.step}"
            return self._add(
                PictureNode(id=f"{source}/{path_of('missing', way.step)}", kind="missing", title=way.step, words=words)
            )
        return self._step_id(way.step)

    def _end(self, source: str) -> str:
        """The end of the flow; with `onEnd` it is not over, and the arrow goes on (T-12.8)."""
        node_id = f"{source}/end"
        if node_id in self._nodes:
            return node_id
        back = {"stay": self._staying(), "reset": self._first()}.get(self.flow.flow.on_end or "end")
        words = "end" if back is None else {"stay": "stays", "reset": "begins again"}[str(self.flow.flow.on_end)]
        self._add(PictureNode(id=node_id, kind="end", title=words, flow=self.flow.id))
        if back is not None:
            self._edges.append(PictureEdge(source=node_id, target=self._step_id(back), kind="onEnd"))
        return node_id

    def _staying(self) -> str | None:
        """The talk step on which a run stays: the one that it took last, most often the last of the list (T-12.9)."""
        talking = self.flow.talk_steps
        return talking[-1].id if talking else None

    def _first(self) -> str | None:
        return self.flow.steps[0].id if self.flow.steps else None

    def _step_id(self, step_id: str) -> str:
        return path_of(self.flow.id, "step", step_id)

    def _add(self, node: PictureNode) -> str:
        self._nodes.setdefault(node.id, node)
        return node.id


def _flow_node(node_id: str, target: str) -> PictureNode:
    flow = chained(target)
    words = "" if flow is not None else f"the one that {target} names"
    return PictureNode(id=node_id, kind="flow", title=flow or "any flow", words=words, flow=flow)
