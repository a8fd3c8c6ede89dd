"""The room's public names."""

from __future__ import annotations

import pytest

from falai import flow


def test_every_public_name_is_there() -> None:
    """Each is imported from its module when it is first used, and stays the same."""
    assert sorted(flow.__all__) == sorted(set(flow.__all__))
    for name in flow.__all__:
        assert getattr(flow, name) is getattr(flow, name)
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = flow.nothing_like_it
