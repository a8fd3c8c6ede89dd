"""The judge of whether a killed worker's session goes on in time, by what a database saw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from host.queue.storms.going import Evidence, Span
from host.queue.storms.going import goes_on as judged

Event = tuple[int, str, str]
CAME: Event = (0, "new", "")
TAKEN: Event = (1_000, "taken", "w1")
KILLED = {"w1": 2_000}
LATE = [CAME, TAKEN, (8_500, "left", "w2"), (13_000, "taken", "w2"), (13_100, "done", "w2")]


def goes_on(rows: Sequence[dict[str, Any]], died: dict[str, int], faults: Sequence[Span], slow: float = 1) -> list[str]:
    def slowness(_since: int, _until: int) -> float:
        return slow

    return judged(rows, Evidence(died, faults, slowness))


def seen(*events: Event, due: int = 0, deaths: int = 0) -> Sequence[dict[str, Any]]:
    """Of one session and one input; `new` and `done` are of the input, the others of its job."""
    return [
        {
            "at": at, "what": "turn", "session": "s1", "event": event, "who": who, "deaths": deaths,
            "key": "m1" if event in {"new", "done"} else None, "due": due if event in {"new", "done"} else None,
        }
        for at, event, who in events
    ]  # fmt: skip


def test_in_time() -> None:
    """Somebody else has it soon."""
    soon = [CAME, TAKEN, (8_500, "left", "w2"), (8_700, "taken", "w2"), (8_800, "done", "w2")]
    assert goes_on(seen(*soon), KILLED, []) == []


def test_too_late() -> None:
    """It says whose session it was, and how late it went on; or that it never did."""
    (found,) = goes_on(seen(*LATE), KILLED, [])
    assert found == (
        "goes_on: s1 of w1, which was killed in a turn, went on after 11000 ms, on a machine that was "
        "1.0 times slower than free"
    )
    (found,) = goes_on(seen(CAME, TAKEN), KILLED, [])
    assert found.endswith("never went on")


@pytest.mark.parametrize("fault", [Span(3_000, 4_000), Span(500, 3_500), Span(11_000, 11_500)])
def test_a_fault_at_the_same_time(fault: Span) -> None:
    """The ten seconds begin when it is over."""
    assert goes_on(seen(*LATE), KILLED, [fault]) == []


def test_a_fault_that_was_over() -> None:
    """It is no excuse."""
    assert goes_on(seen(*LATE), KILLED, [Span(500, 1_500)]) != []


def test_a_turn_takes_its_time() -> None:
    """What a living worker needs for it is not counted."""
    slow = [CAME, TAKEN, (8_500, "left", "w2"), (8_700, "taken", "w2"), (20_000, "done", "w2")]
    assert goes_on(seen(*slow), KILLED, []) == []


def test_each_kill_counts_for_itself() -> None:
    """Whoever has it from a dead one may be killed too: its ten seconds are others."""
    again = [
        CAME,
        TAKEN,
        (9_000, "taken", "w2"),
        (17_000, "left", "w3"),
        (17_100, "taken", "w3"),
        (17_200, "done", "w3"),
    ]
    assert goes_on(seen(*again), {**KILLED, "w2": 10_000}, []) == []


def test_nothing_was_due() -> None:
    """An input that waits for its time, a worker that had nothing in hand, and one whose work was done."""
    assert goes_on(seen(*LATE, due=5_000), KILLED, []) == []
    assert goes_on(seen(CAME, TAKEN, (1_500, "left", "w1"), (20_000, "done", "w2")), KILLED, []) == []
    assert goes_on(seen(CAME, TAKEN, (1_500, "done", "w1")), KILLED, []) == []


def test_what_kills_its_workers() -> None:
    """From the third death on it may have to wait until others have been tried."""
    assert goes_on(seen(*LATE, deaths=1), KILLED, []) != []
    assert goes_on(seen(*LATE, deaths=2), KILLED, []) == []


def test_a_machine_that_has_too_much_to_do() -> None:
    """Everything takes longer on it."""
    assert goes_on(seen(*LATE), KILLED, [], slow=1.2) == []
