"""What a turn asks of the world. The driver performs it and sends the answer back (see `falai.model.effects`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from falai.flow.handlers import ActionContext
from falai.flow.plan import ActionPlan
from falai.model.effects import Speak, Summarise, Understand, UseTools

__all__ = ["Act", "Effect", "Speak", "Summarise", "Understand", "UseTools"]


class Act(msgspec.Struct, frozen=True):
    """Run a host action. Answered with its raw result, or by throwing what it raised (T-11.10, T-11.13)."""

    action: ActionPlan
    parameters: Mapping[str, Any]
    context: ActionContext[Any]


Effect = Summarise | Understand | Act | Speak | UseTools
