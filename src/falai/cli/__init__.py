"""The `falai` command: talk to an agent, play scenarios, work on flows, look after stores.

`command.py`, and `flow_commands.py` and its neighbours, say which commands there are and what each
takes; the work is done in `chat/`, `running/`, `hosted/`, `flows/`, `sessions/`, `migrating/` and
`scenarios.py`, imported when a command runs. Nothing imports this room. It needs the extra `cli`; `main` says so where it is
missing.
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
