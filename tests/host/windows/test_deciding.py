"""What becomes of an input, by the hours, the channel's window and opt-outs."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from falai import BusinessHours, Silenced
from falai.channel.port import Template
from falai.host.windows import (
    Closed,
    Decision,
    Go,
    InputKind,
    Later,
    SendingWindow,
    TemplateOnly,
    Windows,
    check_opt_outs,
    decide,
    is_opt_out,
)

NIGHT = datetime(2026, 11, 30, 23, tzinfo=UTC)
MORNING = datetime(2026, 12, 1, 9, tzinfo=UTC)
DAY_MS = 86_400_000
DAYTIME = SendingWindow("09:00-18:00")
AGAIN = Template("come_back", "pt_BR")
FOLLOW_UPS: list[InputKind] = ["wake", "event", "start"]


def test_without_limits_everything_goes() -> None:
    """The defaults hold nothing back."""
    kinds: list[InputKind] = ["message", *FOLLOW_UPS, "human"]
    assert {kind: decide(kind, NIGHT, windows=Windows()) for kind in kinds} == dict.fromkeys(kinds, Go())


def test_follow_ups_wait_while_answers_go() -> None:
    """A customer who writes at night is answered, although follow-ups are for the day."""
    windows = Windows(follow_ups=DAYTIME)
    assert decide("message", NIGHT, windows=windows) == Go()
    assert [decide(kind, NIGHT, windows=windows) for kind in FOLLOW_UPS] == [Later(MORNING)] * 3


def test_answers_have_hours_of_their_own() -> None:
    """A shop may answer by day only, and remind at any time; a person's message knows no hours."""
    windows = Windows(answers=DAYTIME)
    assert decide("message", NIGHT, windows=windows) == Later(MORNING)
    assert decide("wake", NIGHT, windows=windows) == Go()
    assert decide("human", NIGHT, windows=windows) == Go()


def test_hours_that_changed_meanwhile_count() -> None:
    """What was put off until nine is looked at again at nine, by the hours of then."""
    later = decide("wake", NIGHT, windows=Windows(follow_ups=DAYTIME))
    assert isinstance(later, Later)
    changed = Windows(follow_ups=SendingWindow("11:00-18:00"))
    assert decide("wake", later.at, windows=changed) == Later(MORNING.replace(hour=11))


def test_any_function_of_that_form_is_hours() -> None:
    """`BusinessHours`, and one's own: what is earlier than now, or has no zone, is understood (F-11.5)."""

    def at_noon(at: datetime, context: Any) -> datetime:
        return at.replace(hour=12, tzinfo=None)

    business = Windows(follow_ups=BusinessHours("09:00", "18:00"))
    assert decide("wake", NIGHT, windows=business) == Later(MORNING)
    assert decide("wake", MORNING, windows=Windows(follow_ups=at_noon)) == Later(MORNING.replace(hour=12))
    assert decide("wake", NIGHT, windows=Windows(follow_ups=at_noon)) == Go()


@pytest.mark.parametrize(("ago", "goes"), [(0, True), (DAY_MS - 1, True), (DAY_MS, False), (None, False)])
def test_the_window_of_the_channel(ago: int | None, goes: bool) -> None:
    """Free text up to 24 hours after the customer's last message; without one, never."""
    last = None if ago is None else NIGHT - timedelta(milliseconds=ago)
    decision = decide("wake", NIGHT, windows=Windows(), last_user_at=last, channel_ms=DAY_MS)
    assert decision == (Go() if goes else Closed(Silenced("channel-window")))


def test_a_template_goes_where_free_text_may_not() -> None:
    """The turn is silent, and the template takes the place of its words."""
    decision = decide("wake", NIGHT, windows=Windows(template=AGAIN), channel_ms=DAY_MS)
    assert decision == TemplateOnly(AGAIN, Silenced("channel-window"))


def test_an_answer_that_came_too_late_for_the_channel() -> None:
    """A message that waited for longer than the channel's window is no exception."""
    last = MORNING - timedelta(days=3)
    decision = decide("message", MORNING, windows=Windows(answers=DAYTIME), last_user_at=last, channel_ms=DAY_MS)
    assert decision == Closed(Silenced("channel-window"))


