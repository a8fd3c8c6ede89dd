"""`falai demo` as people start it: a process of its own, whose address is what it prints."""

from __future__ import annotations

import re
import sys

from servers.process import Server

__all__ = ["Demo"]


class Demo(Server):
    """The playground, with the example agent if no other is named. Nothing of this machine's settings reaches it."""

    name = "demo"

    def __init__(self, *agent: str) -> None:
        super().__init__()
        self._agent = agent

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """What it tells people to open; good once."""
        found = re.findall(rf"{re.escape(self.url)}/\S*", self.log())
        return found[-1] if found else ""

    def command(self) -> list[str]:
        without = [part for name in ("FALAI_MODEL", "OPENAI_API_KEY", "NO_COLOR") for part in ("-u", name)]
        return ["env", *without, sys.executable, "-m", "falai.cli", "demo", *self._agent, "--port", str(self.port)]

    def ready(self) -> bool:
        return bool(self.address)
