"""Flows to read, drawn or as data, and a flow spec to check against the agent's names. Nothing here changes the agent."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query
from pydantic import ConfigDict, Field
from starlette.responses import Response

from falai.errors import FlowConfigurationError, Problem
from falai.flow.drawing import draw, picture_of_flow
from falai.flow.places import Finding, is_object
from falai.flow.plan import FlowPlan
from falai.flow.registries import Registries
from falai.flow.spec import check_flow, to_spec
from falai.flow.wire import to_wire
from falai.host import Host
from falai.web.api.contract import READING, FlowsCaller, HostOf, answered, problems
from falai.web.mistakes import Body, Wire
from falai.web.problems import ProblemError

__all__ = ["Checked", "FlowHead", "FlowOut", "Flows", "Graph", "SpecIn", "router"]

router = APIRouter(prefix="/v1", tags=["flows"])

FlowId = Annotated[str, Path(description="The id of a flow.", examples=["triage"])]
Format = Annotated[Literal["svg", "mermaid", "json"], Query(alias="format", description="The form of the drawing.")]


class FlowHead(Wire):
    """A flow, and what starts it in plain words."""

    id: str
    name: str
    description: str | None
    triggers: list[str]


class Flows(Wire):
    """The flows of the agent, in its order."""

    flows: list[FlowHead]


class StepOut(Wire):
    """A step, and what it does in plain words."""

    id: str
    kind: str
    title: str
    words: str


class FlowOut(FlowHead):
    """A flow. `spec` is its JSON form; it is `null` where a function of the program decides, and `why` says which."""

    steps: list[StepOut]
    spec: dict[str, Any] | None
    why: str | None


class NodeOut(Wire):
    """A box of the drawing."""

    id: str
    kind: str
    title: str
    words: str
    flow: str | None
    step: str | None


class EdgeOut(Wire):
    """An arrow, and when it is taken."""

    source: str
    target: str
    kind: str
    label: str


class Graph(Wire):
    """A drawing as data: boxes in reading order, and arrows by their ids."""

    title: str
    description: str
    nodes: list[NodeOut]
    edges: list[EdgeOut]


class SpecIn(Body):
    """A flow spec to check."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"spec": {"id": "hello", "steps": [{"say": "Hello."}]}}]})

    spec: Annotated[dict[str, Any], Field(description="One flow, in the form of the page on flows as data.")]


class FindingOut(Wire):
    """One thing that is wrong or odd: where (`steps[0].wait`), what was found, what to do."""

    path: str
    code: str
    severity: Literal["error", "warning"]
    where: str
    message: str
    hint: str


class Checked(Wire):
    """Everything that was found; `valid` without an error."""

    valid: bool
    findings: list[FindingOut]


_GRAPH: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The drawing. In SVG, steps carry `data-flow` and `data-step`.",
        "content": {
            "image/svg+xml": {"schema": {"type": "string"}},
            "text/plain": {"schema": {"type": "string"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/Graph"}},
        },
    },
    **problems("no-flow"),
}


@router.get("/flows", response_model=Flows, responses=problems())
async def list_flows(caller: FlowsCaller, host: HostOf) -> Response:  # noqa: ARG001  # the scope is what counts
    """List the flows."""
    return answered({"flows": [_head(flow) for flow in host.agent.plan.flows.values()]})


@router.get("/flows/{flow_id}", response_model=FlowOut, responses=problems("no-flow"))
async def read_flow(flow_id: FlowId, caller: FlowsCaller, host: HostOf) -> Response:  # noqa: ARG001  # likewise
    """Read a flow: its steps in plain words, and its spec where it has one."""
    flow = _flow(host, flow_id)
    nodes = [node for node in picture_of_flow(flow).nodes if node.step is not None]
    steps = [{"id": node.step, "kind": node.kind, "title": node.title, "words": node.words} for node in nodes]
    try:
        spec, why = to_spec(flow.flow), None
    except (FlowConfigurationError, TypeError) as error:
        spec, why = None, str(error)
    return answered({**_head(flow), "steps": steps, "spec": spec, "why": why})


@router.get("/flows/{flow_id}/graph", response_class=Response, responses=_GRAPH)
async def draw_flow(
    flow_id: FlowId,
    caller: FlowsCaller,  # noqa: ARG001  # likewise
    host: HostOf,
    form: Format = "svg",
) -> Response:
    """Draw a flow."""
    picture = picture_of_flow(_flow(host, flow_id))
    if form == "json":
        nodes = [
            {name: value for name, value in asdict(node).items() if name in NodeOut.model_fields}
            for node in picture.nodes
        ]
        edges = [
            {name: value for name, value in asdict(edge).items() if name in EdgeOut.model_fields}
            for edge in picture.edges
        ]
        return answered({"title": picture.title, "description": picture.description, "nodes": nodes, "edges": edges})
    body = draw(picture, form).encode("utf-8", "replace")
    return Response(body, media_type="image/svg+xml" if form == "svg" else "text/plain")


@router.post("/specs/validate", response_model=Checked, responses=problems(*READING))
async def validate_spec(body: SpecIn, caller: FlowsCaller, host: HostOf) -> Response:  # noqa: ARG001  # likewise
    """Check a flow spec against this agent's fields, actions, events, conditions, tools and flows."""
    wire = to_wire(body.spec)
    findings = [_finding(one) for one in check_flow(wire, _names(host, wire))]
    return answered({"valid": all(one["severity"] != "error" for one in findings), "findings": findings})


def _names(host: Host[Any], wire: Any) -> Registries:
    """The agent's names, and the flow's own: it may chain itself."""
    names = Registries.of(host.agent.plan)
    own = wire.get("id") if is_object(wire) else None
    return replace(names, flows=(*(names.flows or ()), *([own] if isinstance(own, str) else [])))


def _flow(host: Host[Any], flow_id: str) -> FlowPlan:
    found = host.agent.plan.flows.get(flow_id)
    if found is None:
        raise ProblemError(404, "no-flow", "The agent has no flow of this id.")
    return found


def _head(flow: FlowPlan) -> dict[str, Any]:
    return {"id": flow.id, "name": flow.name, "description": flow.flow.description, "triggers": list(_triggers(flow))}


def _triggers(flow: FlowPlan) -> Iterator[str]:
    return (node.words for node in picture_of_flow(flow).nodes if node.kind == "trigger")


def _finding(one: Finding) -> dict[str, Any]:
    severity = "error" if isinstance(one, Problem) else "warning"
    return {
        "path": one.path, "code": one.code, "severity": severity, "where": one.where, "message": one.what,
        "hint": one.fix,
    }  # fmt: skip
