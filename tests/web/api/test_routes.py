"""What operators and people of a team do over HTTP: each route's good case, and its refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from falai import Agent, Flow, If, OnAnyMessage, Say, View
from falai.host import Settings
from falai.testing import Clock
from falai.web import PageChannel
from host.stage import Echo, Wire
from web.api.stage import Site, desk, site


async def test_an_event_starts_its_flow(home: Site) -> None:
    """202: it is durable; the same key again is dropped; a name that the agent lacks is refused with what was meant."""
    body = {"name": "order.paid", "key": "o1", "payload": {"total": 40}, "customer": "c1"}
    taken = await home.client.post("/v1/sessions/s1/events", json=body)
    assert (taken.status_code, taken.json()) == (202, {"key": "event:order.paid:o1", "new": True})
    again = await home.client.post("/v1/sessions/s1/events", json=body)
    assert again.json()["new"] is False
    await home.host.drained()
    lines = (await home.client.get("/v1/sessions/s1/transcript")).json()["lines"]
    assert [line["text"] for line in lines] == ["Thank you, it is paid."]
    wrong = await home.client.post("/v1/sessions/s1/events", json={**body, "name": "order.payd"})
    assert (wrong.status_code, wrong.json()["code"]) == (404, "no-event")
    assert wrong.json()["errors"][0]["hint"].startswith('Did you mean "order.paid"?')


async def test_a_payload_is_json(home: Site) -> None:
    """Whatever a payload is, it is kept or refused, and the session can be read."""
    for payload, status in (('"\\ud800"', 202), ("1e999", 202), ("[" * 500 + "]" * 500, 422), ("1" * 4000, 202)):
        content = f'{{"name": "order.paid", "key": "o{len(payload)}", "payload": {payload}}}'
        headers = {"Content-Type": "application/json"}
        answer = await home.client.post("/v1/sessions/s1/events", content=content, headers=headers)
        assert answer.status_code == status
        await home.host.drained()
        assert (await home.client.get("/v1/sessions/s1/outcomes")).status_code == 200


async def test_a_flow_is_started_and_waits(home: Site) -> None:
    """A run that waits is on the session, with its timer."""
    body = {"flow": "remind", "key": "r1"}
    taken = await home.client.post("/v1/sessions/s1/starts", json=body)
    assert (taken.status_code, taken.json()) == (202, {"key": "start:remind:r1", "new": True})
    await home.host.drained()
    found = (await home.client.get("/v1/sessions/s1")).json()
    (run,) = found["runs"]
    assert (run["flow"], run["step"], run["status"], run["waiting"]["kind"]) == ("remind", "pause", "waiting", "timer")
    assert [wait["at"] for wait in found["waits"]] == [run["waiting"]["until"]]
    assert found["counts"] == {"waiting": 0, "timers": 1, "dead": 0}
    wrong = await home.client.post("/v1/sessions/s1/starts", json={"flow": "remimd", "key": "r2"})
    assert (wrong.status_code, wrong.json()["code"]) == (404, "no-flow")


async def test_a_person_takes_over(tmp_path: Path) -> None:
    """A person's message closes the gate and goes out; the assistant is silent until `release`."""
    wire = Wire()
    async with site(tmp_path, channel=wire) as home:
        body = {"text": "I will help you.", "id": "p1", "by": "Maria"}
        sent = await home.client.post("/v1/sessions/s1/people", json=body)
        assert (sent.status_code, sent.json()) == (200, {"key": "human:p1", "new": True})
        assert (await home.client.post("/v1/sessions/s1/people", json=body)).json()["new"] is False
        assert (await home.client.get("/v1/sessions/s1")).json()["held"] == "Maria"
        assert (await home.say("Hello")).json()["messages"] == []
        assert (await home.client.post("/v1/sessions/s1/release")).json() == {"released": True}
        assert (await home.client.post("/v1/sessions/s1/release")).json() == {"released": False}
        assert [one["text"] for one in (await home.say("Hello?")).json()["messages"]] == ["re: Hello?"]
        await home.host.drained()
        lines = (await home.client.get("/v1/sessions/s1/transcript")).json()["lines"]
    assert wire.texts == ["I will help you.", "re: Hello?"]
    assert (lines[-1]["role"], lines[-1]["data"]) == ("person", "Maria")


