"""Figures of a host: for OpenTelemetry where it is set up, and for Prometheus."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from falai.host import Status, to_prometheus
from falai.host.ledger.port import Done, Gate, InputRow, Job, Place, Reply
from falai.host.metrics import count_set_aside, count_turn

JOB = Job(
    Place("t", "Ana", "s1"), (InputRow("k", "message", "{}", "[]", 1000),), 0, 0, None, Gate(), False, None, None,
    None, (), {}, (), {}, 0,
)  # fmt: skip
ALONE = """
import asyncio, sys
from falai import Agent, Flow, OnAnyMessage, Say
from falai.host import Host
agent = Agent(name="Ana", model="lexical", flows=[Flow("f", on=[OnAnyMessage()], steps=[Say("s", "Hello.")])])
async def main():
    async with Host(agent, ":memory:") as host:
        await host.ask("s1", "hello")
asyncio.run(main())
print(any(name.startswith("opentelemetry") for name in sys.modules))
"""


def test_nothing_is_loaded_for_it() -> None:
    """A program without OpenTelemetry does not load it with its host."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_turns_are_counted() -> None:
    """Those that count, with what they said and how long their input waited, and what failed for good."""
    from opentelemetry import metrics

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    metrics.set_meter_provider(provider)
    count_turn("Ana", JOB, Done(outbox=(Reply("{}"), Reply("{}"))), now_ms=3500)
    count_turn("Ana", JOB, Done(), now_ms=1000)
    count_set_aside("Ana", JOB)
    data = reader.get_metrics_data()
    assert data is not None
    points = {metric.name: metric.data.data_points[0] for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    found: dict[str, Any] = {
        name: getattr(point, "value", None) or getattr(point, "sum", 0) for name, point in points.items()
    }
    assert found == {"falai.turns": 2, "falai.turn.wait": 2.5, "falai.messages": 2, "falai.inputs.set_aside": 1}
    assert dict(points["falai.turns"].attributes or {}) == {"gen_ai.agent.name": "Ana", "falai.input": "message"}


def test_a_text_for_prometheus() -> None:
    """A line for each figure, with a word on it; the age is a time stamp."""
    status = Status(inputs=3, oldest=1500, messages=2, wakes_due=0, starts=7, dead=1, turns=4, deliveries=5)
    text = to_prometheus(status, agent='A "n" a')
    assert 'falai_inputs{agent="A \\"n\\" a"} 3\n' in text
    assert 'falai_oldest_timestamp_seconds{agent="A \\"n\\" a"} 1.5\n' in text
    assert all(re.fullmatch(r'(# (HELP|TYPE) \w+ .+|\w+\{agent=".*"\} [0-9.]+)', line) for line in text.splitlines())
    assert "timestamp_seconds{" not in to_prometheus(replace(status, oldest=None), agent="Ana")
