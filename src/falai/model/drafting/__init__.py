"""A model writes a flow from what somebody asked for, and code proves it (S-59 to S-63).

The schema of `flow_spec_schema` shapes the answer, the checks of a flow prove it, and what they
find goes back in words, a bounded number of times. `naming` says what the flow may name,
`guide` how a flow works, `prompt` puts a task into words, `judging` proves an answer, `writing` asks,
and asks again.
"""

from __future__ import annotations

from falai.model.drafting.judging import Attempt
from falai.model.drafting.writing import Draft, draft_flow

__all__ = ["Attempt", "Draft", "draft_flow"]
