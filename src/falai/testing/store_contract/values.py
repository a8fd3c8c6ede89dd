"""Everything that JSON can say comes back: C-14, and texts, keys, numbers and sizes that a backend could spoil."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest

from falai.session.inputs import Message
from falai.session.model import Claim, Session
from falai.store.contract import Store
from falai.testing.store_contract.backend import Backend
from falai.testing.store_contract.sessions import NOW, full_session

__all__ = ["Values"]

PLANES = "aé\u00ad\u0628\u202e\ud7ff\ue000\ufeff\ufffd\ufffe\uffff\U0001f33f\U0002070e\U00030000\U000e0001\U000ffffd\U0010ffff"
KEYS = ["", " ", "$set", "$where", "$", ".", "a.b", "a..b", ".a", "a:b", "a/b", "#", "%s", "{}", "{x}", "\t", "\n", '"', "'",
        "\\", "`", "--", ";", "_id", "id", "version", "__proto__", "null", "0", "é", "\U0001f33f", "x" * 2000]  # fmt: skip
LOOKALIKES = [
    "null",
    "true",
    "0",
    "1.0",
    "NaN",
    "Infinity",
    NOW,
    "2026-09-20",
    '{"a": 1}',
    "[]",
    "$1",
    "\\u0000",
    "%(x)s",
]
NUMBERS = [0, -1, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**63, 2**64 + 1, -(2**70), 10**400,
           0.1, -1.5, 5e-324, 1e-7, 123456789.123456789]  # fmt: skip


class Size(Enum):
    """What a host may have put in."""

    SMALL = "small"


class Values(Backend):
    """Part of `StoreContract`."""

    async def kept(self, store: Store, session: Session) -> Session:
        """The session as it comes back, which is as `save` said and as it was put in."""
        saved = await store.save(session, 0)
        loaded = await store.load(session.id)
        assert loaded == saved
        assert loaded is not None
        return loaded

    @pytest.mark.parametrize(
        ("value", "stored"),
        [
            (1.0, 1),
            (0.1, 0.1),
            (float("nan"), None),
            (float("-inf"), None),
            ((1, (2, "x")), [1, [2, "x"]]),
            (datetime(2026, 9, 20, 10, 0, 0, 999_999, tzinfo=UTC), "2026-09-20T10:00:00.999Z"),
            (datetime(2026, 9, 20, 10, tzinfo=timezone(timedelta(hours=-3))), "2026-09-20T13:00:00.000Z"),
            (datetime(2026, 9, 20, 10), NOW),  # noqa: DTZ001 - one without a zone is the point
            (date(2026, 9, 20), "2026-09-20"),
            (Size.SMALL, "small"),
            ("a\ud800b", "a\ufffdb"),
        ],
        ids=repr,
    )
    async def test_c14_what_a_host_put_in(self, store: Store, value: Any, stored: Any) -> None:
        """Values that are no JSON are written as P-16 and P-17 say, wherever they stand."""
        session = full_session()
        session.data = {"v": value}
        session.metadata = {"v": [value]}
        session.history = [value]
        session.runs[0].input = {"v": value}
        saved = await store.save(session, 0)
        for one in (saved, await store.load("s1")):
            assert one is not None
            assert (one.data, one.metadata, one.history) == ({"v": stored}, {"v": [stored]}, [stored])
            assert one.runs[0].input == {"v": stored}

    @pytest.mark.parametrize("value", [{1, 2}, b"x", 1j, Message("x"), {1: 2}], ids=repr)
    async def test_c14_what_has_no_json_form(self, store: Store, value: Any) -> None:
        """A `TypeError` names the path, and nothing is written."""
        session = full_session()
        session.runs[0].input = {"when": [value]}
        with pytest.raises(TypeError, match=r"runs\[0\]\.input\.when\[0\]"):
            await store.save(session, 0)
        assert await store.load("s1") is None

    async def test_text_of_every_plane(self, store: Store) -> None:
        """Values, keys, ids of messages and of the session may hold any character, the unassigned ones too."""
        session = Session.fresh(f"s{PLANES}")
        session.data = {PLANES: [PLANES, {PLANES: PLANES}], **{f"c{ord(c):x}": c for c in PLANES}}
        session.claims = {f"f:{PLANES}:": Claim(at=PLANES)}
        session.inputs = [PLANES]
        session.history = [PLANES]
        session.last_user_at = PLANES
        loaded = await self.kept(store, session)
        session.version = 1
        assert loaded == session

    async def test_control_characters(self, store: Store) -> None:
        """U+0000 to U+001F and U+007F come back; U+0000 is lost where the backend cannot hold it, in keys too (P-40)."""
        text = "".join(map(chr, range(32))) + "\x7f\x80\u2028"
        session = Session.fresh("s1")
        session.data = {text: text, "list": [text, "\0", "a\0b"], "\0": {"\0k": "\0"}}
        session.claims = {"f:\0:": Claim(at="\0")}
        session.inputs = ["m\0"]
        expected = self.storable(session)
        expected.version = 1
        assert await self.kept(store, session) == expected

    async def test_half_characters(self, store: Store) -> None:
        """A lone surrogate becomes U+FFFD wherever it stands (P-17)."""
        session = Session.fresh("s1")
        session.data = {"a\udc00": ["\ud83c", {"\ud800": "x\udfff"}]}
        session.claims = {"f:\ud800:": Claim(at="\udfff")}
        session.inputs = ["\ud83c"]
        loaded = await self.kept(store, session)
        assert loaded.data == {"a\ufffd": ["\ufffd", {"\ufffd": "x\ufffd"}]}
        assert (loaded.claims, loaded.inputs) == ({"f:\ufffd:": Claim(at="\ufffd")}, ["\ufffd"])

    async def test_keys_that_mean_something_elsewhere(self, store: Store) -> None:
        """A key is a name and nothing else: operators, paths, quotes, the names of columns, no name at all."""
        session = Session.fresh("s1")
        session.data = {key: {key: [key]} for key in KEYS}
        session.metadata = dict.fromkeys(KEYS)
        session.claims = {key: Claim(at=NOW) for key in KEYS}
        loaded = await self.kept(store, session)
        assert (loaded.data, loaded.metadata, loaded.claims) == (session.data, session.metadata, session.claims)

    async def test_text_that_looks_like_something_else(self, store: Store) -> None:
        """It stays text."""
        session = Session.fresh("s1")
        session.data = {str(number): text for number, text in enumerate(LOOKALIKES)}
        assert list((await self.kept(store, session)).data.values()) == LOOKALIKES

    async def test_numbers(self, store: Store) -> None:
        """Whole numbers of any length and floats come back as they are, and of their kind (P-16, G-43)."""
        session = Session.fresh("s1")
        session.data = {"v": [*NUMBERS, True, False, 1.0, -0.0]}
        found = (await self.kept(store, session)).data["v"]
        assert found == [*NUMBERS, True, False, 1, 0]
        assert [type(number) for number in found] == [type(number) for number in [*NUMBERS, True, False, 1, 0]]

    @pytest.mark.parametrize("value", [1e300, -1e22, 2.0**53 + 2, 1.7976931348623157e308])
    async def test_large_floats(self, store: Store, value: float) -> None:
        """A float beyond 2^53 keeps its value, and is a float where the backend tells the two apart."""
        session = Session.fresh("s1")
        session.data = {"v": value}
        found = (await self.kept(store, session)).data["v"]
        assert float(found) == value
        assert isinstance(found, float) or not self.keeps_floats

    async def test_five_megabytes(self, store: Store) -> None:
        """A session far larger than any conversation makes comes back whole."""
        session = Session.fresh("s1")
        session.data = {"text": "é\U0001f33f" * 500_000, "list": [{"n": n, "t": "x" * 80} for n in range(25_000)]}
        size = len(session.to_json().encode())
        saved = await store.save(session, 0)
        loaded = await store.load("s1")
        same = loaded == saved and saved.data == session.data  # a report of the difference would have its size too
        assert (same, size > 5_000_000) == (True, True)

    async def test_depth(self, store: Store) -> None:
        """Lists and objects may lie in one another."""
        value: Any = "bottom"
        for _ in range(60):
            value = [{"deeper": value}]
        session = Session.fresh("s1")
        session.data = {"v": value}
        assert (await self.kept(store, session)).data == session.data

    async def test_the_order_of_claims(self, store: Store) -> None:
        """The claims of a flow that may start again and again come back with their dates, in their order where
        the backend keeps it: which one is the oldest goes by the dates first (P-18, B-10.5)."""
        session = Session.fresh("s1")
        session.claims = {
            f"f:s1:{key}": Claim(at=NOW[:-4] + f"{at:03}Z") for at, key in enumerate(["zz", "b", "aaa", "c"])
        }
        loaded = await self.kept(store, session)
        assert loaded.claims == session.claims
        assert list(loaded.claims) == list(session.claims) or not self.keeps_order
