"""`falai serve` as it is started for real: who gets in, where it listens, how it ends."""

from __future__ import annotations

import re
import signal
import socket
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest

from cli.program import AGENTS, PATIENCE, command
from cli.serving import Serving, ended, serving
from host.ledger.ledgers import postgres_url

TICK = AGENTS / "timers.py"
TOKEN = r"(falai_[0-9a-f]{12}_[\w-]{43})"


def send(server: Serving, token: str, id: str = "m1", **more: Any) -> httpx2.Response:
    return httpx2.post(
        f"{server.url}/v1/sessions/s1/messages",
        headers={"Authorization": f"Bearer {token}"},
        json={"id": id, "text": "hello, I want a reminder"},
        timeout=PATIENCE,
        **more,
    )


def texts(answer: httpx2.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [message["text"] for message in answer.json()["messages"]]


# --- who gets in -----------------------------------------------------------------------------


def test_a_token_for_this_run(tmp_path: Path) -> None:
    """On loopback, where the store has none: printed once, in no log, and no more after the run."""
    with serving("serve", TICK, "--port", "0", folder=tmp_path) as server:
        token = server.wait_for(TOKEN)
        assert texts(send(server, token)) == ["I will come back."]
        assert send(server, token[:-1]).status_code == 401
        assert server.ended() == 0
        assert (server.out.count(token), token[19:] in server.err) == (1, False)
    assert "there is no token" in command("token", "list", tmp_path / "falai.db").out
    with serving("serve", TICK, "--port", "0", folder=tmp_path) as again:
        assert again.wait_for(TOKEN) != token
        assert send(again, token, "m2").status_code == 401


def test_a_token_of_the_store(tmp_path: Path) -> None:
    """Then none is made for the run; one that is made or revoked meanwhile counts too."""
    store, make = tmp_path / "falai.db", ("--name", "shop", "--scope", "chat")
    first = command("token", "create", store, *make).out.strip()
    with serving("serve", TICK, "--port", "0", folder=tmp_path) as server:
        assert texts(send(server, first)) == ["I will come back."]
        assert "token" not in server.out
        second = command("token", "create", store, *make).out.strip()
        assert send(server, second, "m2").status_code == 200
        assert command("token", "revoke", store, second.split("_")[1]).code == 0
        assert closed_within_five_seconds(server, second)
        assert send(server, first, "m3").status_code == 200


def test_nobody_listens_beyond_this_machine_without_a_token(tmp_path: Path) -> None:
    """The refusal says why, and which command makes one; with one it begins."""
    for host in ("0.0.0.0", "::"):
        code, err = ended("serve", TICK, "--host", host, "--port", "0", folder=tmp_path)
        assert code == 2
        assert f"it is {host}" in err
        assert "falai token create STORE --name NAME --scope chat" in err
    made = command("token", "create", tmp_path / "falai.db", "--name", "shop", "--scope", "chat")
    with serving("serve", TICK, "--host", "0.0.0.0", "--port", "0", folder=tmp_path) as server:
        port = server.url.rpartition(":")[2]
        url = f"http://127.0.0.1:{port}/v1/sessions/s1/messages"
        asked = {"headers": {"Authorization": f"Bearer {made.out.strip()}"}, "json": {"id": "m1", "text": "hello"}}
        assert httpx2.post(url, **asked, timeout=PATIENCE).status_code == 200  # type: ignore[arg-type]


def closed_within_five_seconds(server: Serving, token: str) -> bool:
    for _ in range(100):
        if send(server, token).status_code == 401:
            return True
        time.sleep(0.05)
    return False


@pytest.mark.servers
def test_two_processes_on_one_database(tmp_path: Path, postgres_server: Any, place: str) -> None:
    """A token of the store opens both, and a message that came to one is known to the other; revoked, it opens none."""
    store = postgres_url(postgres_server, place)
    token = command("token", "create", store, "--name", "shop", "--scope", "chat").out.strip()
    options = (TICK, "--store", store, "--port", "0")
    with serving("serve", *options, folder=tmp_path) as one, serving("serve", *options, folder=tmp_path) as other:
        assert texts(send(one, token)) == ["I will come back."]
        assert texts(send(other, token)) == ["I will come back."]
        assert send(other, token).json()["new"] is False
        command("token", "revoke", store, token.split("_")[1])
        assert closed_within_five_seconds(one, token)
        assert closed_within_five_seconds(other, token)
        assert (one.ended(), other.ended()) == (0, 0)


def test_an_expired_token_is_none(tmp_path: Path) -> None:
    """A store with nothing but that has no token."""
    command("token", "create", tmp_path / "falai.db", "--name", "shop", "--scope", "chat", "--expires", "0s")
    assert ended("serve", TICK, "--host", "0.0.0.0", "--port", "0", folder=tmp_path)[0] == 2


# --- settings --------------------------------------------------------------------------------


def test_settings_of_the_file_and_the_environment(tmp_path: Path) -> None:
    """A table of falai.toml, which `falai run` reads past; variables over it, the command line over these."""
    (tmp_path / "falai.toml").write_text(
        'agent = "nowhere.py"\n[web]\nhosts = ["shop.example"]\nport = 1\nmax_body = 100\n'
    )
    with serving("serve", TICK, "--port", "0", folder=tmp_path, env={"FALAI_WEB__MAX_BODY": "50"}) as server:
        token = server.wait_for(TOKEN)
        live = f"{server.url}/v1/health/live"
        said = [httpx2.get(live, headers={"Host": host}).status_code for host in ("shop.example", "evil.example")]
        assert said == [200, 421]
        assert send(server, token, "m" * 30).status_code == 413
    assert ended("run", TICK, "--check", folder=tmp_path)[0] == 0


def test_channels_and_pages(tmp_path: Path) -> None:
    """A vendor reaches its channel, proved by its signature; a page beside it has a channel that sends nothing."""
    channel = '[channels.shop]\nkind = "webhook"\nurl = "http://127.0.0.1:9/"\nsecret = { env = "SHOP" }\n'
    (tmp_path / "falai.toml").write_text(channel)
    secret = "a-secret-of-sixteen-bytes-or-more"
    with serving("serve", TICK, "--port", "0", folder=tmp_path, env={"SHOP": secret}) as server:
        token = server.wait_for(TOKEN)
        webhook = f"{server.url}/v1/channels/shop/webhook"
        answer = httpx2.post(webhook, json={}, headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["code"]) == (401, "bad-signature")
        body = {"id": "m1", "text": "hello, I want a reminder", "channel": "page"}
        headers = {"Authorization": f"Bearer {token}"}
        said = httpx2.post(f"{server.url}/v1/sessions/s1/messages", json=body, headers=headers, timeout=PATIENCE)
        assert texts(said) == ["I will come back."]
        assert server.ended() == 0
        assert "message.failed" not in server.err
        assert secret not in server.err


def test_every_mistake_is_named_at_once(tmp_path: Path) -> None:
    """Each with its place, before anything is opened."""
    (tmp_path / "falai.toml").write_text('[web]\nhosts = ["http://a"]\norigins = "https://a"\nrat = "1 in 1s"\n')
    more = {"FALAI_WEB__RATE": "often", "FALAI_WEB__PROXIES": "10.0.0.1, x"}
    code, err = ended("serve", "--port", "http", folder=tmp_path, env=more)
    assert code == 2
    for place in ("web.hosts: hosts[0]", "web.origins: it is", "web.rat: there is no such", "FALAI_WEB__RATE: rate is",
                  "FALAI_WEB__PROXIES: proxies[1]", "--port: it is", "agent: no agent"):  # fmt: skip
        assert place in err
    assert not (tmp_path / "falai.db").exists()


@pytest.mark.parametrize("port", ["65536", "-1", "x"])
def test_what_is_no_port(tmp_path: Path, port: str) -> None:
    """It is a number up to 65535."""
    code, err = ended("serve", TICK, f"--port={port}", "--check", folder=tmp_path)
    assert (code, "--port: " in err) == (2, True)


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    """The exit code is 1, and nothing is opened."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, err = ended("serve", TICK, "--port", str(port), folder=tmp_path)
    assert code == 1
    assert f"it cannot listen on 127.0.0.1, port {port}" in err


# --- the log and the end ---------------------------------------------------------------------


def test_no_secret_is_in_the_log(tmp_path: Path) -> None:
    """At its most talkative, whatever a request brings, and where the program itself fails."""
    env = {"FALAI_LOG__LEVEL": "debug"}
    with serving("serve", TICK, "--port", "0", folder=tmp_path, env=env) as server:
        token = server.wait_for(TOKEN)
        send(server, token)
        send(server, token[:-1])
        httpx2.get(f"{server.url}/v1/nowhere?token={token}", headers={"Cookie": f"t={token}"})
        with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as raw:
            raw.sendall(f"GET /{token} HTTP/9\r\n{token}\r\n\r\n".encode())
            raw.recv(1000)
        assert server.ended() == 0
    assert token[19:-1] not in server.err
    assert "hello, I want" not in server.err


def test_it_ends_in_good_order(tmp_path: Path) -> None:
    """A stream that is open gets its end; what was said is kept; the code is 0."""
    with serving("serve", TICK, "--port", "0", folder=tmp_path) as server:
        token = server.wait_for(TOKEN)
        assert texts(send(server, token)) == ["I will come back."]
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.stream("GET", f"{server.url}/v1/sessions/s1/stream", headers=headers, timeout=PATIENCE) as stream:
            pieces = stream.iter_text()
            assert "ready" in next(pieces)
            server.process.send_signal(signal.SIGTERM)
            assert "".join(pieces) in ("", "\n")
        assert server.ended(None) == 0
        assert re.search(r"serve\.stopping.*SIGTERM", server.err)
        assert "serve.stopped" in server.err
        assert "ERROR" not in server.err


def test_a_keyboard_ends_it_too(tmp_path: Path) -> None:
    """With Ctrl-C."""
    with serving("serve", TICK, "--port", "0", folder=tmp_path) as server:
        server.wait_for(TOKEN)
        assert server.ended(signal.SIGINT) == 0


def test_one_host_for_a_file(tmp_path: Path) -> None:
    """A second one is refused."""
    with serving("serve", TICK, "--port", "0", folder=tmp_path) as server:
        server.wait_for(TOKEN)
        code, err = ended("serve", TICK, "--port", "0", folder=tmp_path)
        assert (code, "in use" in err) == (1, True)
