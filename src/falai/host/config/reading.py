"""A configuration: read from file, environment and command line, checked whole, all problems at once.

Each setting of `Settings`, `Keep` and `SendingWindow` is checked by its own class, so that no rule
stands twice.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from falai.channel.port import Channel, Template
from falai.host.config.channels import read_channels
from falai.host.config.layers import command_line_tree, environment_tree, file_tree, laid_over
from falai.host.config.problems import ConfigError, ConfigProblem
from falai.host.config.section import Section
from falai.host.rates import check_channels
from falai.host.settings import Keep, Settings
from falai.host.stores import check_store
from falai.host.windows import Hours, SendingWindow, Windows
from falai.session.jsontext import show

__all__ = ["Config", "read_config"]

_PLAIN = ("agent", "model", "base_url", "store", "tenant", "spool")
_TABLES = ("log", "host", "keep", "windows", "channels")
_LEVELS = ("debug", "info", "warning", "error")
_NO_TEXT = frozenset({"windows", "describe", "keep"})
"""What of `Settings` is no value of a file, or has a table of its own."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """What a host is run with. `channels` are made, not opened; `secrets` is every text that no log line may hold.

    `tables` has the settings of the tables that `read_config` was given.
    """

    agent: str
    model: str | None = None
    base_url: str | None = None
    store: str = "falai.db"
    tenant: str = "default"
    spool: Path | None = None
    log_level: str = "info"
    log_format: str = "text"
    settings: Settings = field(default_factory=Settings)
    channels: Mapping[str, Channel] = field(default_factory=dict[str, Channel])
    tables: Mapping[str, Any] = field(default_factory=dict[str, Any])
    secrets: tuple[str, ...] = field(default=(), repr=False)


def read_config(
    file: Path | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    given: Mapping[str, str | None] | None = None,
    tables: Mapping[str, type[Any]] | None = None,
) -> Config:
    """The configuration of a TOML file, over it the environment's, over that what was `given` on the command line.

    `tables` are those of others: dataclasses of texts, numbers and lists of texts, which refuse what cannot be.
    Raises `ConfigError` with every problem, each with its place, and no secret in it.
    """
    variables = os.environ if environment is None else environment
    problems: list[ConfigProblem] = []
    in_file = {} if file is None else file_tree(file, problems)
    others = tables or {}
    tree = laid_over(in_file, environment_tree(variables, _PLAIN, (*_TABLES, *others), problems))
    tree = laid_over(tree, command_line_tree(given or {}))
    top = Section(tree, "" if file is None else f"{file}: ", problems, variables.get, file.parent if file else Path())
    config = _config(top, others)
    if problems:
        raise ConfigError(problems)
    return config


def _config(top: Section, others: Mapping[str, type[Any]]) -> Config:
    plain: dict[str, Any] = {name: top.text(name) for name in _PLAIN}
    top.checked("store", plain["store"], check_store)
    top.checked("spool", plain["spool"], _check_folder)
    if "agent" not in top:
        top.problem("agent", "no agent is named: write its module or file, such as desk.py or shop.agents:sales")
    log = top.section("log")
    plain |= {"log_level": log.choice("level", _LEVELS), "log_format": log.choice("format", ("text", "json"))}
    log.done()
    settings = _settings(top)
    top.section("host").checked(
        "rates", settings.rates, lambda rates: check_channels(rates, top.section("channels").names)
    )
    channels, secrets = read_channels(top.section("channels"))
    tables = {name: of(**_values(top.section(name), of)) for name, of in others.items()}
    top.done()
    spool = plain.pop("spool")
    written = {"agent": "", **{name: value for name, value in plain.items() if value is not None}}
    return Config(
        **written,
        spool=None if spool is None else Path(spool),
        settings=settings,
        channels=channels,
        tables=tables,
        secrets=secrets,
    )


def _check_folder(folder: str) -> None:
    if not Path(folder).is_dir():
        raise ValueError(f"there is no folder {show(folder)}: make it, or name another")


def _settings(top: Section) -> Settings:
    keep = Keep(**_values(top.section("keep"), Keep))
    windows = _windows(top.section("windows"))
    return Settings(**_values(top.section("host"), Settings), windows=windows, keep=keep)


def _values(section: Section, of: type[Any]) -> dict[str, Any]:
    """The settings of a dataclass that are written, each one checked by the class itself."""
    found: dict[str, Any] = {}
    for setting in fields(of):
        if setting.name not in _NO_TEXT:
            value = _reader(section, setting.type)(setting.name)
            found[setting.name] = section.checked(setting.name, value, _alone(of, setting.name))
    section.done()
    return {name: value for name, value in found.items() if value is not None}


def _reader(section: Section, kind: Any) -> Callable[[str], Any]:
    return {"str": section.text, "int": section.number, "int | None": section.number}.get(kind, section.texts)


def _alone(of: type[Any], name: str) -> Callable[[Any], Any]:
    return lambda value: of(**{name: value})


def _windows(section: Section) -> Windows:
    read: dict[str, Any] = {
        "answers": _hours(section, "answers"),
        "follow_ups": _hours(section, "follow_ups"),
        "template": _template(section, "template"),
    }
    section.done()
    return Windows(**read)


def _hours(windows: Section, name: str) -> Hours | None:
    if name not in windows:
        return None
    section = windows.section(name)
    hours = section.checked("hours", _week(section), SendingWindow)
    others: dict[str, Any] = {
        "tz": section.text("tz"),
        "holidays": section.text("holidays"),
        "closed": section.dates("closed"),
    }
    section.done()
    right = {
        key: value
        for key, value in others.items()
        if section.checked(key, value, lambda value, key=key: SendingWindow("00:00-24:00", **{key: value})) is not None  # type: ignore[misc]  # a lambda's default
    }
    return SendingWindow(hours, **right) if hours is not None else None


def _week(section: Section) -> Any:
    """Hours for every day (a text, or a list of them), or a table of days."""
    match section.raw("hours"):
        case None:
            section.problem("hours", 'no hours are written: write hours = "09:00-18:00", or a table of days')
            return None
        case week:
            return week


def _template(windows: Section, name: str) -> Template | None:
    if name not in windows:
        return None
    section = windows.section(name)
    title, language = section.required("name"), section.required("language")
    texts = section.texts("texts") or ()
    section.done()
    return Template(title, language, texts) if title and language else None
