"""Finding the agent that a command line names: `module:attribute`, or a Python file.

The attribute (default `agent`) is an `Agent`, or a function without parameters that makes one. A
module may say what the `context` of its turns is: `chat_context(folder)`, called once, with the
folder where the chat keeps its file; `host_context(turning)`, called for each turn of `falai run`.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from falai.agent import Agent
from falai.errors import FlowConfigurationError, words_of

__all__ = ["LoadError", "Loaded", "Named", "load_agent", "load_named"]


class LoadError(Exception):
    """What was named could not be loaded; the text says why, for the person at the keyboard."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """An agent, and how its context is made, in a chat and in a host."""

    agent: Agent[Any]
    chat_context: Callable[[Path], Any] | None
    host_context: Callable[[Any], Any] | None

    def context(self, folder: Path) -> Any:
        """The context of the turns; `None` when the module has no word on it. Raises `LoadError`."""
        make = self.chat_context
        return None if make is None else _loading("chat_context", lambda: make(folder))


@dataclass(frozen=True, slots=True)
class Named:
    """What a target names: the module, and what the attribute is, or what it makes when it is a function."""

    place: str
    attribute: str
    module: ModuleType
    value: Any


def load_agent(target: str) -> Loaded:
    """The agent that `target` names. Raises `LoadError`."""
    named = load_named(target)
    if not _is_agent(named.value):
        raise LoadError(_no_agent(named.place, named.attribute, named.module))
    module = named.module
    return Loaded(named.value, getattr(module, "chat_context", None), getattr(module, "host_context", None))


def load_named(target: str) -> Named:
    """What `target` names, whatever it is; `None` when the module has nothing of that name.

    What a module prints goes to standard error: standard output is the command's own. Raises
    `LoadError`; its cause is the `FlowConfigurationError` when the agent was refused.
    """
    place, attribute = _split(target)
    module = _loading(place, lambda: _module(place))
    found: Any = getattr(module, attribute, None)
    return Named(place, attribute, module, _loading(target, found) if callable(found) else found)


def _split(target: str) -> tuple[str, str]:
    place, colon, attribute = target.rpartition(":")
    if not colon or attribute.endswith(".py") or "/" in attribute or "\\" in attribute:  # C:\desk.py has a colon, too
        return target, "agent"
    return place, attribute or "agent"


def _module(place: str) -> ModuleType:
    if not place.strip("."):
        raise LoadError("there is no name of a file or module in front of the colon")
    if not place.endswith(".py"):
        sys.path.insert(0, "")  # as `python -m` does: modules of the folder where one stands
        return importlib.import_module(place)
    path = Path(place).resolve()
    if not path.is_file():
        raise LoadError(f"there is no file {place}")
    sys.path.insert(0, str(path.parent))  # so that the file finds its neighbours, as `python file.py` does
    name = f"falai_chat_{path.stem}"  # not the bare stem: a file may be called json.py
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _loading(place: str, load: Callable[[], Any]) -> Any:
    """What `load` gives, or what went wrong in the author's code, in words."""
    try:
        with redirect_stdout(sys.stderr):
            return load()
    except LoadError:
        raise
    except FlowConfigurationError as error:
        raise LoadError(_problems(place, error)) from error
    except ModuleNotFoundError as error:
        raise LoadError(_no_module(place, error)) from error
    except SyntaxError as error:
        raise LoadError(_no_python(place, error)) from error
    except SystemExit as error:  # else its code would be the command's: a check that has passed
        raise LoadError(f"{place} ends the program (exit code {error.code}){_last_line(error)}") from error
    except Exception as error:
        raise LoadError(f"{place} raised {type(error).__name__}: {words_of(error)}{_last_line(error)}") from error


def _problems(place: str, error: FlowConfigurationError) -> str:
    lines = [f"  {p.path or p.where}: {p.what}. {p.fix}" for p in error.problems]
    count = "one problem" if len(lines) == 1 else f"{len(lines)} problems"
    return "\n".join([f"the agent of {place} has {count}:", *lines])


def _is_agent(value: object) -> TypeGuard[Agent[Any]]:
    return isinstance(value, Agent)


def _no_module(place: str, error: ModuleNotFoundError) -> str:
    if place.endswith(".py") or not f"{place}.".startswith(f"{error.name}."):
        return f"{place} imports {error.name}, and there is no such module. Install it, or correct its name"
    kind = "file or folder" if "/" in place else "module"
    return f"there is no {kind} {place}. Name a module, or a file ending in .py"


def _no_python(place: str, error: SyntaxError) -> str:
    line = f"\n  in {error.filename}, line {error.lineno}: {(error.text or '').strip()}" if error.lineno else ""
    return f"{place} cannot be read as Python: {error.msg}{line}"


def _last_line(error: BaseException) -> str:
    """Where the author's code raised; nothing when that was not in it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "" if frame.filename == __file__ else f"\n  in {frame.filename}, line {frame.lineno}: {frame.line}"


def _no_agent(place: str, attribute: str, module: ModuleType) -> str:
    others = [name for name, value in vars(module).items() if _is_agent(value)]
    there = f"; it has {', '.join(others)}: write {place}:{others[0]}" if others else ""
    return f"{place} has no agent called {attribute}{there}"
