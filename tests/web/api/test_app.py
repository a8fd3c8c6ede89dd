"""The application by itself, within another, and how it begins and ends."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import httpx2
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from falai.host import Host
from falai.host.ledger.tokens import add_token
from falai.web import create_app, mount
from falai.web.access import SCOPES
from falai.web.access.tokens import new_token
from falai.web.problems import CODES
from web.api.stage import Site, calling, desk, serving

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "http.md"


async def _token(host: Host[None]) -> dict[str, str]:
    text, row = new_token(name="test", tenant="default", scopes=SCOPES, now_ms=0)
    await host.ledger.run(add_token(row))
    return {"Authorization": f"Bearer {text}"}


async def test_the_host_runs_as_long_as_the_application(tmp_path: Path) -> None:
    """With `lifespan` whoever serves the application runs the host."""
    host = Host(desk(), tmp_path / "web.db")
    app = create_app(host, lifespan=True)
    async with calling(app) as client:
        assert (await client.get("/v1/health/ready")).status_code == 503
        async with app.router.lifespan_context(app):
            assert (await client.get("/v1/health/ready")).status_code == 200
        assert (await client.get("/v1/health/ready")).status_code == 503


async def test_within_another_application(tmp_path: Path) -> None:
    """One line adds it to an application of Starlette or FastAPI; what that does at its start and end, it still does."""
    for number, kind in enumerate((Starlette, FastAPI)):
        seen: list[str] = []
        host = Host(desk(), tmp_path / f"{number}.db")
        app = kind(lifespan=_lifespan(seen, host), routes=[Route("/", lambda _: PlainTextResponse("home"))])
        mount(app, host, "/chat")
        async with app.router.lifespan_context(app), calling(app) as client:
            assert seen == ["begun, the host runs"]
            assert (await client.get("/")).text == "home"
            body = {"text": "Hi", "id": "m1"}
            answer = await client.post("/chat/v1/sessions/s1/messages", json=body, headers=await _token(host))
            assert answer.json()["messages"][0]["text"] == "re: Hi"
            lost = await client.get("/chat/v1/nothing")
            assert (lost.status_code, lost.json()["code"]) == (404, "not-found")
            wrong = await client.put("/chat/v1/sessions")
            assert (wrong.status_code, wrong.headers["allow"]) == (405, "GET")
            document = (await client.get("/chat/v1/openapi.json")).json()
            assert document["servers"] == [{"url": "/chat"}]
        assert seen == ["begun, the host runs", "ended"]


def _lifespan(seen: list[str], host: Host[None]):
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def lifespan(_):
        assert host.ledger is not None
        seen.append("begun, the host runs")
        yield
        seen.append("ended")

    return lifespan


async def test_a_widget_within_another_application(tmp_path: Path) -> None:
    """A stream goes through the other application."""
    host = Host(desk(), tmp_path / "web.db")
    app = Starlette()
    mount(app, host, "/chat")
    async with host:
        headers = {**(await _token(host)), "Accept": "text/event-stream"}
        async with serving(Site(host, app, httpx2.AsyncClient())) as url, httpx2.AsyncClient() as client:
            path = f"{url}/chat/v1/sessions/s1/messages"
            answer = await client.post(path, json={"text": "Hi", "id": "m1"}, headers=headers)
    assert re.findall(r"^event: (\w+)$", answer.text, re.MULTILINE) == ["accepted", "delta", "done"]


async def test_the_page_has_every_route_and_code(tmp_path: Path) -> None:
    """docs/reference/http.md lists what there is, and nothing else."""
    page = PAGE.read_text(encoding="utf-8")
    described = create_app(Host(desk(), tmp_path / "web.db")).openapi()["paths"]
    routes = {f"{method.upper()} {path}" for path, operations in described.items() for method in operations}
    assert set(re.findall(r"^\| `((?:GET|POST|DELETE) [^`]+)` \|", page, re.MULTILINE)) == routes
    listed = re.findall(r"^\| `([a-z-]+)` \| (\d+) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    assert {(code, int(status), title, meaning) for code, status, title, meaning in listed} == {
        (code, kind.status, kind.title, kind.meaning) for code, kind in CODES.items()
    }


def test_importing_the_web_is_light() -> None:
    """`import falai.web` loads no framework: that comes with the first name that needs it."""
    code = "import sys, falai.web; print(*sorted(m for m in ('fastapi', 'starlette', 'uvicorn') if m in sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert said.strip() == ""
