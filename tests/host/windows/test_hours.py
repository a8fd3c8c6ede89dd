"""Hours with zones, nights, holidays and moved clocks."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import BusinessHours
from falai.host.windows import SendingWindow

SAO_PAULO = ZoneInfo("America/Sao_Paulo")
ZONES = [
    "UTC", "America/Sao_Paulo", "America/New_York", "Europe/Lisbon", "Europe/Dublin", "Asia/Kathmandu",
    "Asia/Kolkata", "Australia/Lord_Howe", "America/St_Johns", "Africa/Casablanca", "Pacific/Chatham", "Asia/Beirut",
]  # fmt: skip
# Moments near which clocks are moved, by an hour, half an hour, or a whole day.
MOVED = [
    datetime(2026, 3, 8, 7, tzinfo=UTC), datetime(2026, 11, 1, 6, tzinfo=UTC),  # New York
    datetime(2026, 3, 29, 1, tzinfo=UTC), datetime(2026, 10, 25, 1, tzinfo=UTC),  # Lisbon, Dublin
    datetime(2026, 4, 4, 15, tzinfo=UTC), datetime(2026, 10, 3, 15, 30, tzinfo=UTC),  # Lord Howe: half an hour
    datetime(2018, 11, 4, 3, tzinfo=UTC), datetime(2019, 2, 17, 2, tzinfo=UTC),  # Sao Paulo: at midnight
    datetime(2026, 2, 15, 2, tzinfo=UTC), datetime(2026, 3, 28, 22, tzinfo=UTC),  # Casablanca, Beirut
]  # fmt: skip


def _local(*when: int, zone: str = "America/Sao_Paulo", fold: int = 0) -> datetime:
    return datetime(*when, tzinfo=ZoneInfo(zone), fold=fold)


def test_friday_evening_moves_to_monday_morning() -> None:
    """Mon-Fri 09-18 in Sao Paulo: what is due on Friday at 19:00 goes out on Monday at 09:00, said in UTC."""
    window = SendingWindow({"mon-fri": "09:00-18:00"}, tz="America/Sao_Paulo")
    moved = window(_local(2026, 11, 27, 19))
    assert (moved.tzinfo, moved) == (UTC, _local(2026, 11, 30, 9))


@pytest.mark.parametrize(
    ("when", "is_open"),
    [
        ((2026, 11, 28, 1, 30), True),  # Saturday: Friday's night
        ((2026, 11, 28, 2, 0), False),
        ((2026, 11, 28, 21, 0), False),  # Saturday does not open
        ((2026, 11, 29, 1, 30), False),
        ((2026, 11, 30, 1, 30), False),  # Sunday did not open
        ((2026, 11, 30, 21, 0), True),
        ((2026, 11, 30, 20, 59, 59, 999_999), False),
    ],
)
def test_a_night_belongs_to_the_day_on_which_it_opens(when: tuple[int, ...], is_open: bool) -> None:
    """21:00-02:00 on weekdays: 01:30 counts as the previous day's."""
    window = SendingWindow({"mon-fri": "21:00-02:00"}, tz="America/Sao_Paulo")
    assert window.is_open(_local(*when)) is is_open


@pytest.mark.parametrize(
    ("hours", "at", "opens"),
    [
        ("09:00-20:00", (2026, 11, 28, 8), (2026, 11, 28, 9)),  # every day
        (["09:00-12:00", "13:00-18:00"], (2026, 11, 28, 12), (2026, 11, 28, 13)),
        ({"mon-fri": ["08:00-12:00", "13:00-18:00"], "sat": "09:00-13:00"}, (2026, 11, 27, 18), (2026, 11, 28, 9)),
        ({"mon-fri": ["08:00-12:00", "13:00-18:00"], "sat": "09:00-13:00"}, (2026, 11, 28, 13), (2026, 11, 30, 8)),
        ({"fri-mon": "10:00-11:00"}, (2026, 11, 30, 11), (2026, 12, 4, 10)),  # a row of days over the weekend
        ({"wed": "00:00-24:00"}, (2026, 12, 2, 23, 59), (2026, 12, 2, 23, 59)),
        ({"wed": "00:00-24:00"}, (2026, 12, 3, 0), (2026, 12, 9, 0)),
    ],
)
def test_days_and_spans(hours: object, at: tuple[int, ...], opens: tuple[int, ...]) -> None:
    """Several spans a day, days in rows, a whole day; a span ends where the next minute begins."""
    assert SendingWindow(hours, tz="America/Sao_Paulo")(_local(*at)) == _local(*opens)


