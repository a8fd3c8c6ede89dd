"""What `check`, `graph` and `diff` look at: flows from JSON, YAML or Python, with the place of each part.

A target is a file, a folder (its flow files), a Python file or `module[:attribute]`. What cannot be
read is a problem of its source, so that the others are still looked at. Nothing here judges a flow.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeGuard

from falai.agent import Agent
from falai.cli.flows.documents import SCHEMA, agent_options, has_flows, is_agent, is_flow_document
from falai.cli.flows.pyplaces import PythonPlaces, modules_beside
from falai.cli.loading import LoadError, Named, load_named
from falai.errors import FlowConfigurationError, Problem
from falai.flow.build import AgentOptions, examine
from falai.flow.definition import Flow
from falai.flow.documents import read_json, read_yaml
from falai.flow.places import Finding, listing
from falai.flow.plan import AgentPlan
from falai.flow.registries import Registries
from falai.flow.spots import (
    Located,
    RefusedError,
    Span,
    Spot,
    json_spots,
    key_span_of,
    span_of,
    spot_at,
    yaml_spots,
)
from falai.flow.unreadable import point, unreadable
from falai.flow.wire import to_wire
from falai.session.jsontext import is_list, is_object

__all__ = ["Source", "load_owner", "load_sources"]

_READERS = {".json": read_json, ".yaml": read_yaml, ".yml": read_yaml}


@dataclass(frozen=True, kw_only=True)
class Source:
    """Flows that were given together.

    `flows` are in wire form, and `bases` the wire path of each (`""` when the document is the flow).
    `registries` are what their names resolve against, `plan` the checked agent that has those names;
    both are `None` when nobody said. `agent` is the one that a Python target names, or that of
    `--agent`; `options` are those of a document that is an agent.
    """

    target: str
    """As it was typed; for a file of a folder, its path."""
    file: str | None = None
    text: str = ""
    flows: tuple[Any, ...] = ()
    bases: tuple[str, ...] = ()
    registries: Registries | None = None
    plan: AgentPlan | None = None
    agent: Agent[Any] | None = None
    options: AgentOptions | None = None
    document: Any = None
    ignore: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Why it could not be read, or why its agent was refused; then there are no flows."""
    broken_at: Span | None = None
    passed_over: tuple[str, ...] = ()
    """Files of the folder that hold no flow."""
    lent: bool = False
    """Whether the names are those of `--agent`: all such sources belong to one agent."""

    @property
    def readable(self) -> bool:
        return not self.problems

    def place(self, finding: Finding) -> Located | None:
        """Where what was found stands; `None` when that is not known."""
        if self.file is None:
            return None
        if self.broken_at is not None:
            return Located(self.file, self.text, self.broken_at)
        if self._spots is not None:
            spanned = key_span_of if _is_of_key(finding) else span_of
            return Located(self.file, self.text, spanned(self.text, spot_at(self._spots, finding.path)))
        if Path(self.file).suffix in _READERS:
            return Located(self.file, self.text, point(1, 1))
        return self._python.find(finding.where)

    @cached_property
    def _spots(self) -> Spot | None:
        if self.file is None or self.problems or Path(self.file).suffix not in _READERS:
            return None
        return json_spots(self.text) if self.file.endswith(".json") else yaml_spots(self.text)

    @cached_property
    def _python(self) -> PythonPlaces:
        return PythonPlaces(() if self.file is None else modules_beside(self.file))


def load_sources(targets: Sequence[str], agent: str | None = None) -> list[Source]:
    """The sources of these targets, in order; a folder gives one for each of its flow files.

    `agent` names whose fields, actions, … the specs may use; the flows of all the targets and its own
    know each other. Raises `LoadError` when that agent, or a target, is not there.
    """
    logging.getLogger("falai").addHandler(logging.NullHandler())  # what an agent warns of, the command says itself
    sources = [source for target in targets for source in _sources(target)]
    if agent is None:
        return sources
    owner = load_owner(agent)
    ids = [found for source in [owner, *sources] for found in _ids(source.flows)]
    names = replace(owner.registries or Registries(), flows=tuple(dict.fromkeys(ids)))
    return [_owned(source, replace(owner, registries=names)) for source in sources]


