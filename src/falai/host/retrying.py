"""When something that failed is tried again, and when it is set aside."""

from __future__ import annotations

from collections.abc import Sequence

from falai.channel.port import ChannelError
from falai.errors import ProviderError
from falai.flow.durations import parse_duration
from falai.host.settings import Settings

__all__ = ["pause_of_input", "pause_of_message"]


def pause_of_input(error: Exception, *, attempts: int, waited_ms: int, now_ms: int, settings: Settings) -> int | None:
    """The milliseconds until the next try of an input that failed `attempts` times before; `None`: set it aside.

    A provider that is down is no fault of the input: it waits on, at the last pause, for `settings.outage`.
    """
    pause = _listed(settings.retries, attempts)
    if isinstance(error, ProviderError) and error.retryable:
        outage = parse_duration(settings.outage)
        if pause is None and error.kind != "unknown" and waited_ms < outage:
            pause = _listed(settings.retries[-1:], 0)
        return pause and min(max(pause, _stated(error, now_ms)), outage)
    return pause


def pause_of_message(error: Exception, *, attempts: int, settings: Settings) -> int | None:
    """The same for a message that could not be sent; what another try cannot help is set aside at once."""
    if not isinstance(error, ChannelError):
        return _listed(settings.send_retries, attempts)
    pause = _listed(settings.send_retries, attempts) if error.retryable else None
    return pause and max(pause, error.retry_after_ms or 0)


def _listed(pauses: Sequence[str], index: int) -> int | None:
    """At least a millisecond, so that no pause is mistaken for none."""
    return max(1, parse_duration(pauses[index])) if index < len(pauses) else None


def _stated(error: ProviderError, now_ms: int) -> int:
    resets = 0 if error.reset_at_ms is None else error.reset_at_ms - now_ms
    return max(error.retry_after_ms or 0, resets)
