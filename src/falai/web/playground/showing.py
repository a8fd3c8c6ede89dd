"""The addresses that show something; whoever looks changes nothing, but sees what time has brought."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from falai.agent import Agent
from falai.errors import Problem
from falai.flow.places import Finding
from falai.flow.spots import Span
from falai.session.jsontext import to_plain
from falai.web.playground.asking import branch_of, json_response, played, sandbox_of, state_response
from falai.web.playground.bodies import SpecBody, read_body
from falai.web.playground.pictures import drawn
from falai.web.playground.scenario import scenario_of
from falai.web.playground.specs import check, text_of
from falai.web.problems import ProblemError

__all__ = ["check_spec", "graph", "scenario", "spec", "state"]


async def state(request: Request) -> Response:
    """Everything that the page shows of a branch, with what has come due by now."""
    sandbox = sandbox_of(request)
    branch = branch_of(sandbox, request.query_params.get("branch"))
    await played(request, branch.catch_up())
    return state_response(sandbox, branch)


async def graph(request: Request) -> Response:
    """A flow drawn, and in words."""
    flows = sandbox_of(request).agent.plan.flows
    flow = flows.get(request.query_params.get("flow", ""))
    if flow is None:
        raise ProblemError(404, "no-flow", "The agent has no such flow.")
    return json_response(drawn(flow))


async def spec(request: Request) -> Response:
    """The flows as text."""
    return json_response({"text": text_of(sandbox_of(request).agent), "format": "json"})


async def check_spec(request: Request) -> Response:
    """What is wrong or odd in a text of flows, and the flows drawn as far as they can be."""
    body = await read_body(request, SpecBody)
    return json_response(await asyncio.to_thread(_looked_at, body.text, sandbox_of(request).agent))


async def scenario(request: Request) -> Response:
    """The conversation as a file that `falai test` plays."""
    branch = branch_of(sandbox_of(request), request.query_params.get("branch"))
    text = json.dumps(to_plain(scenario_of(branch)), ensure_ascii=False, indent=2)
    headers = {"Content-Disposition": f'attachment; filename="{branch.id}.json"', "Cache-Control": "no-store"}
    return Response(text.encode("utf-8", "backslashreplace"), media_type="application/json", headers=headers)


def _looked_at(text: str, agent: Agent[Any]) -> dict[str, Any]:
    checked = check(text, agent)
    problems = [_finding(finding, span) for finding, span in checked.findings]
    return {"problems": problems, "graphs": [drawn(flow) for flow in checked.plans()]}


def _finding(finding: Finding, span: Span | None) -> dict[str, Any]:
    return {
        "path": finding.path,
        "where": finding.where,
        "code": finding.code,
        "message": finding.what,
        "hint": finding.fix,
        "line": None if span is None else span.line,
        "column": None if span is None else span.column,
        "endLine": None if span is None else span.end_line,
        "endColumn": None if span is None else span.end_column,
        "severity": "error" if isinstance(finding, Problem) else "warning",
    }
