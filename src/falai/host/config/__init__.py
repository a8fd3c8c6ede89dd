"""The configuration of `falai run`: a TOML file, the environment over it, the command line over that.

`read_config` gives a `Config`, or a `ConfigError` with all problems at once, each with its place. Secrets
come from the environment or from files of their own, and are shown nowhere.
"""

from __future__ import annotations

from falai.host.config.problems import ConfigError, ConfigProblem
from falai.host.config.reading import Config, read_config

__all__ = ["Config", "ConfigError", "ConfigProblem", "read_config"]
