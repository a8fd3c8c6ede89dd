"""What the analysis says never happens does not happen: random flows, random conversations, the real turn."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from falai.flow.places import Notice
from falai.session.model import Run, StepOutcome
from flow.random_talks import Talks, talks

SHORT, LONG = 400, 6_000
NORMAL_ENDS = {"end", "flow", "reset"}


def _ids(notice: Notice) -> tuple[str, str]:
    """The flow and the step at which a finding stands; no step at a trigger or a flow."""
    found = re.findall(r'"(?:[^"\\]|\\.)*"', notice.where)
    return json.loads(found[0]), json.loads(found[1]) if len(found) > 1 else ""


def _runs(said: Talks, notice: Notice) -> Iterator[tuple[Run, str | None]]:
    """The runs of the finding's flow, and why they ended."""
    flow, _ = _ids(notice)
    return ((run, said.reasons.get(key)) for key, run in said.runs.items() if run.flow_id == flow)


def _lines(said: Talks, notice: Notice) -> list[StepOutcome]:
    """The lines that were left at the finding's step."""
    _, step = _ids(notice)
    return [line for run, _ in _runs(said, notice) for line in run.outcomes if line.step_id == step]


def _step(said: Talks, notice: Notice) -> Mapping[str, Any]:
    flow, step = _ids(notice)
    return next(s for f in said.flows if f["id"] == flow for s in f["steps"] if s["id"] == step)


# --- what each finding promises ------------------------------------------------------------------


def _unreachable(said: Talks, notice: Notice) -> bool:
    """No run visits the step."""
    return all(_ids(notice)[1] not in run.visits for run, _ in _runs(said, notice))


def _never_leaves(said: Talks, notice: Notice) -> bool:
    """A run that visits the step does not come to an end of its own."""
    _, step = _ids(notice)
    return all(reason not in NORMAL_ENDS for run, reason in _runs(said, notice) if step in run.visits)


def _never_ends(said: Talks, notice: Notice) -> bool:
    """No run of the flow is simply over."""
    return all(reason != "end" for _, reason in _runs(said, notice))


def _decided(said: Talks, notice: Notice) -> bool:
    """Every line of the fork names the same way."""
    step = _step(said, notice)
    target = step["else"] if "never" in notice.what else step.get("then")
    label = target if isinstance(target, str | None) else target.get("step") or f"flow:{target['flow']}"
    return all(line.next == label for line in _lines(said, notice) if line.status == "ok")


def _never_asks(said: Talks, notice: Notice) -> bool:
    """Nothing goes out from the step."""
    flow, step = _ids(notice)
    return not any(message.step_id == step for of, message in said.messages if of == flow)


def _never_set(said: Talks, notice: Notice) -> bool:
    """Every text that names the field goes out with the placeholder as it was written."""
    flow, step = _ids(notice)
    if not notice.path.endswith((".say", ".question")):
        return True
    template = _step(said, notice)[notice.path.rpartition(".")[2]]
    texts = [m.text for of, m in said.messages if of == flow and m.step_id == step and m.kind == "verbatim"]
    return all(text == template for text in texts)


def _dead_exit(said: Talks, notice: Notice) -> bool:
    """The wait never parks a run, and no reply ends it."""
    return all(line.code in ("inline-delay", "step-loop", "premise-changed") for line in _lines(said, notice))


def _host_start_only(said: Talks, notice: Notice) -> bool:
    """Each run was started by the host, or by the flow itself."""
    return all(run.trigger.kind == "start" or run.hop > 0 for run, _ in _runs(said, notice))


def _ends_at_once(said: Talks, notice: Notice) -> bool:
    """No run comes to its first step."""
    return all(not run.visits for run, _ in _runs(said, notice))


def _shadowed_catch_all(said: Talks, notice: Notice) -> bool:
    """No message starts the flow, if the catch-all is its only message trigger."""
    flow, _ = _ids(notice)
    triggers = next(f["on"] for f in said.flows if f["id"] == flow)
    wanted = any(trigger.get("message") for trigger in triggers)
    return wanted or all(run.trigger.kind != "message" for run, _ in _runs(said, notice))


PROMISES: Mapping[str, Callable[[Talks, Notice], bool]] = {
    "unreachable": _unreachable,
    "endless-loop": _never_leaves,
    "never-ends": _never_leaves,
    "hop-limit": _never_ends,
    "decided-if": _decided,
    "never-asks": _never_asks,
    "never-set": _never_set,
    "dead-exit": _dead_exit,
    "host-start-only": _host_start_only,
    "ends-at-once": _ends_at_once,
    "shadowed-catch-all": _shadowed_catch_all,
}


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    """Random agents are full of what an author is warned of."""
    caplog.set_level("CRITICAL", logger="falai")


@pytest.mark.property
async def test_what_never_happens_does_not_happen(full: bool) -> None:
    """Every finding that says *never* or *always* is borne out by every run of every conversation."""
    seen: Counter[str] = Counter()
    for seed in range(LONG if full else SHORT):
        said = await talks(seed)
        for notice in said.found:
            seen[notice.code] += 1
            promise = PROMISES.get(notice.code)
            if promise is not None and not promise(said, notice):
                pytest.fail(f"seed {seed}: {notice}\n{json.dumps(said.flows)}")
    assert PROMISES.keys() <= seen.keys(), "the dice reach every promise"