async def test_the_gate(home: Site) -> None:
    """A gate is closed with a reason; it may be closed before the first message."""
    held = await home.client.post("/v1/sessions/s1/hold", json={"reason": "Maria answers", "understand": True})
    assert held.json() == {"held": "Maria answers"}
    assert (await home.client.get("/v1/sessions/s1")).json()["held"] == "Maria answers"
    wrong = await home.client.post("/v1/sessions/s1/hold", json={"reasons": "x"})
    assert wrong.json()["errors"][0]["hint"].startswith('Did you mean "reason"?')


async def test_sessions_are_listed(home: Site) -> None:
    """Page by page in the order of their ids, by customer, channel and gate."""
    for name in "abcde":
        customer = {"customer": "c1"} if name in "bd" else {}
        channel = {"channel": "web"} if name in "cd" else {}
        body = {"text": "Hi", "id": "m1", **customer, **channel}
        await home.client.post(f"/v1/sessions/{name}/messages", json=body)
    await home.client.post("/v1/sessions/e/hold", json={})
    pages: list[list[str]] = []
    after: dict[str, str] = {}
    while not pages or after:
        page = (await home.client.get("/v1/sessions", params={"limit": 2, **after})).json()
        pages.append([one["id"] for one in page["sessions"]])
        after = {"after": page["next"]} if page["next"] else {}
    assert pages == [["a", "b"], ["c", "d"], ["e"]]
    for query, ids in (
        ({"customer": "c1"}, "bd"),
        ({"channel": "web"}, "cd"),
        ({"held": "true"}, "e"),
        ({"held": "false"}, "abcd"),
        ({"customer": "c1", "channel": "web"}, "d"),
    ):
        found = (await home.client.get("/v1/sessions", params=query)).json()["sessions"]
        assert "".join(one["id"] for one in found) == ids


@pytest.mark.parametrize("limit", ["0", "1001", "-1", "x"])
async def test_a_limit_that_cannot_be(home: Site, limit: str) -> None:
    """It is refused with the name of the parameter."""
    answer = await home.client.get("/v1/sessions", params={"limit": limit})
    assert (answer.status_code, answer.json()["errors"][0]["path"]) == (422, "query.limit")


async def test_a_session_that_is_not_there(home: Site) -> None:
    """404 for what nobody ever wrote to; its transcript is empty."""
    answer = await home.client.get("/v1/sessions/nobody")
    assert (answer.status_code, answer.json()["code"]) == (404, "no-session")
    assert (await home.client.get("/v1/sessions/nobody/transcript")).json() == {"lines": [], "next": None}


async def test_the_fields_of_a_session(home: Site) -> None:
    """Each field of the agent's is there, known or not."""
    await home.say("Hi")
    (field,) = (await home.client.get("/v1/sessions/s1")).json()["fields"]
    assert field == {
        "name": "size", "type": "integer", "description": "How many people.", "known": False, "value": None,
    }  # fmt: skip


async def test_transcripts_and_outcomes_are_paged(home: Site) -> None:
    """The newest first; `next` leads to all of it, each line once."""
    for number in range(3):
        await home.say(str(number))
    for path, key, many in (("transcript", "lines", 6), ("outcomes", "inputs", 3)):
        found: list[int] = []
        before: dict[str, int] = {}
        while not found or before:
            page = (await home.client.get(f"/v1/sessions/s1/{path}", params={"limit": 2, **before})).json()
            found += [one["seq"] for one in page[key]]
            before = {"before": page["next"]} if page["next"] else {}
        assert len(found) == many
        assert found == sorted(found, reverse=True)
    logged = (await home.client.get("/v1/sessions/s1/outcomes")).json()["inputs"][0]
    assert (logged["key"], logged["kind"], logged["outcomes"][0]["stepId"]) == ("message:2", "message", "reply")


