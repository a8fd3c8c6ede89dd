"""A plain request to the messages' route is read without the framework: with the same outcome as with it."""

from __future__ import annotations

import json

import pytest

from web.api.stage import Site

GOOD = {"text": "Hello", "id": "m1"}
BODIES = {
    "a message": json.dumps(GOOD),
    "with all that it may have": json.dumps(
        {
            **GOOD,
            "at": "2026-09-20T10:00:00.000Z",
            "customer": "c",
            "channel": "page",
            "address": "a",
            "attachments": [{"kind": "location", "data": {"lat": 1.5}}],
        }
    ),
    "a name twice": '{"text": "Hello", "id": "m0", "id": "m1"}',
    "a lone surrogate": '{"text": "\\ud83d", "id": "m1"}',
    "a lone surrogate as its id": '{"text": "Hello", "id": "\\ud83d"}',
    "no number": '{"text": "Hello", "id": "m1", "attachments": [{"kind": "other", "data": {"x": NaN}}]}',
    "a great number": '{"text": "Hello", "id": "m1", "attachments": [{"kind": "other", "data": {"x": 1e999}}]}',
    "a misspelt name": '{"text": "Hello", "id": "m1", "chanel": "page"}',
    "a number for a text": '{"text": 5, "id": "m1"}',
    "a blank id": '{"text": "Hello", "id": " "}',
    "NUL in an id": '{"text": "Hello", "id": "m\\u0000"}',
    "NUL in a customer": '{"text": "Hello", "id": "m1", "customer": "c\\u0000"}',
    "no time": '{"text": "Hello", "id": "m1", "at": "soon"}',
    "a list": "[]",
    "nothing": "",
    "no JSON": "{",
    "two": "{} {}",
    "deep": "[" * 5000 + "]" * 5000,
}


@pytest.mark.parametrize("session", ["s", "%20", "a%00b", "x" * 121])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_both_ways_answer_alike(home: Site, body: str, session: str) -> None:
    """What is taken and what is refused, and in which words: a parameter at its default has the framework read it."""
    headers = {"Content-Type": "application/json"}
    path = "/v1/sessions/{}/messages"
    name = session.replace("s", "plain"), session.replace("s", "framework")
    plain = await home.client.post(path.format(name[0]), content=body, headers=headers)
    framework = await home.client.post(path.format(name[1]), params={"wait": "30"}, content=body, headers=headers)
    assert plain.status_code == framework.status_code
    assert _without_ids(plain.json()) == _without_ids(framework.json())


@pytest.mark.parametrize("kind", ["text/plain", "application/json; charset=utf-8", "application/merge-patch+json"])
async def test_another_type_is_the_frameworks(home: Site, kind: str) -> None:
    """What it takes is taken; what it does not is refused with a problem."""
    answer = await home.client.post("/v1/sessions/s/messages", content=json.dumps(GOOD), headers={"Content-Type": kind})
    assert answer.status_code == (422 if kind == "text/plain" else 200)


async def test_who_may_not_is_told_so_first(home: Site) -> None:
    """Without the right to call, the body is not looked at."""
    for body in ("{", json.dumps(GOOD)):
        headers = {**await home.allow("read"), "Content-Type": "application/json"}
        answer = await home.client.post("/v1/sessions/s/messages", content=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def _without_ids(document: dict[str, object]) -> dict[str, object]:
    """The messages of two sessions have two ids."""
    messages = document.get("messages", [])
    assert isinstance(messages, list)
    return {**document, "messages": [{**one, "id": "", "at": ""} for one in messages]}


@pytest.mark.parametrize(
    "body",
    [
        {**GOOD, "attachments": [{"kind": "picture", "uri": "x"}] * 100},
        {**GOOD, **{f"chanel{at}": 1 for at in range(500)}},
    ],
    ids=["attachments", "names"],
)
async def test_only_so_many_mistakes_are_told(home: Site, body: object) -> None:
    """An answer has no more of them than somebody reads: one of some megabytes would hold up everybody else's."""
    answer = await home.client.post("/v1/sessions/s/messages", json=body)
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) == 100
    assert "100 mistakes or more" in answer.json()["detail"]


async def test_so_many_attachments_that_nobody_looks_at_each(home: Site) -> None:
    """A message has at most 100; of more, the number is what is wrong."""
    fits = {**GOOD, "attachments": [{"kind": "image", "url": "https://example.com/a.jpg"}] * 100}
    assert (await home.client.post("/v1/sessions/s/messages", json=fits)).status_code == 200
    answer = await home.client.post("/v1/sessions/s/messages", json={**GOOD, "attachments": [1] * 101})
    assert answer.status_code == 422
    (mistake,) = answer.json()["errors"]
    assert (mistake["path"], mistake["code"]) == ("attachments", "too-long")
    assert "101" in mistake["message"]


async def test_an_attachment_that_is_nested_too_deeply_is_the_callers_mistake(home: Site) -> None:
    """It is refused as one, and fills no log."""
    deep = '{"text": "Hello", "id": "m1", "attachments": [{"kind": "other", "data": {"x": %s}}]}' % (
        "[" * 900 + "]" * 900
    )
    headers = {"Content-Type": "application/json"}
    answer = await home.client.post("/v1/sessions/s/messages", content=deep, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
