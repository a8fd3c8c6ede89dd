"""Turns for real: a durable inbox, one turn of a session at a time, an outbox, timers, a gate for people.

`Host` is the one class. Everything that it keeps is in a ledger, one transaction for each step, so
that a process may die at any moment: what was taken in is played, what was committed is sent, and
what was neither never leaves the host (B-16, B-17). The parts, one file each:

    inputs ▸ inbox ▸ turning ▸ outbox ▸ delivering        dispatching says which session is next
                        ▲                                 timing turns due wakes into inputs
                    gating, windows                       journal keeps the model's choices
"""

from __future__ import annotations
