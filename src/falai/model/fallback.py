"""Several models behind one: they are tried in order until one answers (M-21).

A model that fails is left alone for a while, how long its failure says, and the next one is asked.
When that time is up one call probes it, and the others pass it by until they know. All this is
known to the object alone, in this process: keep one for the process's life.
"""

from __future__ import annotations

import logging
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from falai.errors import ProviderError, ProviderErrorKind
from falai.log import line
from falai.model.failures import classify
from falai.model.names import resolve_model
from falai.model.port import Model, ModelChunk, ModelReply, ModelRequest
from falai.session.dates import from_ms, iso, system_now, to_ms
from falai.session.jsontext import is_list

__all__ = ["CooledDown", "FallbackModel", "ModelStatus"]

_LOG: Final = logging.getLogger(__name__)
_HALF_A_MINUTE, _MINUTE, _HOUR = 30_000, 60_000, 3_600_000
_LATEST_MS: Final = 253_402_300_799_000  # the last second that a date can name, whatever a provider states
_COOLDOWNS: Final[Mapping[ProviderErrorKind, float | None]] = {
    "rate": _MINUTE,
    "timeout": _HALF_A_MINUTE,
    "network": _HALF_A_MINUTE,
    "overload": _HALF_A_MINUTE,
    "quota": _HOUR,
    "auth": _HOUR,
    "entitlement": _HOUR,
    "model": _HOUR,
    "context": None,
    "content": None,
    "invalid": None,
    "unknown": None,
    "aborted": None,
}
"""How long a model is left alone, by the kind of its failure; `None`: the failure is raised at once."""


@dataclass(frozen=True, slots=True)
class CooledDown:
    """A model failed and is not asked again before `next_attempt`; the error has `kind` and `window`."""

    model: Model
    error: ProviderError
    next_attempt: datetime


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """How a model stands: when it may be asked again and what it failed with; both `None` while it works."""

    model: Model
    next_attempt: datetime | None
    kind: ProviderErrorKind | None


@dataclass(slots=True)
class _Entry:
    """A model, and what is known of it. `probe` is the one attempt that may find it working again."""

    model: Model
    until_ms: int | None = None
    kind: ProviderErrorKind | None = None
    probe: _Attempt | None = None

    def clear(self) -> None:
        self.until_ms = self.kind = self.probe = None


@dataclass(slots=True, eq=False)
class _Attempt:
    """One call of one model."""

    entry: _Entry

    def worked(self) -> None:
        """Only a probe knows: a call that began before the failure tells nothing about now (M-21.5)."""
        if self.entry.probe is self:
            self.entry.clear()

    def over(self) -> None:
        if self.entry.probe is self:
            self.entry.probe = None


