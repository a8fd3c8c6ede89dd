"""Playing scenarios: what differs is told with file, case, turn and place; nothing else is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from falai.testing.scenario import load_files, run_case, run_files

AGENT: dict[str, Any] = {
    "name": "Ana",
    "fields": {"name": {"type": "string", "ask": "Ask for the name lightly."}},
    "flows": [
        {
            "id": "lead",
            "on": [{"message": []}],
            "steps": [{"id": "who", "collect": ["name"]}, {"id": "bye", "say": "Bye."}],
        }
    ],
}
ASKS = {"call": "speak", "reply": {"message": "Your name?"}}
FIRST: dict[str, Any] = {"input": {"message": "hello", "id": "m1"}, "model": [ASKS]}


def _file(folder: Path, *turns: dict[str, Any], agent: dict[str, Any] = AGENT, **case: Any) -> Path:
    file = folder / "one.json"
    file.write_text(json.dumps({"cases": [{"name": "area/it", "agent": agent, "turns": list(turns), **case}]}))
    return file


async def _played(folder: Path, *turns: dict[str, Any], agent: dict[str, Any] = AGENT, **case: Any) -> list[str]:
    """The differences, without the name of the file and the case."""
    file = _file(folder, *turns, agent=agent, **case)
    (loaded,) = load_files([file])
    start = f'{file}, case "area/it"'
    return [str(found).removeprefix(start).lstrip(",: ") for found in await run_case(loaded)]


def _expecting(**expect: Any) -> dict[str, Any]:
    return FIRST | {"expect": expect}


def test_the_report(tmp_path: Path) -> None:
    """0 when everything was as written, 1 with differences; the report names cases and failures."""
    right = run_files([_file(tmp_path, FIRST)])
    assert (right.exit_code, right.cases, right.failed) == (0, ("area/it",), ())
    wrong = run_files([_file(tmp_path, _expecting(llmCalls=2, changed=False))])
    assert (wrong.exit_code, wrong.failed) == (1, ("area/it",))
    assert [(found.turn, found.path, found.expected, found.found) for found in wrong.differences] == [
        (0, "changed", "false", "true"),
        (0, "llmCalls", "2", "1"),
    ]
    assert (
        str(wrong.differences[0]) == f'{tmp_path}/one.json, case "area/it", turn 0: changed: expected false, found true'
    )


async def test_a_call_that_is_not_in_the_script(tmp_path: Path) -> None:
    """It fails the case, also where the turn itself goes on."""
    found = await _played(tmp_path, {"input": FIRST["input"]})
    assert found == ["turn 0: model: expected 0 calls, found call 1, of speak, which is not in the script"]


async def test_an_entry_that_no_call_took(tmp_path: Path) -> None:
    """It fails the case."""
    found = await _played(tmp_path, FIRST | {"model": [ASKS, {"call": "summary", "text": "short"}]})
    assert found == ["turn 0: model[1]: expected a call of summary that takes this entry, found no such call"]


async def test_calls_in_another_order(tmp_path: Path) -> None:
    """The script is one list: the right calls in the wrong order fail the case."""
    judged = {"call": "understand", "reply": {}}
    second = {"input": {"message": "hm", "id": "m2"}}
    assert await _played(tmp_path, FIRST, second | {"model": [judged, ASKS]}) == []
    found = await _played(tmp_path, FIRST, second | {"model": [ASKS, judged]})
    assert found == [
        "turn 1: model[0].call: expected speak, found a call of understand",
        "turn 1: model[1].call: expected understand, found a call of speak",
    ]


@pytest.mark.parametrize(
    ("expect", "place"),
    [
        ({"messages": []}, "messages"),
        ({"messages": [{"text": "Name?"}]}, "messages[0].text"),
        ({"schedule": {"$length": 1}}, "schedule"),
        ({"outcomes": [{"kind": "say"}]}, "outcomes[0].kind"),
        ({"started": []}, "started"),
        ({"ended": [{}]}, "ended"),
        ({"skipped": [{}]}, "skipped"),
        ({"session": {"data": {"name": "Rui"}}}, "session.data.name"),
        ({"changes": [{}]}, "changes"),
        ({"actionCalls": [{}]}, "actionCalls"),
        ({"toolCalls": [{}]}, "toolCalls"),
        ({"pendingWakes": [{}]}, "pendingWakes"),
        ({"error": {"type": "ValueError"}}, "error"),
        ({"requests": []}, "requests"),
        ({"requests": [{"call": "understand"}]}, "requests[0].call"),
        ({"requests": [{"call": "speak", "promptIncludes": ["Rui"]}]}, "requests[0].promptIncludes"),
        ({"requests": [{"call": "speak", "promptExcludes": ["lightly"]}]}, "requests[0].promptExcludes"),
        ({"requests": [{"call": "speak", "schema": {"type": "text"}}]}, "requests[0].schema.type"),
        ({"requests": [{"call": "speak", "tools": ["look"]}]}, "requests[0].tools"),
        ({"requests": [{"call": "speak", "historyLength": 1}]}, "requests[0].historyLength"),
        ({"requests": [{"call": "speak", "history": [{}]}]}, "requests[0].history"),
    ],
)
async def test_every_expectation_can_fail(tmp_path: Path, expect: dict[str, Any], place: str) -> None:
    """What is not so is one difference, at its place."""
    (found,) = await _played(tmp_path, _expecting(**expect))
    assert found.startswith(f"turn 0: {place}: expected ")


async def test_what_is_so_is_no_difference(tmp_path: Path) -> None:
    """All keys of an expectation, met at once."""
    expect = {
        "changed": True, "llmCalls": 1, "messages": [{"text": {"$match": "name"}, "afterMs": 0}], "schedule": [],
        "outcomes": [{"stepId": "who"}], "started": [{"flowId": "lead"}], "ended": [], "skipped": [], "changes": [],
        "session": {"runs": [{"status": "asking"}], "data": {"name": {"$absent": True}}}, "actionCalls": [],
        "toolCalls": {"$length": 0}, "pendingWakes": [],
        "requests": [{
            "call": "speak", "promptIncludes": ["lightly", "hello"], "promptExcludes": ["Rui"], "tools": [],
            "schema": {"required": ["message", "name"]}, "historyLength": 1, "history": [{"content": "before"}],
        }],
    }  # fmt: skip
    history = [{"role": "user", "content": "before"}]
    assert await _played(tmp_path, FIRST | {"history": history, "expect": expect}) == []


async def test_errors(tmp_path: Path) -> None:
    """A turn that raises is a difference unless that is expected; type, also of a base, and message count."""
    bad: dict[str, Any] = {"input": {"event": "ping"}, "expect": {"error": {"type": "ValueError", "message": "?"}}}
    (found,) = await _played(tmp_path, bad)
    assert found.startswith('turn 0: error.message: expected "?", found "')
    for expected in ("ValueError", "Exception"):
        bad["expect"] = {"error": {"type": expected, "message": {"$match": "key"}}}
        assert await _played(tmp_path, bad) == []
    bad["expect"] = {"error": {"type": "KeyError"}}
    (found,) = await _played(tmp_path, bad)
    assert found.startswith("turn 0: error.type: expected KeyError, found ValueError: ")
    down = {"call": "understand", "error": {"kind": "rate", "retryAfter": 2, "shouldRetry": True}}
    (found,) = await _played(tmp_path, FIRST, {"input": {"message": "hm", "id": "m2"}, "model": [down]})
    assert found.startswith("turn 1: error: expected a turn without an error, found ProviderError: ")


async def test_which_session_a_turn_is_given(tmp_path: Path) -> None:
    """`previous`, `none`, that of an earlier turn's result or its own, or a whole one."""
    again = FIRST | {"input": {"message": "again", "id": "m1"}}
    known = {"model": [], "expect": {"outcomes": [{"code": "duplicate-input"}]}}
    new = {"expect": {"session": {"inputs": ["m1"]}}}
    whole = {
        "id": "s1", "v": 4, "version": 2, "data": {}, "runs": [], "claims": {}, "inputs": ["m1"], "metadata": {},
    }  # fmt: skip
    found = await _played(
        tmp_path,
        FIRST,
        again | known,
        again | known | {"session": "previous"},
        again | new | {"session": "none"},
        again | known | {"session": {"turn": 0}},
        again | new | {"session": {"givenTo": 0}},
        again | known | {"session": whole},
        {"input": {"event": "?"}, "expect": {"error": {"type": "ValueError"}}},
        again | known | {"session": "previous"},
    )
    assert found == []
    (found_one,) = await _played(tmp_path, FIRST | {"session": whole | {"runs": 7}, "model": []})
    assert found_one.startswith("turn 0: error: expected a turn without an error, found InvalidSessionError: ")