def _is_of_key(finding: Finding) -> bool:
    """Whether it is a key that is wrong, and not its value."""
    in_object = finding.code == "unknown-field" and not finding.path.endswith("]")
    return in_object or finding.code in ("unlisted-property", "unknown-condition", "extra-parameter")


def _sources(target: str) -> Iterator[Source]:
    path = Path(target)
    try:
        is_folder, is_file = path.is_dir(), path.is_file()
    except OSError as error:  # a folder around it is closed, or the name is too long
        raise LoadError(f"{target} cannot be looked at: {error.strerror}") from error
    if is_folder:
        yield from _folder(target, path)
    elif path.suffix in _READERS:
        if not is_file:
            raise LoadError(f"there is no file {target}")
        yield _read(target)
    elif is_file and path.suffix != ".py":
        raise LoadError(f"{target} is no file of flows: the name of one ends in .py, .json, .yaml or .yml")
    else:
        yield _python(target)


# --- documents ---------------------------------------------------------------------------------


def _folder(target: str, folder: Path) -> Iterator[Source]:
    files = sorted(file for file in folder.rglob("*") if file.suffix in _READERS and file.is_file())
    visible = [file for file in files if not any(part.startswith(".") for part in file.relative_to(folder).parts)]
    read = [_read(str(file)) for file in visible]
    found = [one for one in read if not one.readable or is_flow_document(one.document)]
    if not found:
        what = "JSON or YAML with a flow, a list of flows, or an agent"
        raise LoadError(f"{target} has no flow files: {what}. Python files are named one by one")
    passed_over = tuple(one.target for one in read if one not in found)
    yield replace(found[0], passed_over=passed_over)
    yield from found[1:]


def _read(target: str) -> Source:
    """The source of a JSON or YAML file. Raises `LoadError` when YAML cannot be read here at all."""
    path, text = Path(target), ""
    try:
        raw = path.read_bytes()
        text = _lines(raw.decode("utf-8-sig", "replace"))
        raw.decode("utf-8-sig")
        content = _READERS[path.suffix](text)
        if path.suffix == ".json":
            json_spots(text)
    except ImportError as error:
        raise LoadError(str(error)) from error
    except (OSError, ValueError, RecursionError, RefusedError) as error:
        return _broken(target, text, error)
    return _document(target, text, content)


