"""A branch as it stands on disk, so that another branch can begin there.

Everything in the branch's folder is kept: the host's ledger, and whatever files the agent's context made beside
it. What a context changes elsewhere, no take-back can undo.
"""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from pathlib import Path

__all__ = ["LEDGER", "Kept", "keep", "put_back"]

LEDGER = "falai.db"
Kept = Mapping[str, bytes]
"""Compressed files by their path within the folder."""


def keep(folder: Path) -> Kept:
    """The files of a folder while nothing is written in it; the host may have its ledger open."""
    files = (path for path in folder.rglob("*") if path.is_file())
    names = {path.relative_to(folder).as_posix(): path for path in files}
    others = {name: path.read_bytes() for name, path in names.items() if not name.startswith(LEDGER)}
    contents = {**others, **({LEDGER: _ledger(names[LEDGER])} if LEDGER in names else {})}
    return {name: zlib.compress(content, 1) for name, content in contents.items()}


def put_back(kept: Kept, folder: Path) -> None:
    """The files, in a folder that has none."""
    for name, content in kept.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(zlib.decompress(content))


def _ledger(path: Path) -> bytes:
    """The database as one file, with what still stands in its log."""
    source, whole = sqlite3.connect(path), sqlite3.connect(":memory:")
    try:
        source.backup(whole)
        return whole.serialize()
    finally:
        source.close()
        whole.close()