def test_holidays_of_a_country_and_of_a_part_of_it() -> None:
    """9 July is a holiday in the state of Sao Paulo only; 25 December in all of Brazil."""
    hours = {"mon-sun": "09:00-18:00"}
    country = SendingWindow(hours, tz="America/Sao_Paulo", holidays="BR")
    state = SendingWindow(hours, tz="America/Sao_Paulo", holidays="BR-SP")
    assert country(_local(2026, 7, 9, 8)) == _local(2026, 7, 9, 9)
    assert state(_local(2026, 7, 9, 8)) == _local(2026, 7, 10, 9)
    assert country(_local(2026, 12, 25, 10)) == _local(2026, 12, 26, 9)


def test_a_night_that_opened_before_a_holiday_ends_as_ever() -> None:
    """What opens on the 24th is open until 02:00 of the 25th; what would open on the 25th does not."""
    window = SendingWindow("22:00-02:00", tz="America/Sao_Paulo", holidays="BR")
    assert window.is_open(_local(2026, 12, 25, 1))
    assert window(_local(2026, 12, 25, 2)) == _local(2026, 12, 26, 22)


def test_days_of_the_house() -> None:
    """Dates of one's own are closed as holidays are."""
    window = SendingWindow("09:00-18:00", closed=[date(2026, 12, 24), date(2026, 12, 25)])
    assert window(datetime(2026, 12, 23, 18, tzinfo=UTC)) == datetime(2026, 12, 26, 9, tzinfo=UTC)


def test_an_hour_that_the_clock_leaves_out() -> None:
    """02:30-04:00 in New York on the day without 02:30: it opens when the clock goes on to 03:00."""
    window = SendingWindow("02:30-04:00", tz="America/New_York")
    opens = window(_local(2026, 3, 8, 1, zone="America/New_York"))
    assert opens.astimezone(ZoneInfo("America/New_York")).strftime("%H:%M %z") == "03:00 -0400"


def test_an_hour_that_comes_twice() -> None:
    """00:30-01:30 is open again when the clock goes back to 01:00, and not in between."""
    window = SendingWindow("00:30-01:30", tz="America/New_York")
    first_end = _local(2026, 11, 1, 1, 30, zone="America/New_York")
    again = window(first_end)
    assert (again, again - first_end.astimezone(UTC)) == (datetime(2026, 11, 1, 6, tzinfo=UTC), timedelta(minutes=30))


def test_an_opening_that_comes_twice() -> None:
    """01:30-01:45 is over, the clock goes back to 01:00, and it opens once more."""
    window = SendingWindow("01:30-01:45", tz="America/New_York")
    over = datetime(2026, 11, 1, 5, 50, tzinfo=UTC)  # 01:50, for the first time
    assert window(over) == datetime(2026, 11, 1, 6, 30, tzinfo=UTC)


def test_a_moment_without_a_zone_is_utc() -> None:
    """As everywhere in a session (B-2.6)."""
    assert SendingWindow("09:00-18:00")(datetime(2026, 11, 30, 3)) == datetime(2026, 11, 30, 9, tzinfo=UTC)


def test_an_open_moment_stays_as_it_is() -> None:
    """The very moment comes back."""
    at = _local(2026, 11, 30, 10)
    assert SendingWindow("09:00-18:00", tz="America/Sao_Paulo")(at) is at


def test_where_no_night_is_it_is_business_hours() -> None:
    """Both read the same hours in the same way, so that one may stand where the other does (F-11.5)."""
    window = SendingWindow({"mon-fri": "09:00-18:00"}, tz="America/Sao_Paulo")
    plain = BusinessHours("09:00", "18:00", tz="America/Sao_Paulo")
    for hours in range(200):
        at = datetime(2026, 11, 26, tzinfo=UTC) + timedelta(hours=hours)
        assert window(at, None) == plain(at, None)


@pytest.mark.parametrize(
    ("hours", "options", "words"),
    [
        ({}, {}, "hours is empty: nothing could ever be sent"),
        ({"mon": []}, {}, "hours is empty"),
        ({"monday": "09:00-18:00"}, {}, 'hours has "monday": write a day (mon, tue'),
        ({"mon-": "09:00-18:00"}, {}, 'hours has "mon-"'),
        ({1: "09:00-18:00"}, {}, "hours has 1: write a day"),
        ({"mon-fri": "09:00-18:00", "wed": "09:00-12:00"}, {}, 'hours has wed twice, the second time in "wed"'),
        ("9-18", {}, 'hours has "9-18": write HH:MM-HH:MM, such as 09:00-18:00'),
        ("24:00-02:00", {}, 'hours has "24:00-02:00"'),
        ("09:00-25:00", {}, 'hours has "09:00-25:00"'),
        ("09:00-09:00", {}, "which is no time at all"),
        (9, {}, "hours has 9: write HH:MM-HH:MM"),
        ([9], {}, "hours has 9: write HH:MM-HH:MM"),
        ("09:00-18:00", {"tz": "Mars/Olympus"}, '"Mars/Olympus" is no time zone'),
        ("09:00-18:00", {"holidays": "XX"}, 'holidays is "XX": write a country by its ISO code'),
        ("09:00-18:00", {"holidays": 55}, "holidays is 55: write a country"),
        ("09:00-18:00", {"holidays": "BR-XX"}, 'holidays is "BR-XX": it knows AC, AL'),
        ("09:00-18:00", {"holidays": "BR-"}, 'holidays is "BR-"'),
        ("09:00-18:00", {"closed": ["2026-12-24"]}, 'closed has "2026-12-24": list dates'),
        ("09:00-18:00", {"closed": [datetime(2026, 12, 24)]}, "closed has a datetime"),
    ],
)
def test_what_cannot_be_read_is_said(hours: object, options: dict[str, object], words: str) -> None:
    """When it is made: what was found, and what to write."""
    with pytest.raises(ValueError, match=re.escape(words)):
        SendingWindow(hours, **options)


