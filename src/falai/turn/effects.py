"""What a turn asks of the world. The driver performs it and sends the answer back (see `falai.model.effects`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from falai.flow.definition import Instruction
from falai.flow.handlers import ActionContext
from falai.flow.plan import ActionPlan, ToolPlan
from falai.model.effects import Speak, Summarise, Understand, UseTools
from falai.model.inputs import Deferred, Spoken
from falai.session.model import Run
from falai.turn.state import Turn

__all__ = ["Act", "Cue", "Effect", "Moment", "Reached", "Speak", "Summarise", "Understand", "UseTools"]


class Act(msgspec.Struct, frozen=True):
    """Run a host action. Answered with its raw result, or by throwing what it raised (T-11.10, T-11.13)."""

    action: ActionPlan
    parameters: Mapping[str, Any]
    context: ActionContext[Any]


Moment = Literal["loaded", "judged", "step", "speaking", "spoken", "settled"]


class Reached(msgspec.Struct, frozen=True):
    """A moment of the turn of an agent whose plan has a `listener`, which acts on the turn itself.

    | moment | when | answer |
    |---|---|---|
    | `loaded` | a message was taken in, and nothing is judged yet | nothing |
    | `judged` | the fields are written | whether routing and branches follow |
    | `step` | before a step of a driven flow | whether the core executes it |
    | `speaking` | before anybody speaks | a `Cue` |
    | `spoken` | the reply is there; `outcome` | the outcome to apply, or nothing to say nothing |
    | `settled` | the reply is applied, and again after each answer that is true | whether a run is to be moved |

    What the listener raises goes out of the turn.
    """

    moment: Moment
    turn: Turn
    run: Run | None = None
    outcome: Spoken | Deferred | None = None


class Cue(msgspec.Struct, frozen=True, kw_only=True):
    """How the speaker of this turn is to speak. What is `None` is left to the core."""

    again: bool = False
    """A run was moved: who speaks is to be found anew."""
    silent: bool = False
    say: str | None = None
    """Said in place of the speaking call, and counted as what the call would have said (D-96)."""
    sentences: tuple[str, ...] = ()
    """Added to the prompt."""
    tools: tuple[ToolPlan, ...] | None = None
    instructions: tuple[Instruction, ...] | None = None


Effect = Reached | Summarise | Understand | Act | Speak | UseTools
