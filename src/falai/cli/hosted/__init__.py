"""`falai db` and `falai queue`: the tables of a host's database, and what waits in them."""

from __future__ import annotations
