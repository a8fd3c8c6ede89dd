"""What the analysis can find: every code, and in one sentence what it says."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["CODES"]

CODES: Mapping[str, str] = {
    # starts
    "host-start-only": "No trigger and no other flow starts this flow: only the host can.",
    "ignored-trigger": "The trigger, or what is said beside its phrases, starts nothing: an earlier one of its kind does.",
    "shadowed-catch-all": "An earlier flow takes every message that this catch-all is for.",
    "ends-at-once": "The flow forgets at its start what its while needs, so each run ends before its first step.",
    # the graph
    "unreachable": "No path leads to the step.",
    "never-ends": "No path leads from the step to an end: the run stays for ever and blocks the next start.",
    "endless-loop": "Every path from the step goes round without a wait, until the limit of 50 steps.",
    "possible-loop": "Once these conditions hold, the flow goes round without a wait, until the limit of 50 steps.",
    "hop-limit": "The chain of flows has no end of its own: the hop limit cuts it off.",
    "endless-confirmation": "The flow can ask for the same field again and again without bound.",
    "once-in-loop": "All words of the loop go out once: from the second round on it says and does nothing.",
    # forks
    "decided-if": "The condition comes out the same way on every path.",
    "same-exits": "Both ways out of the step lead to the same place.",
    "dead-exit": "The way out is never taken: the wait is so short that it only delays the next message.",
    "unjudged-branch": "The branch is never looked at.",
    "shadowed-branch": "An earlier branch takes everything that this one is for.",
    "branch-too-late": "The step goes on in the turn in which it could know, before the branch is judged.",
    # fields
    "never-asks": "Every field of the step is known on every path that leads there.",
    "never-set": "A template names a field that nothing in these flows can set.",
    "maybe-unset": "Some path leads to the text without the field that it names.",
    "asked-late": "A text names a field that the flow asks for only later.",
    "cleared-use": "A text names a field that the flow has just forgotten.",
    "clear-unasked": "A field is forgotten that is looked at again, and nobody asks for it again.",
}
"""Code → its sentence. A code never changes its meaning; it is what silences a finding."""
