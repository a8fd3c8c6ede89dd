"""What a row says of an error: `{type?, code?, contains?}`, or no more than that there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest


def raises(call: Callable[[], object], expected: Mapping[str, Any] | bool, usual: type[Exception]) -> None:
    """The call raises what is expected; `usual` is the class where the row names none."""
    told: Mapping[str, Any] = expected if isinstance(expected, Mapping) else {}
    with pytest.raises(Exception if "type" in told else usual) as raised:
        call()
    classes = [kind.__name__ for kind in type(raised.value).__mro__]
    assert told.get("type", usual.__name__) in classes, repr(raised.value)
    assert told.get("code") in (None, getattr(raised.value, "code", None)), raised.value
    missing = [text for text in told.get("contains", ()) if text not in str(raised.value)]
    assert not missing, f"{missing} not in {raised.value}"
