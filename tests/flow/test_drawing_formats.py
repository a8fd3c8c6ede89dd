"""The formats: whatever an author's texts hold, what comes out is well formed and legible."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from falai import Agent, Flow, Prompt, Say, Start, Wait
from falai.flow import Picture, draw, picture_of_agent, picture_of_flow
from falai.flow.drawing.lettering import columns, cut, text_width, wrapped
from falai.flow.drawing.text import text
from strategies_flow import flow_specs

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "end", '"', "'", "`**b**`", "<script>alert(1)</script>", "]]>", "-->", "&amp; &#34;", "\\", '\\"', "\\N", "}", "{{", "]", ")", "|x|",
    "a\nb; n0 --> n1", "%%{init: {}}%%", "1. one", "- one", "#35;", "click n0 href", "$$x$$", ":::x", "\x00\x1b[31m", "\u202eevil", "\ud800", "🙂",
    "漢字", "e\u0301", "", "   ", "x" * 300,
]  # fmt: skip
hostile = (
    st.sampled_from(HOSTILE) | st.text(st.characters(), max_size=30) | st.text("\"\\'<>&[](){}|#;%`-=.:\n", max_size=12)
)


def flow(said: str) -> dict[str, Any]:
    """A flow that has this text wherever a text may stand."""
    return {
        "id": said,
        "name": said or "f",
        "description": said,
        "on": [{"message": [said, "x"]}, {"event": said}, {"silence": said}],
        "onEnd": "reset",
        "while": {"equals": {said: said}},
        "steps": [
            {"id": said, "label": said, "say": said},
            {"id": f"{said} 2", "prompt": said, "branches": [{"when": said, "then": {"flow": said}}, {"when": "x", "then": said}]},
            {"id": "do", "do": said, "onFail": {"step": f"{said} 3", "clear": [said]}},
            {"id": "wait", "wait": {"event": said}, "else": {"flow": "{{" + said + "}}"}},
            {"id": "if", "if": {said: said}, "else": "end"},
        ],
    }  # fmt: skip


def pictures(said: str) -> list[Picture]:
    return [picture_of_agent([flow(said)], title=said), picture_of_flow(flow(said))]


# --- SVG ---------------------------------------------------------------------------------------

TAGS = {"svg", "title", "desc", "style", "rect", "g", "path", "text"}
ATTRIBUTES = {
    "width", "height", "viewBox", "class", "role", "transform", "id", "d", "x", "y", "rx", "data-kind", "data-flow", "data-step",
    "data-source", "data-target",
}  # fmt: skip


@pytest.mark.property
@settings(deadline=None)
@given(hostile)
def test_an_svg_is_well_formed_and_does_nothing(said: str) -> None:
    """For every text: well-formed XML of harmless elements, nothing from elsewhere, and each id once."""
    drawn = draw(pictures(said), "svg")
    root = ET.fromstring(drawn)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= TAGS
    assert {name for element in root.iter() for name in element.attrib} <= ATTRIBUTES
    ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[A-Za-z][\w-]*", one, re.ASCII) for one in ids)
    style = root.findtext(f"{SVG}style") or ""
    assert not re.search(r"url\(|@import|//", style)


@pytest.mark.property
@settings(deadline=None)
@given(flow_specs)
def test_every_step_can_be_found_in_an_svg(spec: dict[str, Any]) -> None:
    """A group for each node, with the step's id as data, a title that tells what it does, and its edges by id."""
    picture = picture_of_flow(spec)
    root = ET.fromstring(draw(picture, "svg"))
    groups = {one.attrib["id"]: one for one in root.iter(f"{SVG}g") if "id" in one.attrib}
    assert len(groups) == len(picture.nodes)
    assert [one.attrib["data-step"] for one in groups.values() if "data-step" in one.attrib] == [
        node.step for node in picture.nodes if node.step is not None
    ]
    assert all(one.findtext(f"{SVG}title") is not None for one in groups.values())
    edges = [one for one in root.iter(f"{SVG}g") if "data-source" in one.attrib]
    assert len(edges) == len(picture.edges)
    assert {one.attrib[end] for one in edges for end in ("data-source", "data-target")} <= set(groups)


