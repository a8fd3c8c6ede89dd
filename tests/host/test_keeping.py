"""What is kept, how long, and what can be seen of it; attachments; requests of channels."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from falai import Agent, Flow, Message, OnAnyMessage, Say, Wait
from falai.channel import Attachment, BadSignatureError, Incoming, Receipt
from falai.host import Host, HostBusyError, Keep, Settings
from falai.host.ledger.sqlite import SQLiteLedger
from falai.testing import Clock
from host.stage import FLOWS, Echo, Home, Wire, echo, hosted

WAITS = Flow("waits", on=[OnAnyMessage()], steps=[Say("a", "secret words"), Wait("pause", "9d"), Say("b", "more")])


async def test_erasure_covers_everything(home: Home) -> None:
    """After `erase` no table knows the session; the others are as they were."""
    async with hosted(echo(flows=[WAITS]), home, channel=Wire()) as host:
        for session in ("gone", "stays"):
            await host.receive(session, Message(f"I am {session}", id="m1"), customer=f"c-{session}")
        await host.drained()
        assert await host.erase("gone")
        assert not await host.erase("gone")
        assert await host.look("gone") is None
        assert await host.look("stays") is not None
    assert "gone" not in await home.words()
    assert "I am stays" in await home.words()


async def test_erasure_of_a_customer(home: Home) -> None:
    """All sessions of a customer go, and their opt-out."""
    settings = Settings(opt_outs=("stop",))
    async with hosted(echo(flows=[WAITS]), home, channel=Wire(), settings=settings) as host:
        await host.receive("s1", Message("stop", id="m1"), customer="bo-27")
        await host.receive("s2", Message("hello", id="m1"), customer="bo-27")
        await host.receive("s3", Message("hello", id="m1"), customer="cy-28")
        await host.drained()
        assert await host.erase_customer("bo-27") == ("s1", "s2")
        assert await host.erase_customer("bo-27") == ()
    assert "bo-27" not in await home.words()
    assert "cy-28" in await home.words()


async def test_what_is_kept_how_long(home: Home) -> None:
    """What the settings keep no longer goes; keys stay, so that a repeated delivery is known still."""
    clock = Clock()
    settings = Settings(keep=Keep(inputs="1d", messages="1d", transcript="2d", log="1d"))
    async with hosted(echo(clock=clock), home, channel=Wire(), settings=settings) as host:
        await host.receive("s1", Message("secret words", id="m1"))
        await host.drained()
        clock.advance("36h")
        await host.sweep()
        look = await host.look("s1")
        assert look is not None
        assert (len(look.transcript), look.log, look.outbox) == (2, (), ())
        clock.advance("1d")
        await host.sweep()
        assert not (await host.receive("s1", Message("secret words", id="m1"))).new
    assert "secret words" not in await home.words()


async def test_what_waits_is_never_swept(home: Home) -> None:
    """However old: timers, inputs and messages that wait stay."""
    clock, wire = Clock(), Wire()
    settings = Settings(keep=Keep(inputs="1s", messages="1s", transcript="1s", log="1s", dead="1s"))
    async with hosted(echo(clock=clock, flows=[WAITS]), home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
        clock.advance("8d")
        await host.sweep()
        clock.advance("1d")
        await host.drained()
    assert wire.texts == ["secret words", "more"]


async def test_looking(home: Home) -> None:
    """A look shows the session, its runs and timers, what was said and what it led to; the status counts."""
    async with hosted(echo(flows=[WAITS]), home, channel=Wire()) as host:
        await host.receive("s1", Message("hello", id="m1"), customer="c1", channel="wire", address="a1")
        await host.drained()
        look, status = await host.look("s1"), await host.status()
    assert look is not None
    assert look.session is not None
    assert [run.flow_id for run in look.runs] == ["waits"]
    assert [wake.key for wake in look.wakes] == [look.runs[0].waiting.key]  # type: ignore[union-attr]
    assert (look.row.customer, look.row.channel, look.row.address) == ("c1", "wire", "a1")
    assert [(row.role, row.text) for row in look.transcript] == [("assistant", "secret words"), ("user", "hello")]
    assert [(row.state, row.provider_id) for row in look.outbox] == [("sent", "vendor-1")]
    assert '"flowId":"waits"' in look.log[0].log
    assert (status.inputs, status.messages, status.wakes_due, status.dead) == (0, 0, 0, 0)


async def test_a_second_host_on_the_same_file_is_refused(tmp_path: Path) -> None:
    """Two hosts would play the same inputs."""
    file = tmp_path / "falai.db"
    async with Host(echo(), file):
        with pytest.raises(HostBusyError, match="another host runs on it"):
            async with Host(echo(), file):
                pass
        (tmp_path / "link.db").symlink_to(file)
        with pytest.raises(HostBusyError, match=r"link\.db is in use"):
            async with Host(echo(), tmp_path / "link.db"):
                pass
    async with Host(echo(), file):
        pass


@pytest.mark.parametrize("store", ["", "sqlite:///", "mysql://localhost/x", "sqlite://falai.db"])
def test_a_store_that_keeps_nothing_is_refused(store: str) -> None:
    """Another database, and no file at all, in which SQLite would forget everything at the end."""
    with pytest.raises(ValueError, match="write a file of SQLite, or a postgresql:// URL"):
        Host(echo(), store)


async def test_a_host_runs_once_at_a_time(home: Home) -> None:
    """Entered within itself it says so, and the one that runs goes on."""
    async with hosted(echo(), home) as host:
        with pytest.raises(RuntimeError, match="the host runs already"):
            await host.__aenter__()
        assert [message.text for message in await host.ask("s1", Message("hello", id="m1"))] == ["re: hello"]


async def test_two_hosts_need_two_ledgers(tmp_path: Path) -> None:
    """A second host on the same `Ledger` is refused, and the first goes on."""
    ledger = SQLiteLedger(tmp_path / "falai.db")
    async with Host(echo(), ledger) as host:
        with pytest.raises(RuntimeError, match="the ledger is open already"):
            async with Host(echo(), ledger):
                pass
        assert [message.text for message in await host.ask("s1", Message("hello", id="m1"))] == ["re: hello"]


async def test_a_channel_that_does_not_close_leaves_the_store_free(tmp_path: Path) -> None:
    """The end of a host closes the other channels and the store, whatever one of them raises; then it is told."""

    class Stuck(Wire):
        closed = False

        async def aclose(self) -> None:
            self.closed = True
            raise OSError("the connection was gone")

    stuck = {name: Stuck(name) for name in ("a", "b")}
    with pytest.raises(OSError, match="the connection was gone"):
        async with Host(echo(), tmp_path / "falai.db", channel=stuck):
            pass
    assert [wire.closed for wire in stuck.values()] == [True, True]
    async with Host(echo(), tmp_path / "falai.db"):
        pass


# --- attachments ---------------------------------------------------------------------------------


async def test_attachments_reach_the_context(home: Home) -> None:
    """A turn reads the words that stand for an attachment; the attachment itself is on the `Turning`."""
    seen: list[Any] = []
    wire = Wire()
    async with hosted(echo(), home, channel=wire, context=seen.append) as host:
        voice = Attachment("voice", url="https://example.org/1.ogg", mime="audio/ogg")
        await host.receive("s1", Message("", id="m1"), attachments=[voice])
        await host.receive("s1", Message("look", id="m2"), attachments=[Attachment("image", caption="a cat")])
        await host.drained()
    assert wire.texts == ["re: [voice]", "re: look"]
    assert seen[0].attachments == [voice]


@pytest.mark.parametrize(
    "wrong", ["photo.jpg", [None], [Attachment(cast(Any, "gif"))], [Attachment("image", data={"at": object()})]]
)
async def test_what_is_no_attachment_is_refused(home: Home, wrong: Any) -> None:
    """At once, and not when its turn is read."""
    async with hosted(echo(), home) as host:
        with pytest.raises(ValueError, match=r"^attachments: "):
            await host.receive("s1", Message("", id="m1"), attachments=wrong)
        assert await host.look("s1") is None


@pytest.mark.parametrize("name", ["customer", "channel", "address", "tenant"])
async def test_whose_an_input_is_is_said_in_texts(home: Home, name: str) -> None:
    """A number of a database is refused, and a blank tenant is not the default one."""
    async with hosted(echo(), home) as host:
        with pytest.raises(ValueError, match=rf"^{name}: 27 was given, a text "):
            await host.receive("s1", "hello", **{name: cast(Any, 27)})
        with pytest.raises(ValueError, match=r"^tenant: "):
            await host.erase_customer("c1", tenant="")


async def test_the_text_that_stands_for_an_attachment(home: Home) -> None:
    """`describe` says it; where it says nothing there is no turn, and the transcript notes what came."""
    wire, model = Wire(), Echo()
    settings = Settings(describe=lambda a: f"sent a {a.kind}" if a.kind != "sticker" else None)
    async with hosted(echo(model), home, channel=wire, settings=settings) as host:
        await host.receive("s1", Message("", id="m1"), attachments=[Attachment("sticker"), Attachment("location")])
        await host.receive("s1", Message("", id="m2"), attachments=[Attachment("sticker")])
        assert await host.ask("s1", Message("", id="m3"), attachments=[Attachment("sticker")]) == ()
        await host.drained()
        look = await host.look("s1")
    assert wire.texts == ["re: sent a location"]
    assert len(model.asked) == 1
    assert look is not None
    assert [row.role for row in look.transcript] == ["note", "note", "assistant", "user"]
    assert look.transcript[0].data == '[{"kind":"sticker"}]'


async def test_an_empty_message_is_a_message(home: Home) -> None:
    """Without attachments an empty text is what was written."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        await host.receive("s1", Message("", id="m1"))
        await host.drained()
    assert wire.texts == ["re: "]