def test_holidays_without_end_are_an_error_and_no_endless_search() -> None:
    """Two years of closed days: nothing is waited for in silence."""
    every_day = [date(2026, 1, 1) + timedelta(days=number) for number in range(1500)]
    window = SendingWindow("09:00-18:00", closed=every_day)
    with pytest.raises(ValueError, match="nothing opens within two years of 2026-03-01"):
        window(datetime(2026, 3, 1, tzinfo=UTC))


# --- any hours, any zone, any moment ----------------------------------------------------------

_clock = st.integers(0, 1439)


@st.composite
def _spans(draw: st.DrawFn) -> str:
    opens = draw(_clock)
    closes = draw(st.integers(1, 1440).filter(lambda minute: minute != opens))
    return f"{opens // 60:02}:{opens % 60:02}-{closes // 60:02}:{closes % 60:02}"


_weeks = st.dictionaries(
    st.sampled_from(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]), st.lists(_spans(), min_size=1, max_size=3),
    min_size=1,
)  # fmt: skip
_moments = st.builds(
    lambda near, seconds: near + timedelta(seconds=seconds), st.sampled_from(MOVED), st.integers(-200_000, 200_000)
)


def _shows_open(week: dict[str, list[str]], local: datetime) -> bool:
    """The rule in one sentence, read off the local clock and the calendar alone."""
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    now = local.strftime("%H:%M")
    for span in week.get(names[local.weekday()], []):
        opens, closes = span.split("-")
        if opens <= now and (now < closes or closes < opens):
            return True
    for span in week.get(names[local.weekday() - 1], []):
        opens, closes = span.split("-")
        if now < closes < opens:
            return True
    return False


@pytest.mark.property
@given(_weeks, st.sampled_from(ZONES), _moments)
def test_the_local_clock_alone_says_what_is_open(week: dict[str, list[str]], zone: str, at: datetime) -> None:
    """Whatever the clock was moved by: open is what it shows."""
    assert SendingWindow(week, tz=zone).is_open(at) is _shows_open(week, at.astimezone(ZoneInfo(zone)))


@pytest.mark.property
@given(_weeks, st.sampled_from(ZONES), _moments)
def test_the_next_opening_is_the_first(week: dict[str, list[str]], zone: str, at: datetime) -> None:
    """It is open, and no minute before it is."""
    window = SendingWindow(week, tz=zone)
    opens = window(at)
    assert opens >= at
    assert window.is_open(opens)
    minute = at
    step = max(timedelta(minutes=1), (opens - at) / 500)
    while minute < opens:
        assert not window.is_open(minute)
        minute += step
    if opens > at:
        assert not window.is_open(opens - timedelta(seconds=1))


@pytest.mark.property
@given(_weeks, st.sampled_from(ZONES), _moments, st.integers(0, 400_000))
def test_later_moments_never_open_earlier(week: dict[str, list[str]], zone: str, at: datetime, seconds: int) -> None:
    """The order of two moments is the order of their openings, and an opening is its own."""
    window = SendingWindow(week, tz=zone)
    assert window(at) <= window(at + timedelta(seconds=seconds))
    assert window(window(at)) == window(at)


@pytest.mark.property
@given(st.sampled_from(ZONES), _moments, st.sets(st.integers(0, 6), min_size=1), _clock, st.integers(1, 1440))
def test_hours_of_one_day_are_business_hours(zone: str, at: datetime, days: set[int], opens: int, closes: int) -> None:
    """The two kinds of hours agree on what is open."""
    if closes <= opens or closes == 1440:
        return
    names = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
    texts = [f"{minute // 60:02}:{minute % 60:02}" for minute in (opens, closes)]
    window = SendingWindow({names[day]: "-".join(texts) for day in days}, tz=zone)
    plain = BusinessHours(*texts, weekdays=[day + 1 for day in days], tz=zone)
    assert window.is_open(at) is (plain(at) == at)
