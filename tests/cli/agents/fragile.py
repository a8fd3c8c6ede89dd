"""An agent whose own code raises in the middle of a turn, as long as a file is there."""

from __future__ import annotations

from pathlib import Path

from falai import Agent, Flow, If, OnAnyMessage, Say, View


def is_right(view: View[Path]) -> bool:
    if (view.context / "broken").exists():
        raise LookupError("the table is gone")
    return True


agent = Agent[Path](
    name="Glass",
    model="lexical",
    idle="silent",
    flows=[Flow("any", on=[OnAnyMessage(repeat="always")], steps=[If("right", is_right), Say("ok", "All is well.")])],
)


def chat_context(folder: Path) -> Path:
    return folder