async def test_same_as(tmp_path: Path) -> None:
    """The whole result is compared; what differs is told by its key."""
    repeat = FIRST | {"session": {"givenTo": 0}, "expect": {"sameAs": 0}}
    assert await _played(tmp_path, FIRST, repeat) == []
    later = await _played(tmp_path, FIRST, repeat | {"advance": "1m"})
    assert [line.partition(": expected")[0] for line in later] == [
        "turn 1: sameAs.session",
        "turn 1: sameAs.outcomes",
    ]


async def test_actions_and_tools(tmp_path: Path) -> None:
    """Results are used in order, the last repeats; `set` is written first; what they saw is recorded."""
    agent: dict[str, Any] = {
        "name": "Ana",
        "fields": {"name": {"type": "string"}},
        "actions": {
            "note": {
                "parameters": {"what": {"type": "string"}},
                "results": [{"raises": "boom"}, {"ok": True, "set": {"name": "Rui"}}, "malformed"],
            }
        },
        "tools": {
            "look": {"results": [{"value": 7}, {"raises": "gone"}], "readOnly": True},
            "cut": {"results": [{"data": {"name": "Eva"}}], "destructive": True},
        },
        "conditions": {"has": {"path": "context.tags"}},
        "flows": [
            {"id": "f", "steps": [{"id": "a", "do": "note", "with": {"what": "{{input.x}}"}}]},
            {"id": "g", "on": [{"message": [], "if": {"has": "vip"}}], "steps": [{"id": "p", "prompt": "Talk."}]},
        ],
    }

    def start(key: str, **expect: Any) -> dict[str, Any]:
        return {"input": {"start": {"flow": "f", "key": key, "input": {"x": key}}}, "session": "none", "expect": expect}

    seen = [{"name": "note", "params": {"what": "k1"}, "key": "f#k1:a:1", "dedupeKey": "f:s1:k1", "sessionId": "s1"}]
    found = await _played(
        tmp_path,
        start("k1", outcomes=[{"code": "action-failed", "detail": "boom"}], actionCalls=seen),
        start("k2", outcomes=[{"status": "ok"}], session={"data": {"name": "Rui"}}),
        start("k3", outcomes=[{"status": "failed"}]),
        start("k4", outcomes=[{"status": "failed"}], actionCalls=[{"silenced": {"$absent": True}}]),
        start("k5", actionCalls=[{"silenced": "night"}]) | {"silenced": "night"},
        {
            "input": {"message": "hi", "id": "m1"},
            "context": {"tags": ["vip"]},
            "model": [
                {"call": "speak", "tools": [{"name": "look", "arguments": {"a": 1}}, {"name": "cut"}]},
                {"call": "speak", "tools": [{"name": "look", "arguments": {}}], "text": "one moment"},
                {"call": "speak", "text": "Here it is."},
            ],
            "expect": {
                "toolCalls": [{"name": "look", "arguments": {"a": 1}}, {"name": "cut"}, {"name": "look"}],
                "messages": [{"text": "Here it is."}],
                "session": {"data": {"name": "Eva"}},
                "started": [{"flowId": "g"}],
            },
        },
        {"input": {"message": "no vip", "id": "m2"}, "context": {"tags": []}, "session": "none", "model": [ASKS],
         "expect": {"started": []}},
        agent=agent,
    )  # fmt: skip
    assert found == []


