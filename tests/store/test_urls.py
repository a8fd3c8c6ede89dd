from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from falai.session.model import Session
from falai.store import MemoryStore, SQLiteStore, Store, store_from_url


async def _used(store: Store) -> list[str]:
    """Saves a session and lists what is there."""
    async with store:
        await store.save(Session.fresh("s1"), 0)
        return [session.id for session in (await store.scan()).sessions]


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("sqlite:///a.db", "a.db"),
        ("sqlite:///sub/a%20b", "sub/a b"),
        ("sqlite:///{here}/abs.db", "abs.db"),
        ("SQLite:///upper.db", "upper.db"),
        ("bare.db", "bare.db"),
        ("./sub/bare.sqlite", "sub/bare.sqlite"),
        ("{here}/bare.sqlite3", "bare.sqlite3"),
    ],
)
async def test_files(url: str, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three slashes and a relative path, four and an absolute one, or a path that says what it is by its end."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    store = store_from_url(url.format(here=tmp_path))
    assert isinstance(store, SQLiteStore)
    assert not (tmp_path / file).exists()  # nothing is opened before the store is used
    assert await _used(store) == ["s1"]
    assert (tmp_path / file).exists()


@pytest.mark.parametrize("url", ["sqlite://:memory:", "sqlite:///:memory:", "memory:", "memory://"])
async def test_nothing_on_disk(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store in memory, of either kind."""
    monkeypatch.chdir(tmp_path)
    store = store_from_url(url)
    assert isinstance(store, MemoryStore if url[0] == "m" else SQLiteStore)
    assert await _used(store) == ["s1"]
    assert list(tmp_path.iterdir()) == []


async def test_options(tmp_path: Path) -> None:
    """Options of the store stand behind the `?`, or are given by keyword, which wins."""
    path = tmp_path / "a.db"
    now = datetime(2026, 9, 20, 10, tzinfo=UTC)
    assert await _used(store_from_url(f"sqlite:///{path}?table=one", clock=lambda: now)) == ["s1"]
    assert await _used(store_from_url(f"sqlite:///{path}?table=one", table="two")) == ["s1"]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT created_at FROM one").fetchall() == [("2026-09-20T10:00:00.000Z",)]
        assert db.execute("SELECT id FROM two").fetchall() == [("s1",)]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("", "begins with a scheme"),
        ("sessions", "begins with a scheme"),
        ("ftp://host/x", "scheme ftp"),
        ("sqlite:", "sqlite:///relative.db"),
        ("sqlite://", "sqlite:///relative.db"),
        ("sqlite:///", "sqlite:///relative.db"),
        ("sqlite://relative.db", "sqlite:///relative.db"),
        ("sqlite://host/relative.db", "sqlite:///relative.db"),
        ("sqlite:///a.db?mode=ro", "only option is .table="),
        ("sqlite:///a.db?table=a b", "table is"),
        ("memory://host", "memory:"),
        ("memory:?table=x", "memory:"),
    ],
)
def test_what_names_no_store(url: str, words: str) -> None:
    """It is a `ValueError` that says what would be one."""
    with pytest.raises(ValueError, match=words):
        store_from_url(url)


def test_an_unknown_scheme_hears_the_known_ones() -> None:
    """Each scheme is named, and never the URL, which may hold a password."""
    with pytest.raises(ValueError, match=r"memory.*sqlite") as caught:
        store_from_url("ftp://ana:geheim@host")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    "scheme", ["redis", "rediss", "unix", "postgresql", "mongodb", "opensearch", "mysql+asyncmy", "sqlite+aiosqlite"]
)
@pytest.mark.parametrize("rest", ["ana:geheim@host/1", "/ana:geheim@host/1"])
def test_a_url_whose_slashes_are_forgotten(scheme: str, rest: str) -> None:
    """It is refused without its password, and not taken for a server on this machine."""
    with pytest.raises(ValueError, match=re.escape(f"begins with {scheme}://")) as caught:
        store_from_url(f"{scheme}:{rest}")
    assert "geheim" not in str(caught.value)


def test_an_option_that_no_store_has() -> None:
    """A keyword that the store does not take is refused as any other call's."""
    options: dict[str, Any] = {"colour": "red"}
    with pytest.raises(TypeError, match="colour"):
        store_from_url("sqlite:///a.db", **options)
