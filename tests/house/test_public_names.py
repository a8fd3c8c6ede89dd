"""What the public sees: the names, what importing them costs, and the errors' family tree."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import falai
from falai import errors

PUBLIC = {
    # the agent and what goes in and comes out
    "Agent", "Anchor", "Claims", "Delta", "Done", "Event", "Message", "Session", "Silenced", "Start", "TurnResult",
    "Wake",
    # what an author writes
    "Ask", "Branch", "BusinessHours", "Collect", "Condition", "Do", "Field", "Flow", "If", "Instruction",
    "OnAnyMessage", "OnEvent", "OnMention", "OnMessage", "OnSilence", "Prompt", "Reset", "Say", "To", "ToFlow", "Wait",
    "WaitEvent",
    # functions of the author's
    "Action", "ActionContext", "ActionResult", "Param", "Tool", "ToolContext", "ToolResult", "View", "action",
    "defer", "failed", "ok", "skipped", "tool",
    # errors
    "FalaiError", "FlowConfigurationError", "InvalidSessionError", "ProviderError", "SessionConflictError",
}  # fmt: skip

_LOADED = "import sys; before = set(sys.modules); import falai; falai.Agent; print(*(set(sys.modules) - before))"


def test_public_names() -> None:
    """The public surface is written down: a new name is a decision, not an accident."""
    assert set(falai.__all__) == PUBLIC
    assert [name for name in falai.__all__ if not hasattr(falai, name)] == []


def test_every_public_name_is_in_the_reference() -> None:
    """The page of public names shows each of them."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\.\. auto\w+:: falai\.(\w+)$", page, re.MULTILINE))
    assert shown == PUBLIC


def test_importing_falai_is_light() -> None:
    """`import falai`, the agent included, loads the standard library and msgspec, nothing else."""
    said = subprocess.run([sys.executable, "-c", _LOADED], capture_output=True, check=True, text=True).stdout
    packages = {name.partition(".")[0] for name in said.split()}
    foreign = {name for name in packages - sys.stdlib_module_names if not name.startswith("_sysconfigdata")}
    # msgspec itself imports typing_extensions where that is installed.
    assert foreign - {"typing_extensions"} == {"falai", "msgspec"}


def test_the_error_file_draws_its_family_tree() -> None:
    """The docstring of the error file shows every class, under its parent."""
    drawn = re.findall(r"^ +(?:│ *)?(?:[├└]── )?(\w+(?:Error)) ", errors.__doc__ or "", re.MULTILINE)
    classes = [
        name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, BaseException)
    ]
    assert drawn == classes
    assert all(issubclass(getattr(errors, name), errors.FalaiError) for name in drawn)
