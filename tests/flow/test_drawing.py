"""Pictures as data: what a flow's picture holds, in which words, and what a run marks in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from falai import (
    Agent,
    Branch,
    Collect,
    Do,
    Event,
    Field,
    Flow,
    If,
    OnAnyMessage,
    OnEvent,
    OnMention,
    OnMessage,
    OnSilence,
    Prompt,
    Say,
    Start,
    To,
    ToFlow,
    Wait,
    WaitEvent,
)
from falai.errors import FlowConfigurationError
from falai.flow import Picture, picture_of_agent, picture_of_flow
from falai.flow.drawing import PictureEdge, PictureNode, picture_words
from strategies_flow import flow_specs

LEAD = Flow(
    "lead",
    name="A lead",
    description="Finds out who writes.",
    on=[OnMessage("asks for a quote", "!only says thanks"), OnEvent("form_sent", after="2h", business_hours=True)],
    steps=[
        Collect(
            "who",
            ["name", "size"],
            prompt="Find out who they are.",
            branches=[Branch("wants a person", then=ToFlow("human")), Branch(if_={"known": ["name"]}, then="tell")],
        ),
        If("complete", {"known": ["name", "size"]}, else_=To("who", clear=["size"])),
        Do("tell", "notify", on_fail=ToFlow("{{data.next}}")),
        Wait("pause", "2d", else_="end"),
        WaitEvent("paid", "payment", up_to="3d", else_="nowhere"),
        Say("bye", "Thank you.", once=True),
    ],
)


def edges(picture: Picture, step: str) -> dict[str, str]:
    """The ways out of a step: label → title of where it leads."""
    node = next(node for node in picture.nodes if node.step == step)
    return {edge.label: picture.node(edge.target).title for edge in picture.leaving(node)}


def node(picture: Picture, step: str) -> PictureNode:
    return next(node for node in picture.nodes if node.step == step)


def taken(picture: Picture) -> dict[tuple[str | None, str | None], int]:
    """The steps between which the run went, and how often."""
    ends = [(picture.node(edge.source), picture.node(edge.target), edge.taken) for edge in picture.edges]
    return {(source.step, target.step): count for source, target, count in ends if count}


# --- what is told ------------------------------------------------------------------------------


def test_every_step_says_in_plain_words_what_it_does() -> None:
    """A node has the step's kind and one sentence about it."""
    told = {node.step: (node.kind, node.words) for node in picture_of_flow(LEAD).nodes if node.step}
    assert told == {
        "who": ("collect", "asks for name, size: “Find out who they are.”"),
        "complete": ("if", "if name, size are known"),
        "tell": ("do", "does notify"),
        "pause": ("wait", "waits 2d"),
        "paid": ("waitEvent", "waits for payment, at most 3d"),
        "bye": ("say", "says “Thank you.”, only once"),
    }


def test_every_way_out_says_when_it_is_taken() -> None:
    """An edge for each exit, with its occasion and what is forgotten; ends and other flows are nodes."""
    picture = picture_of_flow(LEAD)
    assert edges(picture, "who") == {"": "complete", "wants a person": "human", "if name is known": "tell"}
    assert edges(picture, "complete") == {"yes": "tell", "no; forgets size": "who"}
    assert edges(picture, "tell") == {"done": "pause", "failed": "any flow"}
    assert edges(picture, "pause") == {"nobody wrote": "paid", "the customer wrote": "end"}
    assert edges(picture, "paid") == {"it happened": "bye", "it did not happen": "nowhere"}
    assert edges(picture, "bye") == {"": "end"}


def test_triggers_are_where_a_picture_begins() -> None:
    """A node for each trigger, with its phrases, durations and events; an arrow from there to the first step."""
    triggers = [node for node in picture_of_flow(LEAD).nodes if node.kind == "trigger"]
    assert [node.words for node in triggers] == [
        "the customer wants: “asks for a quote”; not “only says thanks”",
        "form_sent is reported, 2h later, in business hours",
    ]
    starts = [edge for edge in picture_of_flow(LEAD).edges if edge.kind == "start"]
    assert {edge.target for edge in starts} == {node(picture_of_flow(LEAD), "who").id}


@pytest.mark.parametrize(
    ("trigger", "words"),
    [
        (OnAnyMessage(), "any message that nothing else takes"),
        (OnMention("asks for a person", repeat="always"), "the customer mentions: “asks for a person”; every time"),
        (OnMention(), "any message"),
        (OnSilence("24h", repeat={"cooldown": "7d"}), "the customer is silent for 24h; again after 7d"),
        (OnEvent("paid", if_={"equals": {"size": "50+"}}), "paid is reported, if size is 50+"),
        (OnEvent("paid", if_=lambda view: True), "paid is reported, if what a function says"),
        ({"message": ["x"], "event": "paid"}, "a trigger that cannot be read"),
    ],
)
def test_triggers_in_words(trigger: Any, words: str) -> None:
    """What starts a flow is told with its condition and how often it may."""
    picture = picture_of_flow(Flow("f", on=[trigger], steps=[Say("a", "Hello.")]))
    assert picture.nodes[0].words == words


