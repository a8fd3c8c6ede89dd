"""A campaign: one flow is started in many sessions, spread over a time, behind everybody who writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from falai.flow.durations import parse_duration
from falai.host.ledger.campaigning import PlannedStart, begin_campaign, plan_starts
from falai.host.receiving import Whose, arrival_of
from falai.host.setup import Setup
from falai.session.inputs import Start
from falai.session.jsontext import quoted

__all__ = ["Campaign", "Planned", "Recipient", "plan"]

_AT_ONCE: Final = 200
"""Rows of one transaction: nobody waits long for it."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """A session of a campaign; the rest is noted on it when its start comes, as `Host.receive` does."""

    session: str
    customer: str | None = None
    channel: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """`flow` is started once in each session, with `name` as its key, the first at once and the last after `over`."""

    name: str
    flow: str
    recipients: Sequence[str | Recipient]
    over: str
    input: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """How many starts are new; whether the campaign was stopped meanwhile, so that the rest was not planned."""

    new: int
    stopped: bool


async def plan(setup: Setup, campaign: Campaign, *, tenant: str) -> Planned:
    """Plans what is neither planned nor started, some rows at a time: after an error it is called again, and goes on.

    Raises `ValueError` for a flow that the agent does not have, a duration that is none, and ids as `receive`.
    """
    now, over_ms = setup.now_ms(), _over_ms(setup, campaign)
    whose = {"tenant": tenant, "campaign": campaign.name}
    begins_at = await setup.ledger.run(begin_campaign(setup.name, begins_at=now, **whose))
    if begins_at + over_ms < now:
        begins_at = now  # it was planned long ago: those that are new are spread anew
    new = 0
    for at in range(0, len(campaign.recipients), _AT_ONCE):
        starts = list(_starts(setup, campaign, tenant, at, begins_at=begins_at, over_ms=over_ms))
        planned = await setup.ledger.run(plan_starts(setup.name, starts, **whose))
        if planned is None:
            return Planned(new=new, stopped=True)
        new += planned
    return Planned(new=new, stopped=False)


def _over_ms(setup: Setup, campaign: Campaign) -> int:
    if campaign.flow not in setup.agent.plan.flows:
        raise ValueError(f"campaign {quoted(campaign.name)}: the agent has no flow {quoted(campaign.flow)}")
    return parse_duration(campaign.over)


def _starts(
    setup: Setup, campaign: Campaign, tenant: str, first: int, *, begins_at: int, over_ms: int
) -> Iterator[PlannedStart]:
    """The next of them, from this one on."""
    last = max(1, len(campaign.recipients) - 1)
    start = Start(campaign.flow, campaign.name, campaign.input)
    for at, one in enumerate(campaign.recipients[first : first + _AT_ONCE], first):
        to = Recipient(one) if isinstance(one, str) else one
        session = setup.place(to.session, tenant).session
        whose = Whose(customer=to.customer, channel=to.channel, address=to.address)
        arrival = arrival_of(session, start, now_ms=0, burst_ms=0, attachments=(), whose=whose)
        due_at = begins_at + over_ms * at // last
        yield PlannedStart(session, arrival.key, arrival.body, due_at, to.customer, to.channel, to.address)
