"""The settings of the web: closed by default, and all mistakes at once."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from falai.web.settings import ServeSettings, WebSettings


def test_what_is_closed_by_default() -> None:
    """No name, no page and no proxy; this machine only."""
    settings = ServeSettings()
    assert (settings.hosts, settings.origins, settings.proxies, settings.host) == ((), (), (), "127.0.0.1")


@pytest.mark.parametrize(
    "right",
    [
        {"hosts": ["a.example", "A.Example.", "10.0.0.1", "[::1]", "*"]}, {"origins": ["https://a.example", "http://a:80"]},
        {"proxies": ["10.0.0.1", "10.0.0.0/8", "fd00::/8"]}, {"max_body": 1, "body_time": "1.5s", "rate": "1 in 1d"},
    ],
)  # fmt: skip
def test_what_can_be(right: dict[str, Any]) -> None:
    """Each is taken as it is written."""
    for name, value in right.items():
        assert getattr(WebSettings(**right), name) == value


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("hosts", ["a.example", ["a:80"], ["http://a"], [""], ["[::1]:80"], [1], ["a b"]]),
        (
            "origins",
            ["https://a", ["*"], ["null"], ["a.example"], ["https://a/"], ["https://*.example"], ["file://"], [None]],
        ),
        ("proxies", ["10.0.0.1", ["proxy.example"], ["10.0.0.1/8"], ["*"], [""]]),
        ("max_body", [0, -1, "1", True, 1.5]),
        ("body_time", ["soon", 5, ""]),
        ("rate", ["1", "1 per 1s", 5]),
        ("heartbeat", ["often", None]),
        ("port", [-1, 65_536, "80", True]),
    ],
)
def test_what_cannot_be(name: str, values: list[Any]) -> None:
    """The error names the setting, and says what to write."""
    for value in values:
        with pytest.raises(ValueError, match=rf"{name}.* Write "):
            ServeSettings(**{name: value})


def test_all_mistakes_are_told_at_once() -> None:
    """In one error."""
    with pytest.raises(ValueError, match=r"hosts\[0\].*origins\[0\].*max_body.*rate"):
        WebSettings(hosts=["a:1"], origins=["*"], max_body=0, rate="x")


def test_settings_need_no_framework() -> None:
    """`falai run` reads them too, and has no server."""
    code = "import sys, falai.web.settings, falai.web.access.tokens; print('starlette' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout == "False\n"