def may_choose_again(view: Any) -> bool:
    return True


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ({"known": ["name"]}, "if name is known"),
        ({"equals": {"agreed": True, "size": 3}}, "if agreed is true and size is 3"),
        ({"silenced": True}, "if the assistant is silenced"),
        ({"vip": True, "level": {"min": 2}}, 'if vip and level {"min":2}'),
        ({}, "if always"),
        ({"equals": "oops"}, "if equals oops"),
        ({"vip": {1, 2}}, "if vip a set"),
        (may_choose_again, "if may choose again"),
    ],
)
def test_conditions_in_words(condition: Any, words: str) -> None:
    """A condition of any form is told, a function by its name."""
    assert node(picture_of_flow(Flow("f", steps=[If("a", condition)])), "a").words == words


def test_a_flow_without_triggers_says_who_starts_it() -> None:
    """Where no trigger stands, the picture still has a beginning."""
    first = picture_of_flow(Flow("f", steps=[Say("a", "Hello.")])).nodes[0]
    assert (first.kind, first.words) == ("trigger", "another flow, or the program, starts it")


def test_a_flow_without_steps_is_drawn() -> None:
    """Its beginning leads to its end."""
    picture = picture_of_flow(Flow("f"))
    assert [node.kind for node in picture.nodes] == ["trigger", "end"]
    assert [edge.kind for edge in picture.edges] == ["start"]


@pytest.mark.parametrize(("on_end", "title", "back"), [("stay", "stays", "b"), ("reset", "begins again", "a")])
def test_on_end_leads_on(on_end: Any, title: str, back: str) -> None:
    """With `onEnd` the end is no end: an arrow leads to the talk step that it stays on, or to the first step."""
    picture = picture_of_flow(Flow("f", on_end=on_end, steps=[Say("a", "Hello."), Prompt("b", "Talk.")]))
    end = next(node for node in picture.nodes if node.kind == "end")
    assert end.title == title
    assert [picture.node(edge.target).step for edge in picture.leaving(end)] == [back]


# --- flows that are not right ------------------------------------------------------------------


def test_a_flow_with_wrong_names_is_drawn() -> None:
    """A step that nobody has is a node that says so; steps of one id, or of none, are told apart."""
    spec = {"steps": [{"say": "One.", "then": "gone"}, {"id": "a", "say": "Two."}, {"id": "a", "say": "Three."}]}
    picture = picture_of_flow(spec)
    assert [node.step for node in picture.nodes if node.step] == ["#1", "a", "a#3"]
    assert edges(picture, "#1") == {"": "gone"}
    assert [node.words for node in picture.nodes if node.kind == "missing"] == ["there is no step gone"]


def test_a_wrong_shape_is_refused() -> None:
    """What is no flow cannot be drawn: the error has every problem."""
    with pytest.raises(FlowConfigurationError) as refused:
        picture_of_flow({"id": "f", "steps": [{"id": "a"}, {"id": "b", "wait": 3}]})
    assert [problem.path for problem in refused.value.problems] == ["steps[0]", "steps[1].wait"]


@pytest.mark.property
@given(flow_specs)
def test_every_flow_of_the_right_shape_has_a_whole_picture(spec: dict[str, Any]) -> None:
    """For every flow whose shape is right, ids are unique, every step is there and every edge has both ends."""
    picture = picture_of_flow(spec)
    ids = [node.id for node in picture.nodes]
    assert len(set(ids)) == len(ids)
    assert len([node for node in picture.nodes if node.step is not None]) == len(spec["steps"])
    assert {end for edge in picture.edges for end in (edge.source, edge.target)} <= set(ids)
    assert picture_words(picture)


# --- several flows -----------------------------------------------------------------------------


def test_the_map_of_an_agent_shows_chains() -> None:
    """Flows, triggers, and an arrow for each pair of flows with the steps where it leaves; templates and unknown flows too."""
    flows = [
        LEAD,
        Flow(
            "human",
            on=[OnMention("asks for a person")],
            on_end="reset",
            steps=[Say("moment", "One moment.", then=ToFlow("gone"))],
        ),
    ]
    picture = picture_of_agent(flows, title="Ana")
    titles = {node.id: node.title or node.words for node in picture.nodes}
    told = {(titles[edge.source], titles[edge.target]): edge.label for edge in picture.edges}
    assert told == {
        ("the customer wants: “asks for a quote”; not “only says thanks”", "A lead (lead)"): "",
        ("form_sent is reported, 2h later, in business hours", "A lead (lead)"): "",
        ("A lead (lead)", "human"): "from who",
        ("A lead (lead)", "any flow"): "from tell",
        ("the customer mentions: “asks for a person”", "human"): "",
        ("human", "gone"): "from moment",
        ("human", "human"): "begins again",
    }