def test_an_svg_is_told_to_screen_readers_and_comes_in_light_and_dark() -> None:
    """It has a title, the picture in sentences, and colours for both."""
    root = ET.fromstring(draw(picture_of_flow(Flow("f", steps=[Say("a", "Hello.")])), "svg"))
    assert root.findtext(f"{SVG}title") == "f"
    assert "a: says “Hello.”. Then to end." in (root.findtext(f"{SVG}desc") or "")
    assert "prefers-color-scheme:dark" in (root.findtext(f"{SVG}style") or "")


def test_a_legend_has_the_kinds_that_occur() -> None:
    """Each kind of node in the picture is explained once; no other."""
    drawn = draw(picture_of_flow(Flow("f", steps=[Say("a", "Hello."), Wait("w", "2d")])), "svg")
    assert re.findall(r'<text class="key"[^>]*>([^<]*)<', drawn) == [
        "starts it",
        "says a fixed text",
        "waits",
        "is over",
    ]


def test_a_run_in_progress_is_seen_in_every_format() -> None:
    """What was visited, what was taken and where the run stands is marked."""
    agent = Agent(
        name="Ana", model="lexical", flows=[Flow("f", steps=[Say("a", "A."), Wait("w", "2d"), Say("b", "B.")])]
    )
    [run] = agent.turn_sync("s", Start(flow="f", key="k")).session.runs
    picture = picture_of_flow(agent.plan.flows["f"], run)
    drawn = draw(picture, "svg")
    assert re.findall(r'class="node (\w+) (\w+)" data-kind="\w+" data-flow="f" data-step="(\w)"', drawn) == [
        ("say", "visited", "a"), ("wait", "here", "w"), ("say", "unlit", "b"),
    ]  # fmt: skip
    assert "class n0,n1,n2 visited" in draw(picture, "mermaid")
    assert "class n2 here" in draw(picture, "mermaid")
    assert "penwidth=4" in draw(picture, "dot")
    assert "▶ [w] waits 2d" in draw(picture)
    assert "● [a] says “A.”" in draw(picture)


# --- Mermaid -----------------------------------------------------------------------------------

_LABEL = r'"(?:[^"\\\[\]{}<>|`%&;]|\#\d+;|<br/>)+"'
MERMAID = re.compile(
    rf"""\s+subgraph\ \w+\[{_LABEL}\] | \s+end | \s+direction\ TB
    | \s+[nk]\d+ (?: \(\[{_LABEL}\]\) | \({_LABEL}\) | \[{_LABEL}\] | \{{\{{{_LABEL}\}}\}} | \[\[{_LABEL}\]\] | \[/{_LABEL}\\\] ) :::\w+Box
    | \s+n\d+\ -->(?:\|{_LABEL}\|)?\ n\d+
    | \s+classDef\ \w+\ [\w\#:,. -]+ | \s+class\ n\d+(?:,n\d+)*\ \w+ | \s+linkStyle\ [\d,]+\ [\w\#:,-]+
    """,
    re.VERBOSE,
)


@pytest.mark.property
@settings(deadline=None)
@given(hostile)
def test_mermaid_has_only_the_lines_that_it_means(said: str) -> None:
    """For every text: each line is one of the few forms, and nothing of a label is outside its quotes."""
    head, body = draw(pictures(said), "mermaid").split("\n  }\n", 1)
    assert re.fullmatch(r"flowchart TD\n  accTitle: [^#;\n]+\n  accDescr \{[^{}#;%]*", head)
    wrong = [line for line in body.split("\n")[:-1] if not MERMAID.fullmatch(line)]
    assert not wrong


def test_mermaid_keeps_letters_and_emoji() -> None:
    """What means nothing to the grammar stays legible."""
    assert 'n1["a<br/>says “Olá, José 🙂”"]:::sayBox' in draw(
        picture_of_flow(Flow("f", steps=[Say("a", "Olá, José 🙂")])), "mermaid"
    )


# --- DOT ---------------------------------------------------------------------------------------

_STRING = re.compile(r'"(?:[^"\\\n]|\\["\\n])*"')
_OUTSIDE = re.compile(r"[\w\s{}\[\]=,>-]*")


@pytest.mark.property
@settings(deadline=None)
@given(hostile)
def test_dot_keeps_texts_in_their_strings(said: str) -> None:
    """For every text: what is left outside quoted strings is our own, and no entity begins in one."""
    drawn = draw(pictures(said), "dot")
    assert _OUTSIDE.fullmatch(_STRING.sub("", drawn))
    assert not re.search(r"&(?!amp;)", drawn)
    assert drawn.count("{") - "".join(_STRING.findall(drawn)).count("{") == drawn.count("}") - "".join(
        _STRING.findall(drawn)
    ).count("}")


