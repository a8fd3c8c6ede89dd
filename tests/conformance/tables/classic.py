"""The tables of the room `classic`: directives as data."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from conformance.tables.raising import raises
from falai.classic import flow
from falai.errors import FlowConfigurationError
from falai.session.jsontext import json_equal

Row = Mapping[str, Any]


def directive_validate(row: Row) -> None:
    """`flow.validate(directive)`."""
    before = copy.deepcopy(row["directive"])
    if "error" in row:
        raises(lambda: flow.validate(row["directive"]), row["error"], FlowConfigurationError)
    else:
        flow.validate(row["directive"])
    assert json_equal(row["directive"], before)


def directive_merge(row: Row) -> None:
    """`flow.merge(a, b)`, compared whole."""
    before = copy.deepcopy([row["a"], row["b"]])
    found = flow.merge(row["a"], row["b"]).to_wire()
    assert json_equal(found, row["merged"]), f"{found} for {row}"
    assert json_equal([row["a"], row["b"]], before)
