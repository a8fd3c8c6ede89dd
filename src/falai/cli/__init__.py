"""The `falai` command: talk to an agent in the terminal, run scenario files.

`command.py` says which commands there are and what each takes; one module does the work of each
(`chat.py`, `scenarios.py`). What a conversation needs of a host stands in `conversation.py` (load,
turn, save, show, arm the timers) and `chatfile.py` (one SQLite file, one transaction per turn).
Nothing imports this room. It needs the extra `cli`; `main` says so where it is missing.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec
from typing import Any

__all__ = ["main"]

_NEEDS = ("click", "prompt_toolkit", "rich")


def main() -> None:
    """The entry point of the program `falai`."""
    missing = [name for name in _NEEDS if find_spec(name) is None]
    if missing:
        sys.exit(f'falai: the command line needs {" and ".join(missing)}. Install it: pip install "falai[cli]"')
    from falai.cli.command import cli  # needs what was just looked for

    _write_all_characters()
    cli()


def _write_all_characters() -> None:
    """A file or a pipe gets UTF-8, as JSON has to be, whatever the locale says; a terminal shows what it can."""
    stdout: Any = sys.stdout
    if hasattr(stdout, "reconfigure"):
        stdout.reconfigure(encoding=stdout.encoding if stdout.isatty() else "utf-8", errors="replace")