async def test_wakes_of_a_schedule(tmp_path: Path) -> None:
    """`$schedule:K:N` is the key of an entry; one that is not there is a difference."""
    agent = {"name": "Ana", "flows": [{"id": "f", "steps": [{"id": "w", "wait": "1h"}, {"id": "s", "say": "Now."}]}]}
    start = {
        "input": {"start": {"flow": "f", "key": "k"}},
        "expect": {"pendingWakes": [{"key": {"$match": "^f#k:w:"}}]},
    }
    wake = {"advance": "1h", "input": {"wake": "$schedule:0:0"}, "expect": {"messages": [{"text": "Now."}]}}
    assert await _played(tmp_path, start, wake, agent=agent) == []
    (found,) = await _played(tmp_path, start, {"input": {"wake": "$schedule:0:1"}}, agent=agent)
    assert found.endswith("LookupError: turn 0 scheduled 1 wakes, so there is no entry 1")


async def test_an_agent_that_is_refused(tmp_path: Path) -> None:
    """Only `buildError` expects it; type, code and message are compared; an agent that was built is a difference."""
    agent = AGENT | {"flows": [{"id": "f", "steps": [{"id": "a", "do": "nothing"}]}]}
    (found,) = await _played(tmp_path, agent=agent)
    assert found.startswith("error: expected an agent without an error, found FlowConfigurationError: ")
    expected: dict[str, Any] = {
        "type": "FlowConfigurationError",
        "code": "unknown-action",
        "message": {"$match": "nothing"},
    }
    assert await _played(tmp_path, agent=agent, buildError=expected) == []
    (found,) = await _played(tmp_path, agent=agent, buildError=expected | {"code": "unknown-field"})
    assert found == 'error.code: expected "unknown-field", found "unknown-action"'
    (found,) = await _played(tmp_path, buildError=expected)
    assert found == "buildError: expected building the agent raises FlowConfigurationError, found it was built"