class FallbackModel:
    """A model made of others, in order of preference: names, `Model` objects, or those of pydantic-ai.

    `cooldowns` overrides the milliseconds of M-21.3 by kind: `None` means that failures of a kind are
    raised at once, a number that they are not; `aborted` always is. `on_cooldown` is told of every
    failure that made a model wait. `clock` gives "now". Raises `ValueError` for no models, for one
    that is listed twice and for cool-downs that are none, and what `resolve_model` raises.
    """

    def __init__(
        self,
        models: Sequence[str | Model | Any],
        *,
        cooldowns: Mapping[ProviderErrorKind, float | None] | None = None,
        on_cooldown: Callable[[CooledDown], None] | None = None,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        _check_models(models)
        self._entries = [_Entry(resolve_model(model)) for model in models]
        self._cooldowns = {**_COOLDOWNS, **_checked(cooldowns or {})}
        self._on_cooldown = on_cooldown
        self._clock = clock or system_now

    @property
    def name(self) -> str:
        return f"fallback({'->'.join(entry.model.name for entry in self._entries)})"

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The reply of the first model that gives one.

        Raises the last model's `ProviderError` when all have failed; one of kind `rate`, with the
        time of the next attempt, when all are waiting (M-21.7).
        """
        last: ProviderError | None = None
        for attempt in self._attempts():
            try:
                reply = await attempt.entry.model.complete(request)
            except Exception as error:  # noqa: BLE001  # a model may raise anything
                last, falls_over = self._failed(attempt.entry, error)
                if not falls_over:
                    raise last from last.__cause__
            else:
                attempt.worked()
                return _signed(reply, attempt)
            finally:
                attempt.over()
        raise last or self._all_waiting()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        """The same in pieces. After the first piece nothing falls over: the failure is raised (M-21.6)."""
        last: ProviderError | None = None
        for attempt in self._attempts():
            begun = False
            try:
                async with aclosing(_whole(attempt, request)) as chunks:
                    async for chunk in chunks:
                        begun = True
                        yield chunk
            except Exception as error:  # noqa: BLE001  # a model may raise anything
                last, falls_over = self._failed(attempt.entry, error)
                if begun or not falls_over:
                    raise last from last.__cause__
            else:
                return
            finally:
                attempt.over()
        raise last or self._all_waiting()

    def status(self) -> tuple[ModelStatus, ...]:
        """How the models stand, in order (M-21.8)."""
        return tuple(
            ModelStatus(entry.model, None if entry.until_ms is None else from_ms(entry.until_ms), entry.kind)
            for entry in self._entries
        )

    def reset(self, model: str | Model | None = None) -> None:
        """Forgets the failures of a model, by its name or itself, or of all. Raises `ValueError` for another."""
        found = [entry for entry in self._entries if model is None or model in (entry.model, entry.model.name)]
        if not found:
            raise ValueError(f"[FallbackModel] reset: {model!r} is none of {self.name}")
        for entry in found:
            entry.clear()

    async def aclose(self) -> None:
        """Closes the connections of the models that have any."""
        for entry in self._entries:
            if (aclose := getattr(entry.model, "aclose", None)) is not None:
                await aclose()

    # --- who may be asked ---------------------------------------------------------------------

    def _attempts(self) -> Iterator[_Attempt]:
        """The models that may be asked, one by one, as things stand when it is their turn."""
        for entry in self._entries:
            attempt = _Attempt(entry)
            if entry.until_ms is not None:
                if entry.probe is not None or self._now_ms() < entry.until_ms:
                    continue
                entry.probe = attempt
            yield attempt

    def _failed(self, entry: _Entry, error: Exception) -> tuple[ProviderError, bool]:
        """The failure, and whether the next model is to be asked; the model that failed waits then (M-21.4)."""
        failure = classify(error, entry.model.name)
        cooldown = self._cooldowns[failure.kind]
        if cooldown is None:
            return failure, False
        now = self._now_ms()
        stated = [] if failure.reset_at_ms is None else [failure.reset_at_ms]
        if failure.retry_after_ms is not None:
            stated.append(now + failure.retry_after_ms)
        next_attempt = int(min(max(stated, default=now + cooldown), _LATEST_MS))
        entry.until_ms = next_attempt if entry.until_ms is None else max(entry.until_ms, next_attempt)
        entry.kind = failure.kind
        self._tell(CooledDown(entry.model, failure, from_ms(entry.until_ms)))
        return failure, True

    def _tell(self, cooled: CooledDown) -> None:
        name, kind, until = cooled.model.name, cooled.error.kind, iso(to_ms(cooled.next_attempt))
        extra = line("model.cooled_down", kind=kind)
        _LOG.warning("%s failed (%s) and is not asked before %s", name, kind, until, extra=extra)
        try:
            if self._on_cooldown is not None:
                self._on_cooldown(cooled)
        except Exception as error:  # noqa: BLE001  # a listener that breaks must not cost the customer the reply
            extra = line("model.listener_raised")
            detail = error if _LOG.isEnabledFor(logging.DEBUG) else None  # as all code of the host's that raises
            _LOG.warning("on_cooldown raised %s", type(error).__name__, exc_info=detail, extra=extra)

    def _all_waiting(self) -> ProviderError:
        now = self._now_ms()
        next_attempt = max(now, min(entry.until_ms or now for entry in self._entries))
        return ProviderError(
            f"every model of {self.name} is waiting after a failure; the next may be asked at {iso(next_attempt)}",
            provider="fallback",
            kind="rate",
            retry_after_ms=next_attempt - now,
            reset_at_ms=next_attempt,
        )

    def _now_ms(self) -> int:
        return to_ms(self._clock())


async def _whole(attempt: _Attempt, request: ModelRequest) -> AsyncGenerator[ModelChunk, None]:
    """A model's stream to its end; one that ends without its reply was cut, and has failed."""
    chunks = attempt.entry.model.stream(request)
    whole = False
    try:
        async for chunk in chunks:
            if chunk.reply is not None:
                whole = True
                attempt.worked()
                yield replace(chunk, reply=_signed(chunk.reply, attempt))
            else:
                yield chunk
    finally:
        if isinstance(chunks, AsyncGenerator):  # a consumer that stops early stops the provider
            await chunks.aclose()
    if not whole:
        name = attempt.entry.model.name
        raise ProviderError("the stream ended before its reply was whole", provider=name, kind="overload")


def _signed(reply: ModelReply, attempt: _Attempt) -> ModelReply:
    """The reply with the model that gave it, which is not always the first."""
    return reply if reply.model is not None else replace(reply, model=attempt.entry.model.name)


def _check_models(models: object) -> None:
    if not is_list(models):
        raise TypeError(f"[FallbackModel] models is {models!r}: pass a list of models")
    if not models:
        raise ValueError("[FallbackModel] models is empty: pass at least one model")
    for index, model in enumerate(models):
        if any(model is other or (isinstance(model, str) and model == other) for other in models[:index]):
            raise ValueError(f"[FallbackModel] models has {model!r} twice: a model that failed once would fail again")


def _checked(cooldowns: Mapping[Any, Any]) -> Mapping[ProviderErrorKind, float | None]:
    for kind, cooldown in cooldowns.items():
        if kind not in _COOLDOWNS or kind == "aborted":
            known = ", ".join(known for known in _COOLDOWNS if known != "aborted")
            raise ValueError(f"[FallbackModel] cooldowns has {kind!r}: it takes the kinds {known}")
        if cooldown is not None and not _is_wait(cooldown):
            raise ValueError(
                f"[FallbackModel] cooldowns has {cooldown!r} for {kind}: pass milliseconds of 0 or more, or None"
            )
    return cooldowns


def _is_wait(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
