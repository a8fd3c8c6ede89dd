"""The front desk of a dental clinic: what `falai chat` talks to unless it is told otherwise.

`calendar.py` is the clinic's own program (who comes when), `values.py` the types of what is asked,
`actions.py` what flows and the model may do with the calendar, `flows.py` the conversations, and
`desk.py` the agent. Begin with `flows.py`.
"""

from __future__ import annotations

from falai.examples.clinic.desk import agent, chat_context

__all__ = ["agent", "chat_context"]
