"""One turn, phase by phase: a generator over plain data (02-turn).

Nothing here does I/O, looks at a clock but the one of the agent (once a turn), or draws a random
number. What a turn needs of the world it yields (`effects.py`) and gets back from its driver, so
every driver runs the same machine.

A turn goes through `phases.py`, which names the eight phases in order; each phase has its file.
`state.py` holds the marks that a turn keeps while it runs (T-3.2). Every change of a run's
position goes through `advance.py`.

An agent with a layer on top has a `listener` in its plan. Its turn stops at a few moments for that
layer (`effects.Reached`); whoever does not care for it may read past every branch on `listener`,
`driven` and `Cue`.
"""