def test_an_agent_that_is_refused_makes_the_file_wrong(tmp_path: Path) -> None:
    """2, unless the case says that it is refused: then another refusal is a difference."""
    broken = AGENT | {"flows": [{"id": "f", "steps": [{"id": "a", "do": "nothing"}]}]}
    case = {"name": "area/it", "agent": broken, "turns": []}
    file = tmp_path / "one.json"
    for more, code in (
        ({}, 2),
        ({"buildError": {"type": "FlowConfigurationError"}}, 0),
        ({"buildError": {"type": "X"}}, 1),
    ):
        file.write_text(json.dumps({"cases": [case | more]}))
        assert run_files([file]).exit_code == code


async def test_options_hours_and_zone(tmp_path: Path) -> None:
    """`options` are the agent's own by wire name; business hours are in their zone, else in the agent's."""
    hours = {"open": "09:00", "close": "18:00"}
    agent: dict[str, Any] = {
        "name": "Ana", "clock": "2026-09-21T02:00:00.000Z", "timezone": "America/Sao_Paulo", "businessHours": hours,
        "options": {"maxToolLoops": 0}, "tools": {"look": {"results": [{}]}}, "idle": {"prompt": "Talk."},
        "flows": [{"id": "f", "steps": [{"id": "w", "wait": "1h", "businessHours": True}]}],
    }  # fmt: skip
    start = {"input": {"start": {"flow": "f", "key": "k"}}}
    talk = {"input": {"message": "hi"}, "model": [ASKS], "expect": {"requests": [{"call": "speak", "tools": []}]}}
    due = {"expect": {"schedule": [{"at": "2026-09-21T12:00:00.000Z"}]}}
    assert await _played(tmp_path, start | due, talk, agent=agent) == []
    utc = {"expect": {"schedule": [{"at": "2026-09-21T09:00:00.000Z"}]}}
    assert await _played(tmp_path, start | utc, agent=agent | {"businessHours": hours | {"tz": "UTC"}}) == []


async def test_a_condition_may_have_its_answers_in_order(tmp_path: Path) -> None:
    """Whatever it is asked about, `results` says what it answers; the last one repeats."""
    agent: dict[str, Any] = {
        "name": "Ana",
        "conditions": {"open": {"results": [True, False]}},
        "flows": [
            {
                "id": "f",
                "steps": [
                    {"id": "i", "if": {"open": "today"}, "then": "a", "else": "b"},
                    {"id": "a", "say": "Come in.", "then": "end"},
                    {"id": "b", "say": "Come back."},
                ],
            }
        ],
    }
    turns = [
        {"input": {"start": {"flow": "f", "key": key}}, "session": "none", "expect": {"messages": [{"text": text}]}}
        for key, text in (("1", "Come in."), ("2", "Come back."), ("3", "Come back."))
    ]
    file = tmp_path / "case.json"
    file.write_text(json.dumps({"cases": [{"name": "a/b", "agent": agent, "turns": turns}]}))
    assert [one for case in load_files([file]) for one in await run_case(case)] == []
