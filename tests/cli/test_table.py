"""Tables at the terminal: what stands in them may be a stranger's words."""

from __future__ import annotations

import pytest

from falai.cli.table import table


def test_columns_stand_below_each_other() -> None:
    """A column is as wide as its longest cell."""
    assert list(table([("id", "name"), ("1234", "shop")])) == ["id    name", "1234  shop"]


@pytest.mark.parametrize("id", ["s1\ns2", "s1\r\ns2", "s1\ts2", "s1\u2028s2", "s1\x1b[1As2", "s1\x0bs2", "s1\x85s2"])
def test_a_row_is_one_line(id: str) -> None:
    """An id with a line break in it looks like no row of its own, and steers no terminal."""
    (_, line) = table([("id", "state"), (id, "dead")])
    assert line.isprintable()
    assert line.startswith("s1")
    assert line.endswith("dead")
