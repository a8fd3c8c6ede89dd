"""Two versions of flows compared: every difference in plain words, and nothing where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai.errors import FlowConfigurationError
from falai.flow.comparing import compare, fate
from falai.flow.comparing.words import same
from falai.flow.spec import from_spec, to_spec
from falai.flow.wire import to_wire
from falai.session.model import Run, TriggerRef, Waiting
from strategies import Dice, draw_agent
from strategies_flow import flow_specs, json_values, spoilt

LEAD: dict[str, Any] = {
    "id": "lead",
    "on": [{"message": ["asks for a quote", "!thanks"]}],
    "steps": [
        {"id": "who", "collect": ["name"], "question": "What is your name?"},
        {"id": "fork", "if": {"known": ["name"]}, "else": "end"},
        {"id": "tell", "do": "notify", "with": {"to": "sales"}, "onFail": {"flow": "human"}},
        {"id": "pause", "wait": "2d", "else": "end"},
        {"id": "paid", "wait": {"event": "paid", "upTo": "7d"}},
        {"id": "bye", "say": "Thank you."},
    ],
}


def _with(step_id: str, **changes: Any) -> dict[str, Any]:
    steps = [{**step, **changes} if step["id"] == step_id else step for step in LEAD["steps"]]
    return {**LEAD, "steps": [{key: value for key, value in step.items() if value is not None} for step in steps]}


def _said(new: Any, old: Any = LEAD) -> list[tuple[str, str | None, str]]:
    return [(one.kind, one.step, one.what) for one in compare([old], [new]).changes]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (_with("bye", say="Bye."), [("text", "bye", 'its text is "Bye." instead of "Thank you."')]),
        (_with("who", collect=["name", "size"]), [("fields", "who", 'it asks as well for "size"')]),
        (_with("who", collect=["size"]), [
            ("fields", "who", 'it asks as well for "size"'), ("fields", "who", 'it no longer asks for "name"')]),
        (_with("who", question=None), [("text", "who", 'its fixed question is gone; it was "What is your name?"')]),
        (_with("pause", wait="3d"), [("wait", "pause", 'its wait is "3d" instead of "2d"')]),
        (_with("pause", **{"else": {"step": "who", "clear": ["name"]}}), [
            ("target", "pause", 'else leads to "who", forgetting "name" instead of the end')]),
        (_with("bye", then="end"), [("target", "bye", "then leads to the end instead of the next step")]),
        (_with("tell", onFail=None), [("target", "tell", 'onFail leads to the next step instead of the flow "human"')]),
        (_with("tell", **{"with": {"to": "desk"}}), [
            ("action", "tell", 'the parameter "to" is "desk" instead of "sales"')]),
        (_with("paid", wait={"event": "signed", "upTo": "7d"}), [
            ("wait", "paid", 'it waits for the event "signed" instead of "paid"')]),
        (_with("paid", wait={"event": "paid"}), [("wait", "paid", 'how long it waits at most is gone; it was "7d"')]),
        (_with("fork", **{"if": {"known": ["size"]}}), [
            ("condition", "fork", 'its condition (if) is {"known":["size"]} instead of {"known":["name"]}')]),
        (_with("bye", say=None, prompt="Say goodbye."), [
            ("step-kind", "bye", "it talks; before, it said a fixed text")]),
        (_with("who", branches=[{"when": "wants a person", "then": {"flow": "human"}}]), [
            ("branch", "who", 'a branch is new: "wants a person" leads to the flow "human"')]),
        ({**LEAD, "on": [{"message": ["asks for a quote", "asks the price"]}]}, [
            ("trigger", None, 'its message trigger has as well "asks the price"'),
            ("trigger", None, 'its message trigger no longer has "!thanks"')]),
        ({**LEAD, "on": [*LEAD["on"], {"silence": "2h"}]}, [("trigger", None, "it starts by a silence of 2h, too")]),
        ({**LEAD, "on": []}, [("trigger", None, 'it no longer starts by a message: "asks for a quote", "!thanks"')]),
        ({**LEAD, "onEnd": "stay"}, [("setting", None, 'what follows the last step (onEnd) is new: "stay"')]),
        ({**LEAD, "clearOnStart": ["name"]}, [("fields", None, 'at its start it forgets as well "name"')]),
        ({**LEAD, "steps": LEAD["steps"][:-1]}, [("step-removed", "bye", "it is gone; it was a say step")]),
        ({**LEAD, "steps": [*LEAD["steps"], {"id": "more", "say": "More."}]}, [
            ("step-added", "more", "it is new, a say step")]),
        (_with("bye", id="goodbye"), [("step-renamed", "goodbye", 'before, it was called "bye", it seems')]),
        ({**LEAD, "steps": [LEAD["steps"][-1], *LEAD["steps"][:-1]]}, [("step-moved", "bye", "it stands first now")]),
        ({**LEAD, "id": "sales"}, [("flow-renamed", None, 'it is called "sales" now, it seems')]),
    ],
)  # fmt: skip
def test_a_difference_is_told_in_words(new: Any, expected: list[Any]):
    """Each edit gives its own sentences and no other."""
    assert _said(new) == expected


def test_flows_come_and_go():
    """A flow that is not in the other version is told with its number of steps."""
    other = {"id": "other", "steps": [{"id": "a", "say": "A"}]}
    assert [(one.kind, one.what) for one in compare([LEAD], [LEAD, other]).changes] == [
        ("flow-added", "it is new, with 1 step")
    ]
    assert [(one.kind, one.what) for one in compare([LEAD, other], [LEAD]).changes] == [
        ("flow-removed", "it is gone, with 1 step")
    ]


def test_two_that_could_be_meant_are_no_renaming():
    """Where two new steps say what an old one said, nobody knows which it became."""
    new = {**LEAD, "steps": [*LEAD["steps"][:-1], {"id": "x", "say": "Thank you."}, {"id": "y", "say": "Thank you."}]}
    assert [kind for kind, _, _ in _said(new)] == ["step-removed", "step-added", "step-added"]


def test_layout_is_no_difference():
    """Nulls, `kind`, a name equal to the id and what an editor keeps in `ui` change nothing."""
    steps = [{**step, "ui": {"x": 1}, "label": None} for step in LEAD["steps"]]
    assert _said({**LEAD, "name": "lead", "steps": steps}) == []


@pytest.mark.property
@given(st.integers(0, 10**9))
def test_the_same_flows_have_no_differences(seed: int):
    """Whatever the flows are: against themselves and against their spec there is nothing to tell."""
    flows = draw_agent(Dice((seed, "agent")))["flows"]
    storable = [flow for flow in flows if not _has_functions(flow)]
    assert compare(flows, flows).changes == ()
    assert compare(storable, [to_spec(flow) for flow in storable]).changes == ()


def _has_functions(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_functions, value.values()))
    return any(map(_has_functions, value)) if isinstance(value, list) else callable(value)


# --- fates -------------------------------------------------------------------------------------


def _run(step_id: str, status: Any = "asking", flow_id: str = "lead", **more: Any) -> Run:
    given: dict[str, Any] = {
        "id": f"{flow_id}#m1", "flow_id": flow_id, "anchor": "s1", "dedupe_key": f"{flow_id}:s1:m1",
        "step_id": step_id, "status": status, "trigger": TriggerRef(kind="message", key="m1"), "hop": 0,
        "started_at": "2026-09-20T10:00:00.000Z", "asked": {}, "visits": {step_id: 1}, "outcomes": [],
    }  # fmt: skip
    return Run(**(given | more))


PARKED = Waiting(kind="timer", key="k", until="2026-09-22T10:00:00.000Z", set_at="2026-09-20T10:00:00.000Z")


def test_a_renamed_step_loses_its_runs_and_says_how_to_keep_them():
    """A run knows its step by the id alone."""
    told = fate(_run("bye", "asking"), compare([LEAD], [_with("bye", id="goodbye")]))
    assert (told.kind, told.code) == ("lost", "step-gone")
    assert told.why == 'the step "bye" is gone; it seems to be "goodbye" now: keep the id, and change the label instead'
    assert told.when == "when the customer writes next"


def test_a_renamed_flow_loses_its_runs():
    """So does a flow."""
    told = fate(_run("who"), compare([LEAD], [{**LEAD, "id": "sales"}]))
    assert (told.kind, told.code) == ("lost", "flow-gone")
    assert 'it seems to be "sales" now' in told.why


def test_a_wait_that_has_begun_keeps_its_time():
    """A changed duration is for those who come to the step later."""
    told = fate(_run("pause", "waiting", waiting=PARKED), compare([LEAD], [_with("pause", wait="3d")]))
    assert told.kind == "changed"
    assert told.changes == (
        'its wait is "3d" instead of "2d"',
        "it still waits until 2026-09-22T10:00:00.000Z, as when the wait began",
    )
    assert told.when == "at 2026-09-22T10:00:00.000Z"


def test_what_comes_behind_a_step_is_looked_at():
    """A step that is as it was leads elsewhere when another one is put behind it."""
    new = {**LEAD, "steps": [LEAD["steps"][0], {"id": "more", "say": "More."}, *LEAD["steps"][1:]]}
    told = fate(_run("who"), compare([LEAD], [new]))
    assert (told.kind, told.changes) == ("changed", ('behind it comes "more" instead of "fork"',))


def test_a_premise_is_judged_with_the_fields_of_the_session():
    """A condition in JSON that no longer holds ends the run; without the fields nothing is claimed."""
    comparison = compare([LEAD], [{**LEAD, "while": {"known": ["consent"]}}])
    assert fate(_run("who"), comparison).kind == "goes-on"
    assert fate(_run("who"), comparison, {"consent": True}).kind == "goes-on"
    assert fate(_run("who"), comparison, {}).code == "premise-changed"


def test_a_run_that_stays_at_the_end_follows_the_new_end():
    """`stay` that became `reset` or `end` restarts the run, or ends it."""
    stays = {**LEAD, "onEnd": "stay"}
    run = _run("who", staying=True)
    assert fate(run, compare([stays], [{**LEAD, "onEnd": "reset"}])).kind == "restarts"
    assert fate(run, compare([stays], [LEAD])).kind == "ends"
    assert fate(run, compare([stays], [stays])).kind == "goes-on"


# --- nothing is overlooked ---------------------------------------------------------------------


def _content(spec: Any) -> Any:
    """What of a spec is ever read, `None` when it cannot be compared."""
    try:
        compare([spec], [])
    except FlowConfigurationError:
        return None
    wire = to_wire(from_spec(spec))
    steps = [_read(step, ("ask", "with", "branches", "instructions")) for step in wire["steps"]]
    lists = ("on", "collect", "clearOnStart", "instructions")
    return {**_read(wire, lists), "name": wire.get("name", wire["id"]), "steps": steps}


def _read(part: Any, same_when_empty: tuple[str, ...]) -> Any:
    return {key: value for key, value in part.items() if key != "ui" and (value or key not in same_when_empty)}


@pytest.mark.property
@given(flow_specs, flow_specs, st.integers(0, 10**9), json_values)
def test_every_difference_is_told(spec: Any, other: Any, seed: int, junk: Any):
    """Two versions of which nothing is told read the same, whatever was changed in whichever place."""
    for new in ({**other, "id": spec["id"]}, spoilt(Dice((seed, "edit")), spec, junk), _shuffled(Dice(seed), spec)):
        old_content, new_content = _content(spec), _content(new)
        if old_content is None or new_content is None:
            continue
        told = compare([spec], [new]).changes
        assert bool(told) != same(old_content, new_content)


def _shuffled(dice: Dice, spec: Any) -> Any:
    """The same with each list in another order."""
    if isinstance(spec, dict):
        return {key: _shuffled(dice, part) for key, part in spec.items()}
    return dice.some([_shuffled(dice, part) for part in spec], len(spec)) if isinstance(spec, list) else spec
