"""Where boxes, arrows and labels are: nothing covers anything."""

from __future__ import annotations

from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from falai.flow.drawing.layers import Arrow
from falai.flow.drawing.layout import Box, Layout, lay_out

TOUCH = 0.01


@st.composite
def graphs(draw: st.DrawFn) -> tuple[dict[str, tuple[float, float]], list[Arrow]]:
    """Boxes of any size and arrows between any of them, to themselves and several times too."""
    names = [f"n{index}" for index in range(draw(st.integers(1, 14)))]
    sizes = st.tuples(st.floats(20, 260), st.floats(18, 110))
    labels = st.just((0.0, 0.0)) | st.tuples(st.floats(10, 140), st.floats(12, 50))
    name = st.sampled_from(names)
    arrow = st.builds(Arrow, source=name, target=name, label=labels, straight=st.sampled_from([1.0, 8.0]))
    return {name: draw(sizes) for name in names}, draw(st.lists(arrow, max_size=24))


def overlap(one: Box, other: Box) -> bool:
    across = min(one.right, other.right) - max(one.x, other.x)
    return across > TOUCH and min(one.bottom, other.bottom) - max(one.y, other.y) > TOUCH


def on_edge(point: tuple[float, float], box: Box) -> bool:
    x, y = point
    return box.x - TOUCH <= x <= box.right + TOUCH and min(abs(y - box.y), abs(y - box.bottom)) < TOUCH


def curve(route_points: tuple[tuple[float, float], ...]) -> list[tuple[float, float]]:
    """Points along the way as it is drawn: straight inside a pair, an S between two pairs."""
    found: list[tuple[float, float]] = []
    for (x, y), (to_x, to_y) in pairwise(route_points):
        for t in (0.1, 0.3, 0.5, 0.7, 0.9):
            share = 3 * t * t - 2 * t * t * t
            middle = (y + to_y) / 2
            down = (1 - t) ** 3 * y + 3 * (1 - t) ** 2 * t * middle + 3 * (1 - t) * t * t * middle + t**3 * to_y
            found.append((x + (to_x - x) * share, down))
    return found


def inside(point: tuple[float, float], box: Box) -> bool:
    return box.x + TOUCH < point[0] < box.right - TOUCH and box.y + TOUCH < point[1] < box.bottom - TOUCH


@pytest.mark.property
@settings(deadline=None)
@given(graphs())
def test_nothing_covers_anything(graph: tuple[dict[str, tuple[float, float]], list[Arrow]]) -> None:
    """For every graph: boxes and labels are apart, arrows begin and end at their boxes and cross no box."""
    boxes, arrows = graph
    layout = lay_out(boxes, arrows)
    labels = [route.label for route, arrow in zip(layout.routes, arrows, strict=True) if arrow.label[1]]
    assert not [pair for pair in combinations([*layout.boxes.values(), *labels], 2) if overlap(*pair)]
    for arrow, route in zip(arrows, layout.routes, strict=True):
        assert on_edge(route.points[0], layout.boxes[arrow.source])
        assert on_edge(route.points[-1], layout.boxes[arrow.target])
        assert not [box for box in layout.boxes.values() for point in curve(route.points) if inside(point, box)]
    _within(layout)


def _within(layout: Layout) -> None:
    """Everything is on the paper."""
    for box in [*layout.boxes.values(), *(route.label for route in layout.routes)]:
        assert box.x >= -TOUCH
        assert box.right <= layout.width + TOUCH
        assert box.y >= -TOUCH
        assert box.bottom <= layout.height + TOUCH
    for x, y in (point for route in layout.routes for point in route.points):
        assert -TOUCH <= x <= layout.width + TOUCH
        assert -TOUCH <= y <= layout.height + TOUCH


@pytest.mark.property
@settings(deadline=None)
@given(graphs())
def test_boxes_keep_their_sizes_and_equal_graphs_their_places(
    graph: tuple[dict[str, tuple[float, float]], list[Arrow]],
) -> None:
    """A layout is a function of the graph, and scales nothing."""
    boxes, arrows = graph
    layout = lay_out(boxes, arrows)
    for name, (width, height) in boxes.items():
        assert layout.boxes[name].width == pytest.approx(width)
        assert layout.boxes[name].height == pytest.approx(height)
    assert lay_out(boxes, arrows) == layout


def test_a_chain_stands_below_each_other() -> None:
    """Boxes one behind the other are in one column, in order, and the arrows between are straight."""
    boxes = dict.fromkeys("abcd", (100.0, 40.0))
    layout = lay_out(boxes, [Arrow(source=one, target=other) for one, other in ("ab", "bc", "cd")])
    assert len({round(box.middle, 3) for box in layout.boxes.values()}) == 1
    assert [layout.boxes[name].y for name in "abcd"] == sorted(box.y for box in layout.boxes.values())
    assert {round(x, 3) for route in layout.routes for x, _ in route.points} == {50.0}


def test_a_cycle_leads_back() -> None:
    """The arrow that closes a cycle is marked, and goes from the lower box up."""
    layout = lay_out(
        {"a": (80.0, 30.0), "b": (80.0, 30.0)}, [Arrow(source="a", target="b"), Arrow(source="b", target="a")]
    )
    down, up = layout.routes
    assert (down.back, up.back) == (False, True)
    assert up.points[0][1] > up.points[-1][1]


def test_parts_stand_side_by_side() -> None:
    """What does not hang together is laid out apart; what is too wide for a row begins another."""
    layout = lay_out(dict.fromkeys("abc", (300.0, 40.0)), [], widest=700)
    assert layout.boxes["a"].y == layout.boxes["b"].y < layout.boxes["c"].y


def test_a_flow_of_a_thousand_steps_has_a_layout() -> None:
    """No recursion ends it."""
    names = [f"n{index}" for index in range(1000)]
    arrows = [Arrow(source=one, target=other) for one, other in pairwise(names)]
    assert len(lay_out(dict.fromkeys(names, (80.0, 30.0)), arrows).boxes) == 1000