def _lines(text: str) -> str:
    """The text with the line breaks that Python reads from any of the three kinds."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _document(target: str, text: str, content: Any) -> Source:
    if not has_flows(content):
        specs, bases = _specs(content)
        return Source(target=target, file=target, text=text, flows=specs, bases=bases, document=content)
    flows = to_wire(content.get("flows") or [])
    listed = tuple(flows) if is_list(flows) else ()
    options = agent_options(content) if is_agent(content) or not is_list(flows) else None
    plan = None if options is None else _checked(options)
    return Source(
        target=target,
        file=target,
        text=text,
        flows=listed,
        bases=tuple(f"flows[{index}]" for index in range(len(listed))),
        registries=None if plan is None else replace(Registries.of(plan), flows=_ids(listed)),
        plan=plan,
        options=options,
        document=content,
        ignore=_patterns(content.get("ignore")),
    )


def _specs(content: Any) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    if is_list(content):
        return tuple(map(_spec, content)), tuple(f"[{index}]" for index in range(len(content)))
    return (_spec(content),), ("",)


def _spec(content: Any) -> Any:
    """A flow in wire form; the line that tells an editor its schema is no part of it."""
    return to_wire({key: value for key, value in content.items() if key != SCHEMA}) if is_object(content) else content


def _patterns(given: Any) -> tuple[str, ...]:
    return tuple(entry for entry in given if isinstance(entry, str)) if is_list(given) else ()


def _checked(options: AgentOptions) -> AgentPlan | None:
    """The agent; without its flows if something is wrong, since its names may be right all the same."""
    return examine(options)[0] or examine(replace(options, flows=[], instructions=(), idle=None, problems=()))[0]


def _broken(target: str, text: str, error: Exception) -> Source:
    problem, span = unreadable(text, error)
    return Source(target=target, file=target, text=text, problems=(problem,), broken_at=span)


# --- Python ------------------------------------------------------------------------------------


def _python(target: str) -> Source:
    try:
        named = load_named(target)
    except LoadError as error:
        if isinstance(error.__cause__, FlowConfigurationError):
            return _refused(target, error.__cause__)
        raise
    file = _file_of(named)
    source = Source(target=target, file=file, text=_text_of(file))
    if _is_agent(named.value):
        return _of_agent(source, named.value)
    flows: Any = [named.value] if isinstance(named.value, Flow) or is_object(named.value) else named.value
    if not is_list(flows) or not all(isinstance(flow, Flow) or is_object(flow) for flow in flows):
        raise LoadError(_nothing_there(named))
    wire = tuple(to_wire(flow) for flow in flows)
    return replace(source, flows=wire, bases=tuple(f"flows[{index}]" for index in range(len(wire))))


def _is_agent(value: object) -> TypeGuard[Agent[Any]]:
    return isinstance(value, Agent)


def _of_agent(source: Source, agent: Agent[Any]) -> Source:
    plans = agent.plan.flows.values()
    return replace(
        source,
        agent=agent,
        flows=tuple(to_wire(plan.flow) for plan in plans),
        bases=tuple(f"flows[{index}]" for index in range(len(plans))),
        registries=Registries.of(agent.plan),
        plan=agent.plan,
    )


def _refused(target: str, error: FlowConfigurationError) -> Source:
    place = target.rpartition(":")[0] if ".py:" in target else target
    file = place if place.endswith(".py") else _origin(place)
    return Source(target=target, file=file, text=_text_of(file), problems=error.problems)


def _origin(module: str) -> str | None:
    """The file of a module that raised while it was imported, or later."""
    try:
        spec = find_spec(module.partition(":")[0])
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin


def _file_of(named: Named) -> str | None:
    if named.place.endswith(".py"):
        return named.place
    return getattr(named.module, "__file__", None)


def _text_of(file: str | None) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig") if file else ""
    except (OSError, ValueError):
        return ""


def _nothing_there(named: Named) -> str:
    if not hasattr(named.module, named.attribute):
        return f"{named.place} has nothing called {named.attribute}{_others(named)}"
    return f"{named.place}:{named.attribute} is no agent, no flow and no list of flows{_others(named)}"


def _others(named: Named) -> str:
    found = [name for name, value in vars(named.module).items() if isinstance(value, Agent | Flow)]
    return f"; write {listing([f'{named.place}:{name}' for name in found])}" if found else ""


# --- whose names -------------------------------------------------------------------------------


def load_owner(target: str) -> Source:
    """What `--agent` names: a Python agent, or a document that is one. Raises `LoadError`."""
    source, *more = _sources(target)
    if source.problems:
        raise LoadError(f"the agent {target} cannot be used: {source.problems[0].what}. See falai check {target}")
    if source.options is not None and source.registries is None:
        raise LoadError(f"the agent {target} cannot be used: something in it is wrong. See falai check {target}")
    if more or source.registries is None:
        raise LoadError(f"{target} is no agent: name module:agent, or a file with fields, actions, …")
    return source


def _owned(source: Source, owner: Source) -> Source:
    """A source that says nothing of names of its own has those of `--agent`."""
    if source.registries is not None or source.options is not None:
        return source
    return replace(source, registries=owner.registries, plan=owner.plan, agent=owner.agent, lent=True)


def _ids(flows: Iterable[Any]) -> tuple[str, ...]:
    ids = [flow.get("id") for flow in flows if is_object(flow)]
    return tuple(found for found in ids if isinstance(found, str))
