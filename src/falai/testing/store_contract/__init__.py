"""The contract tests of stores (07-stores section 15), for every store of falai and for your own.

A test module makes a subclass and says how a store is made; each test gets a store without rows:

    class TestMine(StoreContract):
        @pytest.fixture
        async def store(self):
            async with MyStore(...) as store:
                yield store

Further parts of the contract need to know more. Take each that fits, and implement its one hook:

| part | for a store | hook |
|---|---|---|
| `RowContract` | whose rows another program can write | `put_row` |
| `SharedContract` | that several processes may open over the same rows | `another` |
| `TransactionContract` | that takes part in a transaction of the host | `transaction` |
| `FailureContract` | whose backend can fail | `outage` |

What a backend cannot do is said by the attributes of `Backend`, which all of them have. The tests
are asynchronous: they need a plugin such as anyio's (`anyio_mode = "auto"`).
"""

from __future__ import annotations

import pytest

_PARTS = ["basics", "failures", "races", "rows", "scans", "sessions", "shared", "transactions", "values"]
pytest.register_assert_rewrite(*(f"{__name__}.{part}" for part in _PARTS))  # before they are imported

from falai.testing.store_contract.backend import Backend  # noqa: E402
from falai.testing.store_contract.basics import Basics  # noqa: E402
from falai.testing.store_contract.failures import FailureContract  # noqa: E402
from falai.testing.store_contract.races import Races  # noqa: E402
from falai.testing.store_contract.rows import RowContract  # noqa: E402
from falai.testing.store_contract.scans import Scans  # noqa: E402
from falai.testing.store_contract.sessions import full_session  # noqa: E402
from falai.testing.store_contract.shared import SharedContract  # noqa: E402
from falai.testing.store_contract.transactions import TransactionContract  # noqa: E402
from falai.testing.store_contract.values import Values  # noqa: E402

__all__ = [
    "Backend",
    "FailureContract",
    "RowContract",
    "SharedContract",
    "StoreContract",
    "TransactionContract",
    "full_session",
]


class StoreContract(Basics, Values, Races, Scans):
    """What every store promises; `store` is a fixture that gives a store without rows."""
