"""The page of the configuration has every setting with its default, and no others."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from falai.host.config import Config, ConfigError, read_config
from falai.host.settings import Keep, Settings
from falai.web.settings import ServeSettings

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
NO_TEXT = {"windows", "describe", "keep"}


def _rows(heading: str) -> dict[str, str]:
    """The settings of a section, and the defaults that it names."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    rows = re.findall(r"^\| `([\w.]+)` \|([^|]*)\|", section[1], re.MULTILINE)
    return {name: default.strip() for name, default in rows}


def _shown(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    return f"`{text}`" if text else ""


@pytest.mark.parametrize(("heading", "of"), [("host", Settings), ("keep", Keep), ("web", ServeSettings)])
def test_every_setting_is_on_the_page(heading: str, of: type[Any]) -> None:
    """With its default."""
    defaults = of()
    found = {field.name: _shown(getattr(defaults, field.name)) for field in fields(of) if field.name not in NO_TEXT}
    assert _rows(heading) == found


def test_plain_settings_are_on_the_page() -> None:
    """What is no table, and the log's."""
    config = Config(agent="")
    found = {"agent", "model", "base_url", "store", "tenant", "spool", "log.level", "log.format"}
    rows = _rows("Plain settings")
    assert rows.keys() == found
    shown = {name: rows[name].strip("`") for name in ("store", "tenant", "log.level", "log.format")}
    assert shown == {
        "store": config.store, "tenant": config.tenant, "log.level": config.log_level, "log.format": config.log_format,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "needs", "may", "secret"), re.findall(r"^\| `(\w+)` \| (`.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
)
def test_what_a_channel_takes_is_on_the_page(tmp_path: Path, kind: str, needs: str, may: str, secret: str) -> None:
    """What it needs, what it may have besides, and what comes from elsewhere."""
    needed, optional, secrets = (re.findall(r"`(\w+)`", cell) for cell in (needs, may, secret))
    file = tmp_path / "falai.toml"
    head = f'agent = "a.py"\n[channels.c]\nkind = "{kind}"\n'
    file.write_text(head)
    with pytest.raises(ConfigError) as raised:
        read_config(file, environment={})
    missing = [problem.where.rpartition(".")[2] for problem in raised.value.problems]
    assert sorted(missing) == sorted(needed)
    values = {"url": '"http://localhost/in"', "base_url": '"http://localhost"', "tolerance": "5"}
    given = {name: '{ env = "IT" }' if name in secrets else values.get(name, '"x"') for name in (*needed, *optional)}
    file.write_text(head + "".join(f"{name} = {value}\n" for name, value in given.items()))
    assert list(read_config(file, environment={"IT": "it"}).channels) == ["c"]


def test_the_example_is_a_configuration(tmp_path: Path) -> None:
    """As it stands on the page, with its secrets where it says that they are."""
    example = re.search(r"^```toml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    assert example is not None
    (tmp_path / "whatsapp").write_text("app-secret")
    (tmp_path / "falai.toml").write_text(example[1].replace("/run/secrets/whatsapp", "whatsapp"))
    config = read_config(tmp_path / "falai.toml", environment={"WHATSAPP_TOKEN": "token"})
    assert (list(config.channels), config.settings.burst) == (["whatsapp"], "2s")
    assert sorted(config.secrets) == ["app-secret", "token"]