# --- requests of a channel -----------------------------------------------------------------------


class Signed(Wire):
    """Its requests are lines `address|id|text`, or `receipt|provider id|status`, signed with a secret."""

    def verify(self, headers: Mapping[str, str], body: bytes) -> None:
        if headers.get("sign") != sign(body):
            raise BadSignatureError(self.name, "the signature is another")

    def parse(self, headers: Mapping[str, str], body: bytes) -> Sequence[Incoming | Receipt]:
        found: list[Incoming | Receipt] = []
        for first, second, third in (line.split("|") for line in body.decode().splitlines()):
            at = datetime(2026, 9, 20, 9, tzinfo=UTC)
            found.append(Receipt(second, "read", at) if first == "receipt" else Incoming(first, second, third, at))
        return found


def sign(body: bytes) -> str:
    return hmac.new(b"secret", body, hashlib.sha256).hexdigest()


async def test_requests_of_a_channel(home: Home) -> None:
    """Messages go to the session of their address, answers go back there, receipts are noted, forgeries refused."""
    wire, clock = Signed(), Clock()
    async with hosted(echo(clock=clock), home, channel=wire) as host:
        body = b"+55|w1|hello\n+66|w2|good day"
        received = await host.take("wire", {"sign": sign(body)}, body)
        assert [one.new for one in received] == [True, True]
        assert [one.new for one in await host.take("wire", {"sign": sign(body)}, body)] == [False, False]
        await host.drained()
        assert sorted((out.address, out.text) for out in wire.sent) == [("+55", "re: hello"), ("+66", "re: good day")]
        receipt = b"receipt|vendor-1|read"
        await host.take("wire", {"sign": sign(receipt)}, receipt)
        look = await host.look(f"wire:{wire.sent[0].address}")
        assert look is not None
        assert look.outbox[0].status == "read"
        with pytest.raises(BadSignatureError):
            await host.take("wire", {"sign": "forged"}, body)
        with pytest.raises(KeyError):
            await host.take("other", {}, body)


