"""The store of one's own that the documentation shows passes the contract, as the documentation says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from falai.store import Store

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "store.md"


def _shown() -> Any:
    """The test class of the page, with what stands in front of it."""
    snippets = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": __name__}
    exec("from __future__ import annotations\nfrom falai import Session, SessionConflictError", names)
    for snippet in snippets:
        if "DictStore" in snippet:
            exec(snippet, names)
    return names["TestDictStore"]


TestDictStore = _shown()


class ReadOnlyStore(Store):
    """It has forgotten the other methods."""

    async def load(self, id: str) -> None:
        """Nothing is ever there."""


def test_a_store_that_lacks_methods() -> None:
    """It cannot be made, and hears which: otherwise a save would keep nothing, without a word."""
    kind: Any = ReadOnlyStore
    with pytest.raises(TypeError, match=r"delete.*disconnect.*initialize.*save.*scan"):
        kind()
