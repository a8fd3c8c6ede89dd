"""How a turn is watched: the driver says what happens, and this room tells it to the log and to OpenTelemetry.

    invoke_workflow Ana                 the turn                    turns
    ├── chat gpt-5-mini                 a call to the model         works
    ├── execute_action bookSlot         an action of the host
    └── execute_tool findSlots          a tool that the model called

Nothing here changes what a turn does. Neither a log line nor a span holds what was written or said, a
value or a prompt; spans do for an agent that was made with `trace_content=True` (`content`). What
there is to be seen is listed in docs/reference/observability.md.
"""

from __future__ import annotations

from falai.observability.turns import TurnWork
from falai.observability.works import CallWork, Unwatched

__all__ = ["CallWork", "TurnWork", "Unwatched"]