# --- settings ------------------------------------------------------------------------------------


def test_settings_say_all_that_is_wrong() -> None:
    """Every wrong setting is named at once."""
    with pytest.raises(ValueError, match="session_limit is 0; at_once is true"):
        Settings(session_limit=0, at_once=True)
    with pytest.raises(ValueError, match=r'burst is "soon"; retries\[1\] is "late"\. Write 30s'):
        Settings(burst="soon", retries=("1s", "late"))
    with pytest.raises(ValueError, match=r'Keep: log is "always". Write .*, or "forever"'):
        Keep(log="always")
    with pytest.raises(ValueError, match="opt-out word"):
        Settings(opt_outs=("...",))
    with pytest.raises(ValueError, match=r'retries is "1s"; opt_outs is "stop"\. Write a list of texts'):
        Settings(retries="1s", opt_outs="stop")  # a text is a sequence of texts, each a letter


async def test_agents_are_apart(home: Home) -> None:
    """Two agents in one file know nothing of one another."""
    async with hosted(echo(), home) as host:
        await host.ask("s1", Message("hello", id="m1"))
    async with hosted(Agent[Any](name="Bo", model=Echo(), flows=FLOWS), home) as host:
        assert await host.look("s1") is None
        assert (await host.receive("s1", Message("hello", id="m1"))).new
        await host.drained()