async def test_a_session_is_erased(home: Site) -> None:
    """Nothing is left, and the same id begins anew."""
    await home.say("Hi", id="m1")
    assert (await home.client.delete("/v1/sessions/s1")).json() == {"erased": True}
    assert (await home.client.delete("/v1/sessions/s1")).json() == {"erased": False}
    assert (await home.client.get("/v1/sessions/s1")).status_code == 404
    assert (await home.say("Hi", id="m1")).json()["new"] is True


async def test_flows_are_read(home: Site) -> None:
    """Each flow in plain words, and as its spec; drawn in three forms."""
    listed = (await home.client.get("/v1/flows")).json()["flows"]
    assert [flow["id"] for flow in listed] == ["answer", "paid", "remind", "book"]
    assert listed[1] == {"id": "paid", "name": "paid", "description": "Thanks.", "triggers": ["order.paid is reported"]}
    found = (await home.client.get("/v1/flows/remind")).json()
    assert [step["kind"] for step in found["steps"]] == ["say", "wait", "say"]
    assert found["spec"]["steps"][1]["wait"] == "2d"
    drawn = await home.client.get("/v1/flows/remind/graph")
    assert drawn.headers["content-type"].startswith("image/svg+xml")
    assert 'data-step="pause"' in drawn.text
    drawn = await home.client.get("/v1/flows/remind/graph", params={"format": "mermaid"})
    assert drawn.headers["content-type"].startswith("text/plain")
    data = (await home.client.get("/v1/flows/remind/graph", params={"format": "json"})).json()
    assert {edge["target"] for edge in data["edges"]} <= {node["id"] for node in data["nodes"]}
    for path in ("/v1/flows/none", "/v1/flows/none/graph"):
        answer = await home.client.get(path)
        assert (answer.status_code, answer.json()["code"]) == (404, "no-flow")
    assert (await home.client.get("/v1/flows/remind/graph", params={"format": "png"})).status_code == 422


async def test_a_flow_with_a_function(tmp_path: Path) -> None:
    """A flow in which a function decides has no spec, and says why; it is drawn all the same."""

    def always(view: View[object]) -> bool:
        return True

    flow = Flow("decides", on=[OnAnyMessage()], steps=[If("fork", always, then="yes"), Say("yes", "Yes.")])
    agent = Agent[object](name="Ana", model=Echo(), flows=[flow])
    async with site(tmp_path, agent) as home:
        found = (await home.client.get("/v1/flows/decides")).json()
        assert found["spec"] is None
        assert "function" in found["why"]
        assert (await home.client.get("/v1/flows/decides/graph")).status_code == 200


async def test_a_spec_is_checked(home: Site) -> None:
    """Findings have path, code, words and a hint; the agent's own names are known."""
    spec = {"id": "new", "steps": [{"id": "ask", "collect": ["size"], "prompt": "Ask."}, {"do": "pay"}, {"say": 3}]}
    checked = (await home.client.post("/v1/specs/validate", json={"spec": spec})).json()
    assert checked["valid"] is False
    assert {one["path"] for one in checked["findings"]} >= {"steps[2].say"}
    spec["steps"] = spec["steps"][:1]
    checked = (await home.client.post("/v1/specs/validate", json={"spec": spec})).json()
    assert checked["valid"] is True
    wrong = (
        await home.client.post("/v1/specs/validate", json={"spec": {**spec, "steps": [{"id": "a", "do": "pay"}]}})
    ).json()
    assert [one["code"] for one in wrong["findings"] if one["severity"] == "error"] == ["unknown-action"]


