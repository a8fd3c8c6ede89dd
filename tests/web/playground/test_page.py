"""The page's files and addresses: types, ETags, compression, and what is refused."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest

from falai.web.playground import create_playground
from web.playground.stage import clinic, playground

TYPES = {"js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


async def test_the_page_is_served() -> None:
    """`/` leads to it; each file has its type, and the page allows its own scripts and nothing else."""
    async with playground() as page:
        assert (await page.client.get("/")).headers["location"] == "/playground/"
        index = await page.client.get("/playground/")
        assert index.headers["content-type"] == "text/html; charset=utf-8"
        inline = re.findall(r"<script type=\"importmap\">(.*?)</script>", index.text, re.DOTALL)
        digest = b64encode(sha256(inline[0].encode()).digest()).decode()
        assert f"script-src 'self' 'sha256-{digest}'" in index.headers["content-security-policy"]
        named = [*re.findall(r'(?:href|src)="([^"]+)"', index.text), "graph.css"]
        for name in named:
            answer = await page.client.get(f"/playground/{name}")
            assert answer.status_code == 200, name
            assert answer.headers["content-type"].startswith(TYPES[name.rpartition(".")[2]])


async def test_a_file_that_the_browser_has_is_not_sent_again() -> None:
    """Its ETag is met with 304; one of another content is sent."""
    async with playground() as page:
        tag = (await page.client.get("/playground/app.js")).headers["etag"]
        for given in (tag, f'"x", {tag}', tag.removeprefix("W/")):
            answer = await page.client.get("/playground/app.js", headers={"If-None-Match": given})
            assert (answer.status_code, answer.content) == (304, b"")
        assert (await page.client.get("/playground/app.js", headers={"If-None-Match": '"x"'})).status_code == 200


async def test_files_are_compressed_where_that_is_taken() -> None:
    """And left as they are where it is not."""
    async with playground() as page:
        plain = await page.client.get("/playground/app.js", headers={"Accept-Encoding": "identity"})
        assert "content-encoding" not in plain.headers
        async with page.client.stream("GET", "/playground/app.js", headers={"Accept-Encoding": "br, gzip"}) as small:
            raw = b"".join([part async for part in small.aiter_raw()])
        assert small.headers["content-encoding"] == "gzip"
        assert gzip.decompress(raw) == plain.content
        refused = await page.client.get("/playground/app.js", headers={"Accept-Encoding": "gzip;q=0"})
        assert "content-encoding" not in refused.headers


@pytest.mark.parametrize("path", ["nothing.js", "../app.py", "%2e%2e/app.py", "types.d.ts", "vendor/", "//etc/passwd"])
async def test_there_is_nothing_else(path: str) -> None:
    """No file but those of the page, wherever a path leads."""
    async with playground() as page:
        answer = await page.client.get(f"/playground/{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


@pytest.mark.parametrize(
    ("address", "body", "status", "code"),
    [
        ("message", "{", 400, "bad-json"),
        ("message", "[]", 422, "invalid"),
        ("message", {"branch": "b1"}, 422, "invalid"),
        ("message", {"branch": "b1", "text": 1}, 422, "invalid"),
        ("message", {"branch": "b1", "text": "x", "ID": "1"}, 422, "invalid"),
        ("message", {"branch": "b9", "text": "x"}, 404, "not-found"),
        ("start", {"branch": "b1", "flow": ""}, 422, "invalid"),
        ("model", {"id": "best"}, 422, "invalid"),
        ("take-back", {"branch": "b1", "turn": -1}, 422, "invalid"),
        ("nothing", {}, 404, "not-found"),
    ],
)
async def test_what_cannot_be_read_is_a_problem_document(address: str, body: Any, status: int, code: str) -> None:
    """With its code, and nothing has changed."""
    async with playground() as page:
        answer = await page.client.post(
            f"/playground/api/{address}",
            content=body if isinstance(body, str) else json.dumps(body),
            headers={"Accept": "application/json"},
        )
        assert (answer.status_code, answer.json()["code"]) == (status, code)
        assert answer.headers["content-type"] == "application/problem+json"
        assert (await page.get("state"))["turns"] == []


async def test_an_address_has_its_method() -> None:
    """What changes something is a POST."""
    async with playground() as page:
        answer = await page.client.get("/playground/api/new")
        assert (answer.status_code, answer.json()["code"]) == (405, "method-not-allowed")


async def test_nothing_is_left_behind() -> None:
    """The folder is there while the playground runs, and gone behind it."""
    app = create_playground(clinic)
    async with app.router.lifespan_context(app):
        folder = app.state.sandbox.branches["b1"].folder
        assert folder.is_dir()
    assert not folder.parent.exists()
