"""The time of the database in a process: it is set again and again, and never shows an earlier time than it did."""

from __future__ import annotations

from datetime import timedelta

from falai.host.queue.clock import DatabaseClock
from falai.session.dates import from_ms, to_ms

NOW = 1_000_000


class Local:
    """A clock on the wall, which somebody turns."""

    def __init__(self) -> None:
        self.now = from_ms(NOW)
        self.shown = DatabaseClock(lambda: self.now)

    def shows(self) -> int:
        return to_ms(self.shown()) - NOW

    def goes(self, ms: int) -> int:
        self.now += timedelta(milliseconds=ms)
        return self.shows()


def test_it_shows_the_time_of_the_database() -> None:
    """However wrong the local one is."""
    local = Local()
    local.shown.set(NOW + 5_000)
    assert (local.shows(), local.goes(10)) == (5_000, 5_010)


def test_an_answer_that_comes_late_does_not_set_it_back() -> None:
    """It stands still until the time has come again: what was due is due."""
    local = Local()
    assert local.goes(100) == 100
    local.shown.set(NOW + 70)
    assert [local.shows(), local.goes(20), local.goes(20)] == [100, 100, 110]


def test_a_time_that_was_wrong_is_left() -> None:
    """A clock that was an hour ahead does not stand still for an hour."""
    local = Local()
    local.shown.set(NOW + 3_600_000)
    assert local.shows() == 3_600_000
    local.shown.set(NOW)
    assert local.shows() == 0
