"""What a host can be told: limits, pauses, retries, windows, and how long it keeps what.

Durations are texts as authors write them: `"30s"`, `"24h"`, `"1.5s"` (F-11.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from falai.channel.port import Attachment
from falai.flow.durations import EXAMPLES, is_duration, parse_duration
from falai.host.inputs import described
from falai.host.ledger import port
from falai.host.rates import RATE_FIX, is_rate
from falai.host.windows import Windows, check_opt_outs
from falai.session.jsontext import is_list, show

__all__ = ["Keep", "Settings"]

_COUNTS = ("session_limit", "host_limit", "at_once", "history")
_DURATIONS = ("burst", "turn_limit", "outage", "max_late", "send_limit", "grace")
_RETRIES = ("retries", "send_retries")
_WORDS = ("opt_outs", "opt_ins", "rates")
_FOREVER = "forever"
_DURATION = f"Write {EXAMPLES}"


@dataclass(frozen=True, kw_only=True)
class Keep:
    """How long things are kept once no turn needs them any more: a duration, or `"forever"`. What waits stays.

    `inputs` is what came in (its key stays for `keys`, since only a known key is dropped when it comes
    again), `messages` what was sent, `log` what each input led to, `dead` what was set aside. Raises
    `ValueError` for what is neither.
    """

    inputs: str = "30d"
    keys: str = "forever"
    messages: str = "30d"
    transcript: str = "365d"
    log: str = "90d"
    dead: str = "90d"

    def __post_init__(self) -> None:
        texts = {f.name: getattr(self, f.name) for f in fields(self)}
        wrong = ((name, text) for name, text in texts.items() if text != _FOREVER and not is_duration(text))
        _refuse(self, wrong, f'{_DURATION}, or "{_FOREVER}"')

    def in_ms(self) -> port.Keep:
        """The same in milliseconds, as a ledger counts."""
        texts = {f.name: getattr(self, f.name) for f in fields(self)}
        return port.Keep(**{name: None if text == _FOREVER else parse_duration(text) for name, text in texts.items()})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of a host; the defaults suit a business that chats with people.

    Raises `ValueError` that names every setting that cannot be.
    """

    burst: str = "0s"
    """Messages that follow one another within this pause are played as one turn; `"0s"`: each alone."""
    session_limit: int = 100
    """So many inputs of one session may wait."""
    host_limit: int = 100_000
    """So many inputs of all sessions may wait."""
    at_once: int = 200
    """So many turns are played at a time, and so many sessions are sent to."""
    tenant_at_once: int | None = None
    """So many turns of one tenant are played at a time, in all processes together; `None`: as many as there is room."""
    turn_limit: str = "3m"
    """A turn that takes longer is given up, and tried again."""
    retries: Sequence[str] = ("1s", "5s", "30s", "2m", "10m")
    """The pauses between the tries of an input that fails; behind the last it is set aside."""
    outage: str = "6h"
    """So long an input waits, at the last of these pauses, for a model whose provider is down."""
    history: int = 50
    """So many items of the transcript a turn is given."""
    max_late: str = "7d"
    """A silence that is due for longer (the host was down) starts nothing any more; other timers always count."""
    send_retries: Sequence[str] = ("1s", "5s", "30s", "2m", "10m", "1h")
    """The pauses between the tries to send a message; behind the last it is set aside."""
    send_limit: str = "30s"
    """A channel that takes longer for a message has failed."""
    rates: Sequence[str] = ()
    """How fast channels may send, as `"whatsapp: 80 in 1s"`: at most 80 messages in any second, of all processes.
    Agents that share a number give it one name: `"whatsapp: 80 in 1s as +551133"`."""
    grace: str = "10s"
    """So long the end waits for turns that were begun; the others are given back."""
    windows: Windows = field(default_factory=Windows)
    """When answers and follow-ups may be sent."""
    opt_outs: Sequence[str] = ()
    """A message that is one of these words ends follow-ups to this customer."""
    opt_ins: Sequence[str] = ()
    """A message that is one of these words lets them begin again."""
    describe: Callable[[Attachment], str | None] = described
    """The text that stands for an attachment without words; `None`: there is no turn, the transcript notes it."""
    keep: Keep = field(default_factory=Keep)
    """How long is kept what is done."""

    def __post_init__(self) -> None:
        _refuse(self, self._no_lists(), "Write a list of texts")
        check_opt_outs([*self.opt_outs, *self.opt_ins])
        _refuse(self, self._no_counts(), "Write a whole number of 1 or more")
        _refuse(self, self._no_durations(), _DURATION)
        _refuse(self, ((f"rates[{at}]", rate) for at, rate in enumerate(self.rates) if not is_rate(rate)), RATE_FIX)

    def _no_lists(self) -> Iterator[tuple[str, Any]]:
        values = ((name, getattr(self, name)) for name in (*_RETRIES, *_WORDS))
        return ((name, value) for name, value in values if not is_list(value))

    def _no_counts(self) -> Iterator[tuple[str, Any]]:
        values = [(name, getattr(self, name)) for name in _COUNTS]
        values += [("tenant_at_once", self.tenant_at_once)] if self.tenant_at_once is not None else []
        return ((name, value) for name, value in values if type(value) is not int or value < 1)

    def _no_durations(self) -> Iterator[tuple[str, Any]]:
        values = [(name, getattr(self, name)) for name in _DURATIONS]
        values += [(f"{name}[{at}]", pause) for name in _RETRIES for at, pause in enumerate(getattr(self, name))]
        return ((name, value) for name, value in values if not is_duration(value))


def _refuse(settings: Any, wrong: Iterator[tuple[str, Any]], fix: str) -> None:
    if found := [f"{name} is {show(value)}" for name, value in wrong]:
        raise ValueError(f"{type(settings).__name__}: {'; '.join(found)}. {fix}")
