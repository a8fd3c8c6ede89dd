"""`falai serve`, `falai demo` and `falai token`: a host behind HTTP, and who may call it."""

from __future__ import annotations
