"""What may be sent now: decided before a turn is taken, so that nothing is said that cannot be sent.

Pure functions of what is passed. Two limits are kept apart: answers to what a customer just wrote,
and follow-ups, which nobody is waiting for (wakes, events, starts). A third is the channel's own:
how long after the customer's last message it takes free text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from falai.channel.port import Template
from falai.session.inputs import Silenced

__all__ = ["Closed", "Decision", "Go", "Hours", "InputKind", "Later", "TemplateOnly", "Windows", "decide"]

Hours = Callable[[datetime, Any], datetime]
"""Called with a moment and `None`: that moment when it is open, else the next one that is."""

InputKind = Literal["message", "wake", "event", "start", "human"]


@dataclass(frozen=True, kw_only=True)
class Windows:
    """When messages may be sent.

    `answers` is for turns about a customer's message, `follow_ups` for wakes, events and starts; without
    one there is no limit. Each is a `SendingWindow`, a `BusinessHours`, or a function of that form.
    `template` is what is sent where a channel takes no free text any more; without one nothing is.
    """

    answers: Hours | None = None
    follow_ups: Hours | None = None
    template: Template | None = None


@dataclass(frozen=True)
class Go:
    """Take the turn."""


@dataclass(frozen=True)
class Later:
    """Leave the input where it is until then, and decide again."""

    at: datetime


@dataclass(frozen=True)
class Closed:
    """Take the turn with the gate closed (T-17): nothing is said, and an outcome line has the reason."""

    silenced: Silenced


@dataclass(frozen=True)
class TemplateOnly:
    """Take the turn with the gate closed; where it would have spoken (T-17.3, T-17.4), send this once."""

    template: Template
    silenced: Silenced


Decision = Go | Later | Closed | TemplateOnly


def decide(
    kind: InputKind,
    now: datetime,
    *,
    windows: Windows,
    last_user_at: datetime | None = None,
    channel_ms: int | None = None,
    opted_out: bool = False,
) -> Decision:
    """What becomes of an input of this kind.

    `last_user_at` is when the customer last wrote, this input included; `channel_ms` the channel's
    `window_ms`. A customer who has opted out gets answers only. A person's message knows no hours. Raises
    what the hours raise.
    """
    follows_up = kind in ("wake", "event", "start")
    if follows_up and opted_out:
        return Closed(Silenced("opted-out"))
    hours = windows.follow_ups if follows_up else windows.answers if kind == "message" else None
    if hours is not None and (opens := _aware(hours(now, None))) > now:
        return Later(opens)
    if _channel_takes_text(now, last_user_at, channel_ms):
        return Go()
    silenced = Silenced("channel-window")
    return Closed(silenced) if windows.template is None else TemplateOnly(windows.template, silenced)


def _channel_takes_text(now: datetime, last_user_at: datetime | None, channel_ms: int | None) -> bool:
    if channel_ms is None:
        return True
    return last_user_at is not None and now - last_user_at < timedelta(milliseconds=channel_ms)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
