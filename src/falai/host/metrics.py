"""Figures of a host: counted by OpenTelemetry where a program has set that up, and as a text for Prometheus.

Only the API of OpenTelemetry is used, and only if the program has imported its metrics; before that nothing
is counted, and OpenTelemetry is not loaded.
"""

from __future__ import annotations

import sys
from dataclasses import fields
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from falai.host.ledger.port import Done, Job
from falai.host.looking import Status
from falai.observability.names import AGENT, INPUT
from falai.session.jsontext import quoted

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter, Histogram, MeterProvider

__all__ = ["count_set_aside", "count_turn", "to_prometheus"]

_SAID: Final = {
    "inputs": "Inputs that have had no turn.",
    "oldest": "When the oldest of them came in, in seconds since 1970; absent without one.",
    "messages": "Messages that are not sent.",
    "wakes_due": "Timers that are due and are no inputs yet.",
    "starts": "Starts of campaigns that have not come yet.",
    "dead": "Inputs and messages that were set aside.",
    "turns": "Turns that this process plays.",
    "deliveries": "Sessions that this process sends to.",
}


class _Instruments(NamedTuple):
    turns: Counter
    waits: Histogram
    messages: Counter
    set_aside: Counter


def count_turn(agent: str, job: Job, done: Done, *, now_ms: int) -> None:
    """A turn counts: itself, how long its input waited for its end, and what it said."""
    if (found := _instruments()) is None:
        return
    attributes = {AGENT: agent, INPUT: job.inputs[0].kind}
    found.turns.add(1, attributes)
    found.waits.record(max(0, now_ms - job.inputs[0].received_at) / 1000, attributes)
    if done.outbox:
        found.messages.add(len(done.outbox), attributes)


def count_set_aside(agent: str, job: Job) -> None:
    """An input failed for good."""
    if (found := _instruments()) is not None:
        found.set_aside.add(1, {AGENT: agent, INPUT: job.inputs[0].kind})


def to_prometheus(status: Status, *, agent: str) -> str:
    """What a host's status says, in the text that Prometheus reads; `falai_inputs` and so on, with the agent's name."""
    lines: list[str] = []
    for name in (field.name for field in fields(status)):
        value: int | None = getattr(status, name)
        metric = "falai_oldest_timestamp_seconds" if name == "oldest" else f"falai_{name}"
        lines += [f"# HELP {metric} {_SAID[name]}", f"# TYPE {metric} gauge"]
        if value is not None:
            lines.append(f"{metric}{{agent={quoted(agent)}}} {value / 1000 if name == 'oldest' else value}")
    return "\n".join(lines) + "\n"


def _instruments() -> _Instruments | None:
    metrics: Any = sys.modules.get("opentelemetry.metrics")
    return None if metrics is None else _of(metrics.get_meter_provider())


@lru_cache(maxsize=1)
def _of(provider: MeterProvider) -> _Instruments:
    meter = provider.get_meter("falai")
    return _Instruments(
        turns=meter.create_counter("falai.turns", "{turn}", "Turns that count."),
        waits=meter.create_histogram("falai.turn.wait", "s", "From an input's coming in to the end of its turn."),
        messages=meter.create_counter("falai.messages", "{message}", "Messages that turns have said."),
        set_aside=meter.create_counter("falai.inputs.set_aside", "{input}", "Inputs that failed for good."),
    )
