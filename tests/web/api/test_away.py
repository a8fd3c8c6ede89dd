"""A store that is away: whoever calls is told to come again, and what was not answered is safe to repeat."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from falai.host import Host
from falai.web import create_app
from falai.web.access import SCOPES, Keys
from falai.web.access.tokens import new_token
from host.ledger.ledgers import postgres_url
from servers.proxy import Proxy
from web.api.stage import calling, desk, site


async def test_postgres_is_away(postgres_server: Any, place: str, proxy_to: Callable[[str], Proxy]) -> None:
    """Requests are refused with 503 and `Retry-After` until it is back, and then the same message has its turn."""
    made = new_token(name="test", tenant="default", scopes=SCOPES, now_ms=0)
    proxy = proxy_to(postgres_url(postgres_server, place))
    message = {"text": "Hi", "id": "m1"}
    async with Host(desk(), proxy.url) as host:
        app = create_app(host, keys=Keys(lambda: host.ledger, host.agent.plan.name, own=(made.row,)))
        async with calling(app) as client:
            client.headers["Authorization"] = f"Bearer {made.text}"
            proxy.close()
            for method, path, body in (("GET", "/v1/sessions/s1", None), ("POST", "/v1/sessions/s1/messages", message)):
                answer = await client.request(method, path, json=body, timeout=60)
                assert (answer.status_code, answer.json()["code"]) == (503, "store-away")
                assert int(answer.headers["retry-after"]) > 0
                assert "127.0.0.1" not in answer.text
            proxy.open()
            answer = await client.post("/v1/sessions/s1/messages", json=message, timeout=60)
            assert [one["text"] for one in answer.json()["messages"]] == ["re: Hi"]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (sqlite3.OperationalError("database or disk is full"), "store-away"),
        (OSError("no route"), "store-away"),
        (sqlite3.IntegrityError("a mistake of ours"), "internal"),
    ],
)
async def test_what_is_the_stores_failure(tmp_path: Path, error: Exception, code: str) -> None:
    """What a database failed at is one thing, a mistake of the program another; by itself or as another error's reason."""
    async with site(tmp_path) as home:

        @home.app.get("/v1/broken")
        async def broken() -> None:
            raise error

        @home.app.get("/v1/broken-below")
        async def broken_below() -> None:
            raise LookupError from error

        for path in ("/v1/broken", "/v1/broken-below"):
            answer = await home.client.get(path)
            assert answer.json()["code"] == code