# --- text --------------------------------------------------------------------------------------


def test_text_cuts_a_goal_only_where_there_is_no_room() -> None:
    """A long name of a goal is whole beside a short label, and the other way round."""
    steps = [{"id": "a", "if": {"known": ["x"]}, "then": "z" * 50, "else": "y" * 90}, {"id": "y" * 90, "say": "y"}]
    picture = picture_of_flow({"id": "f", "steps": [*steps, {"id": "z" * 50, "say": "z"}]})
    drawn = text([picture], 80)
    assert f"├─ yes ──▶ {'z' * 50} ↓\n" in drawn
    branches = [{"when": "w" * 60, "then": "end"}]
    asks = picture_of_flow({"id": "f", "steps": [{"id": "a", "collect": ["x"], "branches": branches}]})
    assert f" {'w' * 60} ──▶ end\n" in text([asks], 80)


@pytest.mark.property
@settings(deadline=None)
@given(hostile, st.integers(30, 120))
def test_text_fits_its_width_and_steers_no_terminal(said: str, width: int) -> None:
    """For every text and width: no line is wider, and no character moves the cursor or turns the writing round."""
    drawn = text(pictures(said), width)
    assert all(columns(line) <= width for line in drawn.split("\n"))
    assert all("──▶ " in line for line in drawn.split("\n") if re.match("[├└]─", line))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", drawn)


def test_text_is_correct_for_cycles() -> None:
    """The next step is below; any other is named, with the direction in which it is."""
    branches = [
        {"when": "wants it again", "then": {"step": "a", "clear": ["x"]}},
        {"when": "is in a hurry", "then": "c"},
    ]
    steps: list[Any] = [
        Say("a", "Hello."),
        Prompt("b", "Talk.", branches=branches),
        Say("d", "Bye.", then="b"),
        Say("c", "Quick."),
    ]
    assert draw(picture_of_flow(Flow("f", steps=steps))) == (
        """\
f

(another flow, or the program, starts it)
│
▼
[a] says “Hello.”
│
▼
[b] talks: “Talk.”
├─ wants it again; forgets x ──▶ a ↑
├─ is in a hurry ──▶ c ↓
│
▼
[d] says “Bye.”
└───▶ b ↑

[c] says “Quick.”
└───▶ end
"""
    )


@pytest.mark.property
@settings(deadline=None)
@given(flow_specs)
def test_text_has_every_step_once(spec: dict[str, Any]) -> None:
    """For every flow each step has its line, however the flow turns."""
    picture = picture_of_flow(spec)
    lines = draw(picture).partition("\n\n")[2].split("\n")  # below the heading
    assert len([line for line in lines if line.startswith(("[", "<"))]) == len(spec["steps"])


# --- all of them -------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "mermaid", "dot", "svg"])
def test_equal_pictures_give_equal_drawings(form: Any) -> None:
    """A drawing is a function of the picture: what is kept in a repository changes only with the flow."""
    assert draw(pictures("x"), form) == draw(pictures("x"), form)


def test_what_cannot_be_drawn_is_refused() -> None:
    """The message says which formats there are; no picture is no drawing."""
    unknown: Any = "png"
    with pytest.raises(ValueError, match="format is 'png'; the formats are text, mermaid, dot, svg"):
        draw(picture_of_flow(Flow("f")), unknown)
    with pytest.raises(ValueError, match="no picture"):
        draw([])


@pytest.mark.property
@given(hostile, st.floats(20, 300), st.integers(1, 4))
def test_texts_are_cut_to_their_room(said: str, room: float, lines: int) -> None:
    """For every text and room: no line is wider, there are no more lines, and nothing is lost unless it says so."""

    def measure(part: str) -> float:
        return text_width(part, 12)

    found = wrapped(said, room, lines, measure)
    assert len(found) <= lines
    assert all(measure(line) <= room or len(line) <= 1 for line in found)
    whole = "".join("".join(found).split()) == "".join(said.split())
    assert whole or found[-1].endswith("…")
    assert cut(said, 10_000, measure) == said
