"""The sentence of every outcome code. Programs switch on the code; the sentence is for people (O-1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["ADDED_MESSAGES", "LAYER_MESSAGES", "OUTCOME_MESSAGES"]

OUTCOME_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "no-session": "Nothing to wake: this turn was given no session.",
        "duplicate-input": "A message with this id was handled before.",
        "stale-wake": "This wake belongs to nothing that is still waiting.",
        "silence-broken": "The silence that this wake was set for is over.",
        "already-claimed": "An earlier start holds the claim that this start would need.",
        "cooldown": "The last start is too recent for this flow's cooldown.",
        "hop-limit": "Too many flows were chained, so this one was not started.",
        "already-running": "Only one run of this flow may be live per anchor, and there is one.",
        "flow-gone": "The agent knows no flow with this id.",
        "step-loop": "The run kept moving without a pause and was stopped.",
        "step-gone": "The flow contains no such step now.",
        "customer-replied": "This run was for a silent customer, who has written in the meantime.",
        "premise-changed": "What this run depends on is no longer true.",
        "silenced": "The host does not let the assistant speak in this turn.",
        "already-known": "There was nothing left to ask in this step.",
        "asked-fixed": "The step asked with its own fixed wording.",
        "another-reply": "A different run gave the answer, so this step waits for the next message.",
        "already-sent": "This text goes out only once per conversation and has gone out.",
        "branch": "A branch of the step matched and changed the way.",
        "max-asks": "The step stops asking for this field.",
        "inline-delay": "A short pause was added to the next message.",
        "awaiting-trigger": "The run has started and holds back until its time comes.",
        "awaiting-event": "The run is parked until its event or its deadline.",
        "event-arrived": "The event that the run was parked for came in.",
        "no-event": "The deadline came before the event did.",
        "replied": "The customer wrote before the timer ended.",
        "no-reply": "The timer ended without a word from the customer.",
        "action-skipped": "The action chose to do nothing.",
        "action-failed": "The action did not succeed.",
        "action-deferred": "The action wants another try later.",
        "unknown-field": "The model named a field that the agent does not have.",
        "bad-value": "The model's value cannot be read as this field's type.",
        "not-in-enum": "The model's value is none of those that this field allows.",
        "provider-quota": "The allowance at the model provider is used up.",
        "provider-context": "The request is longer than the model can take.",
        "provider-auth": "The model provider did not accept the key or the plan.",
        "provider-invalid": "The model provider would not process this request.",
        "provider-unavailable": "No usable reply came from the model provider.",
    }
)
"""The 38 codes that both packages share (O-8)."""

ADDED_MESSAGES: Mapping[str, str] = MappingProxyType(
    {
        "corrected": "The customer gave another value for a field that was known.",
    }
)
"""The codes of this package's own additions (O-10)."""

LAYER_MESSAGES: Mapping[str, str] = MappingProxyType({"aborted": "A directive ended this conversation."})
"""What the core never writes, but a layer on top of it does (D-92)."""