# --- a run in progress -------------------------------------------------------------------------


def play(flow: Flow, given: Event | Start) -> Picture:
    """The picture of the run that this input starts."""
    agent = Agent(name="Ana", model="lexical", fields={"name": Field(str)}, events={"paid": {}}, flows=[flow])
    result = agent.turn_sync("s", given)
    [run] = result.session.runs
    return picture_of_flow(agent.plan.flows["f"], run)


START = Start(flow="f", key="k")
ROUND = Flow(
    "f",
    steps=[
        Say("hello", "Hello."),
        If("again", lambda view: view.run.visits["hello"] < 2, then="hello", else_="pause"),
        Say("never", "Never."),
        Wait("pause", "2d"),
    ],
)


def test_a_run_marks_its_way() -> None:
    """Visits are counted, the place of the run is marked, and so are the edges that it took."""
    picture = play(ROUND, START)
    assert {n.step: n.visits for n in picture.nodes if n.step} == {"hello": 2, "again": 2, "never": 0, "pause": 1}
    assert [n.step for n in picture.nodes if n.here] == ["pause"]
    assert taken(picture) == {(None, "hello"): 1, ("hello", "again"): 2, ("again", "hello"): 1, ("again", "pause"): 1}
    assert picture.run is not None
    assert picture.run.startswith("it stands at pause; it is parked until ")


def test_two_ways_to_one_step_are_told_apart() -> None:
    """When the next step and `else` are one, the exit that was not taken is not marked."""
    flow = Flow("f", steps=[If("a", {"known": ["name"]}, else_="w"), Wait("w", "2d")])
    marked = [(edge.kind, edge.taken) for edge in play(flow, START).edges if edge.source == "f/step/a"]
    assert marked == [("next", 0), ("else", 1)]


def test_a_run_that_has_not_begun_marks_only_what_started_it() -> None:
    """A start that is delayed has a run without a step."""
    flow = Flow("f", on=[OnMessage("wants it"), OnEvent("paid", after="2h")], steps=[Say("b", "B.")])
    picture = play(flow, Event("paid", key="k"))
    assert [(n.words, n.visits) for n in picture.nodes if n.visits] == [("paid is reported, 2h later", 1)]
    assert taken(picture) == {}
    assert picture.run is not None
    assert picture.run.startswith("it has not begun; it is parked until ")


def test_a_run_that_stays_is_drawn_with_its_way_back() -> None:
    """The end that is none, and the arrow from there, are marked like the rest."""
    flow = Flow("f", on_end="stay", steps=[Prompt("talk", "Say hello."), Say("bye", "Bye.")])
    picture = play(flow, START)
    assert taken(picture) == {(None, "talk"): 1, ("talk", "bye"): 1, ("bye", None): 1}
    assert [(edge.kind, edge.taken) for edge in picture.edges if edge.kind == "onEnd"] == [("onEnd", 1)]
    assert [n.step for n in picture.nodes if n.here] == ["talk"]


def test_a_run_that_lost_its_step_is_drawn() -> None:
    """After an edit, lines and visits of steps that are gone mark nothing."""
    agent = Agent(name="Ana", model="lexical", flows=[ROUND])
    [run] = agent.turn_sync("s", START).session.runs
    picture = picture_of_flow(Flow("f", steps=[Say("other", "Other.")]), run)
    assert not [n for n in picture.nodes if n.here or (n.step and n.visits)]


def test_a_map_marks_the_flows_in_progress() -> None:
    """The runs of a session mark their flows."""
    agent = Agent(name="Ana", model="lexical", flows=[ROUND, Flow("g", steps=[Say("a", "A.")])])
    session = agent.turn_sync("s", START).session
    picture = picture_of_agent(agent.plan.flows.values(), runs=session.runs)
    assert [n.flow for n in picture.nodes if n.here] == ["f"]


def test_a_picture_is_told_in_words() -> None:
    """The text alternative has every step, every way out and, with a run, where that is."""
    words = picture_words(play(ROUND, START))
    assert "hello: says “Hello.” (visited 2 times). Then to again." in words
    assert "never: says “Never.”. Then to pause." in words
    assert "pause: waits 2d (visited once, it stands here). Then to end." in words


def test_a_picture_is_plain_data() -> None:
    """Nodes and edges can be made and compared: a page of one's own draws from them."""
    one = PictureNode(id="a", kind="say", title="a")
    assert one == PictureNode(id="a", kind="say", title="a")
    assert PictureEdge(source="a", target="a", kind="next").taken == 0
    picture = Picture(title="f", nodes=(one,), edges=())
    assert picture.node("a") is one
    with pytest.raises(KeyError):
        picture.node("b")