def test_hours_come_before_the_channel() -> None:
    """At night nothing goes, no template either; by day it is decided again."""
    windows = Windows(follow_ups=DAYTIME, template=AGAIN)
    assert decide("wake", NIGHT, windows=windows, channel_ms=DAY_MS) == Later(MORNING)
    assert isinstance(decide("wake", MORNING, windows=windows, channel_ms=DAY_MS), TemplateOnly)


def test_who_has_opted_out_gets_answers_only() -> None:
    """Follow-ups run in silence at once, whatever the hours; no template is sent."""
    given: dict[str, Any] = {"windows": Windows(follow_ups=DAYTIME, template=AGAIN), "opted_out": True}
    assert [decide(kind, NIGHT, **given) for kind in FOLLOW_UPS] == [Closed(Silenced("opted-out"))] * 3
    assert (decide("message", NIGHT, **given), decide("human", NIGHT, **given)) == (Go(), Go())


_instants = st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))
_kinds = st.sampled_from(["message", "wake", "event", "start", "human"])
_windows = st.builds(
    Windows,
    answers=st.none() | st.just(DAYTIME),
    follow_ups=st.none() | st.just(SendingWindow({"mon-fri": "21:00-02:00"}, tz="America/New_York")),
    template=st.none() | st.just(AGAIN),
)  # fmt: skip
_given = st.fixed_dictionaries(
    {
        "windows": _windows,
        "last_user_at": st.none() | _instants,
        "channel_ms": st.none() | st.integers(1, 10 * DAY_MS),
        "opted_out": st.booleans(),
    }
)


@pytest.mark.property
@given(_kinds, _instants, _given)
def test_what_is_put_off_is_put_off_once(kind: InputKind, now: datetime, given: dict[str, Any]) -> None:
    """`Later` lies ahead, and then the hours say yes: the input does not go round in circles."""

    def decided(at: datetime) -> Decision:
        return decide(kind, at, **given)

    decision = decided(now)
    if isinstance(decision, Later):
        assert decision.at > now
        assert not isinstance(decided(decision.at), Later)
    if isinstance(decision, TemplateOnly | Closed):
        assert given["opted_out"] or given["channel_ms"] is not None


# --- opt-outs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["stop", "STOP", " Stop! ", "stop.", "«stop»", "ｓｔｏｐ", "stop 🙏"])
def test_an_opt_out_is_known_however_it_is_written(text: str) -> None:
    """Case, punctuation, spaces and wide letters do not count."""
    assert is_opt_out(text, ["stop"])


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("NAO QUERO  MAIS", "não quero mais"),
        ("Não quero mais.", "nao quero mais"),
        ("STRASSE", "straße"),
        ("ΣΤΟΠ", "στοπ"),
    ],
)
def test_accents_do_not_count(text: str, word: str) -> None:
    """On either side."""
    assert is_opt_out(text, [word])


@pytest.mark.parametrize("text", ["", "   ", "!", "stop by at three", "nonstop", "please stop", "st op", "s t o p"])
def test_only_the_whole_message_counts(text: str) -> None:
    """A sentence with the word in it is a message like any other."""
    assert not is_opt_out(text, ["stop", "parar", "!"])


@pytest.mark.parametrize("word", ["", "  ", "!!!", "🛑"])
def test_a_word_that_no_message_could_be_is_refused(word: str) -> None:
    """It would be a setting without effect."""
    with pytest.raises(ValueError, match="has neither letter nor digit"):
        check_opt_outs(["stop", word])


@pytest.mark.property
@given(st.text(), st.lists(st.text(), max_size=3))
def test_any_text_is_a_message(text: str, words: list[str]) -> None:
    """Whatever characters come; and what has a letter is its own opt-out word."""
    is_opt_out(text, words)
    try:
        check_opt_outs([text])
    except ValueError:
        return
    assert is_opt_out(f" {text}!", [text])
