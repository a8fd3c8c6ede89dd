"""Tenants, scopes, and tokens that are for one session: each route opens to the right one only."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from falai.host import Settings
from falai.model import ModelRequest
from falai.web.access import SCOPES
from host.stage import Echo
from web.api.stage import Site, desk, site

MESSAGE: Final = {"text": "Hi", "id": "m1"}
ROUTES: Final[dict[tuple[str, str], tuple[str, Any]]] = {
    ("POST", "/v1/sessions/{session_id}/messages"): ("chat", MESSAGE),
    ("GET", "/v1/sessions/{session_id}/stream"): ("chat", None),
    ("POST", "/v1/sessions/{session_id}/events"): ("operate", {"name": "order.paid", "key": "o1"}),
    ("POST", "/v1/sessions/{session_id}/starts"): ("operate", {"flow": "remind", "key": "r1"}),
    ("POST", "/v1/sessions/{session_id}/hold"): ("people", {}),
    ("POST", "/v1/sessions/{session_id}/release"): ("people", None),
    ("POST", "/v1/sessions/{session_id}/people"): ("people", {"text": "Hi", "id": "p1"}),
    ("GET", "/v1/sessions"): ("read", None),
    ("GET", "/v1/sessions/{session_id}"): ("read", None),
    ("DELETE", "/v1/sessions/{session_id}"): ("operate", None),
    ("GET", "/v1/sessions/{session_id}/transcript"): ("read", None),
    ("GET", "/v1/sessions/{session_id}/outcomes"): ("read", None),
    ("GET", "/v1/flows"): ("flows", None),
    ("GET", "/v1/flows/{flow_id}"): ("flows", None),
    ("GET", "/v1/flows/{flow_id}/graph"): ("flows", None),
    ("POST", "/v1/specs/validate"): ("flows", {"spec": {}}),
    ("GET", "/v1/dead"): ("operate", None),
    ("POST", "/v1/dead/retry"): ("operate", {"what": "input", "session": "s1", "key": "k"}),
    ("POST", "/v1/dead/drop"): ("operate", {"what": "input", "session": "s1", "key": "k"}),
    ("GET", "/v1/status"): ("operate", None),
    ("GET", "/v1/metrics"): ("operate", None),
}
OPEN: Final = {
    ("GET", "/v1/health/live"), ("GET", "/v1/health/ready"), ("GET", "/v1/channels/{name}/webhook"),
    ("POST", "/v1/channels/{name}/webhook"),
}  # fmt: skip


async def test_every_route_has_its_scope(home: Site) -> None:
    """The table above is whole: a route that is added says here who may call it."""
    described = home.app.openapi()["paths"]
    found = {(method.upper(), path) for path, operations in described.items() for method in operations}
    assert found == set(ROUTES) | OPEN


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_scopes(home: Site, method: str, path: str) -> None:
    """Without a token 401, with all scopes but the right one 403, and with the right one alone it opens."""
    scope, body = ROUTES[method, path]
    address = path.format(session_id="s1", flow_id="remind")
    if path.endswith("/stream"):
        address += "?after=none"  # refused, behind the guard: it would stay open
    right, wrong = await home.allow(scope), await home.allow(*(one for one in SCOPES if one != scope))
    del home.client.headers["Authorization"]
    for headers, statuses in (({}, {401}), (wrong, {403}), (right, {200, 202, 404, 422})):
        answer = await home.client.request(method, address, json=body, headers=headers)
        assert answer.status_code in statuses
        assert answer.status_code != 401 or answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_token_for_one_session(home: Site) -> None:
    """It opens that session, and no other; and nothing that is about all of them."""
    for (method, path), (_, body) in ROUTES.items():
        if path.endswith("/stream"):
            continue
        bound = await home.allow(session="s1")
        own = await home.client.request(
            method, path.format(session_id="s1", flow_id="remind"), json=body, headers=bound
        )
        other = await home.client.request(
            method, path.format(session_id="s2", flow_id="remind"), json=body, headers=bound
        )
        assert other.status_code == 403
        assert (own.status_code == 403) == ("{session_id}" not in path)
    assert await home.host.look("s2") is None


async def test_tenants_do_not_meet(tmp_path: Path) -> None:
    """What one tenant says, no other sees, changes, streams or erases: the same id is another session."""

    async def broken(_: ModelRequest) -> None:
        raise RuntimeError

    async with site(tmp_path, desk(model=Echo(broken)), settings=Settings(retries=())) as home:
        other = await home.allow(tenant="other")
        assert (await home.say("Hi", id="m1")).status_code == 502
        assert (await home.client.get("/v1/sessions", headers=other)).json()["sessions"] == []
        assert (await home.client.get("/v1/sessions/s1", headers=other)).status_code == 404
        for path, key in (("transcript", "lines"), ("outcomes", "inputs")):
            assert (await home.client.get(f"/v1/sessions/s1/{path}", headers=other)).json()[key] == []
        assert (await home.client.get("/v1/dead", headers=other)).json()["dead"] == []
        which = {"what": "input", "session": "s1", "key": "message:m1"}
        for what in ("retry", "drop"):
            assert (await home.client.post(f"/v1/dead/{what}", json=which, headers=other)).status_code == 404
        await home.client.post("/v1/sessions/s1/hold", json={}, headers=other)
        assert (await home.client.delete("/v1/sessions/s1", headers=other)).json() == {"erased": True}  # its own
        found = (await home.client.get("/v1/sessions/s1")).json()
        assert (found["held"], found["counts"]["dead"]) == (None, 1)
