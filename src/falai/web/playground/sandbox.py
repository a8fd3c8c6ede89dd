"""The sandbox of one playground: its branches, each in a folder of its own, and the agent and model that they play."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from falai.agent import Agent
from falai.web.playground.branch import Branch, Deployed
from falai.web.playground.clock import BranchClock
from falai.web.playground.keeping import put_back
from falai.web.playground.models import Models
from falai.web.playground.staging import as_data, with_flows
from falai.web.playground.turns import Happened, Standing

__all__ = ["Sandbox"]

_MOST_BRANCHES: Final = 200


class Sandbox:
    """Branches by id, in the order in which they were made. `context(folder)` makes the agent's context of one of them."""

    def __init__(
        self,
        agent: Agent[Any],
        folder: Path,
        *,
        context: Callable[[Path], Any] | None = None,
        clock: Callable[[], datetime],
    ) -> None:
        self.models = Models(agent.model)
        self.deployed = Deployed(as_data(agent), self.models)
        self.branches: dict[str, Branch] = {}
        self._folder = folder
        self._context = context
        self._clock = clock

    @property
    def agent(self) -> Agent[Any]:
        """The agent that is played now, its flows plain data."""
        return self.deployed.agent

    def fresh(self) -> Branch:
        """A new conversation. Raises `ValueError` when there are too many."""
        id, folder = self._place()
        return self._opened(id, folder, BranchClock(self._clock))

    async def take_back(self, branch: Branch, turn: int) -> Branch:
        """A conversation that stands as that one did behind this turn, 0 for its beginning; that one stays as it is.

        Raises `ValueError` for a turn that it does not have, and when there are too many branches.
        """
        happened, standing = await branch.locked(lambda: _until(branch, turn))
        id, folder = self._place()
        put_back(standing.kept, folder)
        clock = BranchClock(self._clock, standing.now_ms)
        return self._opened(id, folder, clock, origin=(branch.id, turn), happened=happened, begun=branch.begun)

    def deploy(self, flows: Sequence[Mapping[str, Any]]) -> None:
        """Puts these flows, in wire form and checked, in the place of the agent's; conversations go on with them."""
        self.deployed.agent = with_flows(self.agent, flows)

    async def aclose(self) -> None:
        """Lets go of what was opened for it."""
        await self.models.aclose()

    def _opened(self, id: str, folder: Path, clock: BranchClock, **more: Any) -> Branch:
        context = None if self._context is None else self._context(folder)
        branch = Branch(id=id, folder=folder, deployed=self.deployed, context=context, clock=clock, **more)
        self.branches[id] = branch
        return branch

    def _place(self) -> tuple[str, Path]:
        number = len(self.branches) + 1
        if number > _MOST_BRANCHES:
            raise ValueError(f"There are {_MOST_BRANCHES} conversations; start the playground anew for another one.")
        folder = self._folder / str(number)
        folder.mkdir()
        return f"b{number}", folder


def _until(branch: Branch, turn: int) -> tuple[list[Happened], Standing]:
    if not 0 <= turn <= len(branch.happened):
        raise ValueError(f"This conversation has {len(branch.happened)} turns; there is no turn {turn}.")
    return branch.happened[:turn], branch.after(turn)
