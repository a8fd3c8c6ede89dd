"""`falai token`: makes, lists and revokes, on a file and on PostgreSQL, while a host may run."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from cli.program import command, falai
from falai.host.ledger.port import Ledger
from falai.host.ledger.postgres import PostgresLedger
from falai.host.ledger.sqlite import SQLiteLedger
from falai.host.ledger.tokens import list_tokens
from falai.web.access.keys import Keys
from host.ledger.ledgers import postgres_url

TOKEN = re.compile(r"falai_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.servers)])
def store(request: pytest.FixtureRequest, tmp_path: Path, place: str) -> str:
    """An empty store."""
    if request.param == "sqlite":
        return str(tmp_path / "falai.db")
    return postgres_url(request.getfixturevalue("postgres_server"), place)


@pytest.fixture
async def ledger(store: str) -> AsyncIterator[Ledger]:
    """The ledger of a host that runs on it."""
    ledger: Ledger = PostgresLedger(store) if store.startswith("postgresql://") else SQLiteLedger(store)
    await ledger.open()
    yield ledger
    await ledger.close()


def create(store: str, *more: str) -> str:
    done = falai("token", "create", store, "--name", "shop", *(more or ("--scope", "chat")))
    assert (done.code, done.out.count("\n")) == (0, 1), done.err
    return done.out.strip()


async def test_a_token_is_made_and_revoked_while_the_host_runs(ledger: Ledger, store: str) -> None:
    """The host knows it at once, with all that it was made for; once it is revoked, no more."""
    more = (
        "--scope",
        "read",
        "--scope",
        "chat",
        "--tenant",
        "acme",
        "--session",
        "s1",
        "--expires",
        "1d",
        "--agent",
        "Ana",
    )
    text = create(store, *more)
    caller = await Keys(lambda: ledger, "Ana").caller(text)
    assert caller is not None
    assert (caller.name, caller.tenant, caller.scopes, caller.session) == ("shop", "acme", {"chat", "read"}, "s1")
    assert await Keys(lambda: ledger, "Bea").caller(text) is None
    done = falai("token", "revoke", store, caller.token)
    assert (done.code, done.out) == (0, "1 revoked\n")
    assert await Keys(lambda: ledger, "Ana").caller(text) is None
    again = falai("token", "revoke", store, caller.token)
    assert (again.code, again.out) == (1, "0 revoked\n")
    assert caller.token in again.err


async def test_of_a_token_only_a_hash_is_kept(ledger: Ledger, store: str) -> None:
    """It is printed alone, once; no list shows its secret, nor the hash."""
    text = create(store)
    found = TOKEN.fullmatch(text)
    assert found is not None
    (row,) = await ledger.run(list_tokens())
    assert (row.id, found[2] in repr(row)) == (found[1], False)
    listed = falai("token", "list", store), falai("token", "list", store, "--json")
    for done in listed:
        assert found[1] in done.out
        assert found[2] not in done.out + done.err
        assert row.hash not in done.out + done.err
    (shown,) = map(json.loads, listed[1].out.splitlines())
    assert shown == {
        "id": found[1], "name": "shop", "tenant": "default", "agent": "", "session": None, "scopes": ["chat"],
        "createdAt": shown["createdAt"], "expiresAt": None, "revokedAt": None, "state": "live",
    }  # fmt: skip


def test_a_store_that_is_not_there_is_made(tmp_path: Path) -> None:
    """A token can be made before the first host runs; to look or to revoke, the store has to be there."""
    store = str(tmp_path / "new.db")
    assert command("token", "list", store).code == 2
    assert command("token", "revoke", store, "abc").code == 2
    assert not Path(store).exists()
    made = command("token", "create", store, "--name", "shop", "--scope", "chat", "--json")
    assert TOKEN.fullmatch(json.loads(made.out)["token"])
    assert made.out.count("\n") == 1
    assert command("token", "list", store).out.count("live") == 1


def test_a_file_of_another_release(tmp_path: Path) -> None:
    """Its tables are brought up to date by its host, or before a deploy, and never by the way."""
    store = tmp_path / "old.db"
    command("token", "create", store, "--name", "shop", "--scope", "chat")
    with closing(sqlite3.connect(store)) as db:
        db.execute("UPDATE falai_meta SET value = '2' WHERE name = 'schema'")
        db.commit()
    done = command("token", "create", store, "--name", "shop", "--scope", "chat")
    assert done.code == 2
    assert "falai db upgrade" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--name", "x"], "--scope"),
        (["--name", "x", "--scope", "all"], "chat, read, people, operate, flows"),
        (["--name", " ", "--scope", "chat"], "name is blank"),
        (["--name", "x", "--scope", "chat", "--session", ""], "session is blank"),
        (["--name", "x", "--scope", "chat", "--tenant", "x" * 600], "tenant has 600 bytes"),
        (["--name", "x", "--scope", "chat", "--expires", "soon"], "--expires is soon"),
        (["--scope", "chat"], "--name"),
    ],
)
def test_what_is_no_token(tmp_path: Path, arguments: list[str], words: str) -> None:
    """The exit code is 2, nothing is made, and the message says what to write."""
    done = command("token", "create", tmp_path / "falai.db", *arguments)
    assert (done.code, done.out) == (2, "")
    assert words in done.err
    assert not (tmp_path / "falai.db").exists()


def test_a_secret_is_not_taken_from_a_command_line(tmp_path: Path) -> None:
    """Others can see it there: a token is revoked by its id, and what was pasted is not shown again."""
    store = str(tmp_path / "falai.db")
    text = create(store)
    done = command("token", "revoke", store, text)
    assert done.code == 2
    assert text[19:] not in done.err


def test_no_store_of_sessions_has_tokens() -> None:
    """Only a host's database has them."""
    done = command("token", "list", "redis://localhost")
    assert done.code == 2
    assert "SQLite" in done.err


def test_an_expired_token_is_shown_as_such(tmp_path: Path) -> None:
    """And names can be read in a terminal, whatever is in them."""
    store = str(tmp_path / "falai.db")
    done = command("token", "create", store, "--name", "a\x1b[31mb", "--scope", "chat", "--expires", "0s")
    assert done.code == 0
    listed = command("token", "list", store)
    assert "expired" in listed.out
    assert "\x1b" not in listed.out
