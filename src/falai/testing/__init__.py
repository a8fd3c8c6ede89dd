"""The shipped fakes, public and documented; falai's own tests use no others.

`Clock` stands still until it is moved. `ScriptedModel` answers from a script and remembers what it
was asked. `falai.testing.scenario` runs conversations that are written down as data. This room may
import all others; nothing but the command line imports it.
"""

from __future__ import annotations

from falai.testing.clock import Clock
from falai.testing.scripted import Call, Pieces, Reply, Scripted, ScriptedModel

__all__ = ["Call", "Clock", "Pieces", "Reply", "Scripted", "ScriptedModel"]
