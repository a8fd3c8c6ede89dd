"""What a conversation remembers, and the four things that can happen to it.

The structs are the wire JSON (`model`, `inputs`). A session is a value: a turn works on a copy of
it. Whatever is loaded goes through `assert_session` first; a blob that cannot be read is an error
and never a fresh session, which would ask every question again.
"""

from __future__ import annotations

from falai.session.check import assert_session
from falai.session.inputs import Event, Input, Message, Start, Wake
from falai.session.migrate import migrate_session
from falai.session.model import Claim, Run, Session, StepOutcome, TriggerRef, Waiting
from falai.session.outcomes import ADDED_MESSAGES, OUTCOME_MESSAGES

__all__ = [
    "ADDED_MESSAGES", "OUTCOME_MESSAGES", "Claim", "Event", "Input", "Message", "Run", "Session", "Start",
    "StepOutcome", "TriggerRef", "Waiting", "Wake", "assert_session", "migrate_session",
]  # fmt: skip
