"""Two versions of flows: what changed between them in words, and what becomes of runs that are under way.

`changes` looks at the flows alone, `steps` at two versions of one step, `words` says it; `fates`
says of a stored run what the next turn on the new flows does with it. All of it is pure: nothing is
run, and nothing is looked up but the two versions.
"""

from falai.flow.comparing.changes import Change, Comparison, compare
from falai.flow.comparing.fates import Fate, fate

__all__ = ["Change", "Comparison", "Fate", "compare", "fate"]