async def test_status_and_figures(tmp_path: Path) -> None:
    """How much waits, as JSON and for Prometheus."""
    clock = Clock("2026-09-20T10:00:00Z")
    async with site(tmp_path, desk(clock=clock), settings=Settings(burst="1h")) as home:
        await home.say("Hi", params={"wait": 0})
        found = (await home.client.get("/v1/status")).json()
        assert (found["inputs"], found["oldest"], found["dead"]) == (1, "2026-09-20T10:00:00.000Z", 0)
        figures = await home.client.get("/v1/metrics")
    assert figures.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert 'falai_inputs{agent="Ana"} 1' in figures.text


async def test_health_needs_no_token(home: Site) -> None:
    """Whoever starts and stops processes has none."""
    del home.client.headers["Authorization"]
    assert (await home.client.get("/v1/health/live")).json() == {"alive": True}
    assert (await home.client.get("/v1/health/ready")).json() == {"ready": True}


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v1/nothing", 404, "not-found"),
        ("GET", "/", 404, "not-found"),
        ("PUT", "/v1/sessions/s1", 405, "method-not-allowed"),
        ("POST", "/v1/sessions", 405, "method-not-allowed"),
    ],
)
async def test_addresses_that_are_none(home: Site, method: str, path: str, status: int, code: str) -> None:
    """They are problems like all others."""
    answer = await home.client.request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    if status == 405:
        assert answer.headers["allow"] == {"/v1/sessions/s1": "DELETE, GET", "/v1/sessions": "GET"}[path]


async def test_what_nobody_foresaw(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """500 has an id and nothing else of the error; the log has the error under that id."""
    async with site(tmp_path) as home:

        @home.app.get("/v1/broken")
        async def broken() -> None:
            raise LookupError("a secret of the house")

        answer = await home.client.get("/v1/broken")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "secret" not in answer.text
    (record,) = [one for one in caplog.records if one.name == "falai.web"]
    assert record.getMessage().split("(")[1].split(")")[0] in answer.json()["detail"]
    assert record.exc_info is not None


async def test_a_session_id_as_it_is_written(home: Site) -> None:
    """Ids of channels, spaces, dots and signs of all languages go in a path as they are quoted."""
    for name in ("whatsapp:5511998765432", "a b", "é-漢字-🙂", "..", "a%2Fb", "a?b#c"):
        quoted = "".join(f"%{byte:02X}" for byte in name.encode())
        answer = await home.client.post(f"/v1/sessions/{quoted}/messages", json={"text": "Hi", "id": "m1"})
        assert answer.status_code == 200
        assert await home.host.look(name) is not None


async def test_a_page_beside_other_channels(tmp_path: Path) -> None:
    """A session of a page has a channel that sends nothing; a browser's token need not name it."""
    wire = Wire()
    async with site(tmp_path, channel={"wire": wire, "page": PageChannel()}) as home:
        await home.client.post("/v1/sessions/s1/messages", json={"text": "Hi", "id": "m1", "channel": "page"})
        bound = await home.allow("chat", session="s2")
        for session, headers in (("s1", {}), ("s2", bound)):
            answer = await home.say("Hello", session, headers=headers)
            assert [one["text"] for one in answer.json()["messages"]] == ["re: Hello"]
            await home.host.drained()
            look = await home.host.look(session)
            assert look is not None
            assert {row.state for row in look.outbox} == {"sent"}
    assert wire.sent == []


@pytest.mark.parametrize("name", [" ", "\x1f", "\x85", "\u3000 ", "a" * 121, "\0", "a\0b", "\0\n"])
async def test_names_that_are_none(home: Site, name: str) -> None:
    """A session's id that is blank, too long for a row, or has what not every database can keep is refused wherever it stands."""
    quoted = "".join(f"%{byte:02X}" for byte in name.encode())
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/transcript"), ("POST", "/release")):
        answer = await home.client.request(method, f"/v1/sessions/{quoted}{path}")
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    answer = await home.client.post("/v1/sessions/s1/messages", json={"text": "Hi", "id": name})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert "\\" not in answer.json()["errors"][0]["message"], "nobody is told a regular expression"
