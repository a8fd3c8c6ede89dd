"""What comes in: durable, once, in order, and never more than there is room for."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from falai import Event, Flow, Message, OnEvent, Say, Start, Wake
from falai.channel import Attachment
from falai.host import Host, OverloadedError, Settings
from falai.testing import Clock
from host.stage import FLOWS, Echo, Home, Wire, alone, echo, hosted, until


async def test_a_message_is_answered(home: Home) -> None:
    """What comes in is played, and what the turn says goes out by the channel, with the address."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        received = await host.receive("s1", Message("hello", id="m1"), address="+55 11")
        await host.drained()
        assert received == type(received)("message:m1", True)
        assert [(out.text, out.address, out.session) for out in wire.sent] == [("re: hello", "+55 11", "s1")]


async def test_a_second_delivery_is_dropped(home: Home) -> None:
    """A known id starts nothing, whether the first was played already or not, and after a restart too."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        assert (await host.receive("s1", Message("hello", id="m1"))).new
        assert not (await host.receive("s1", Message("hello", id="m1"))).new
        await host.drained()
        assert not (await host.receive("s1", Message("hello", id="m1"))).new
    async with hosted(echo(), home, channel=wire) as host:
        assert not (await host.receive("s1", Message("hello", id="m1"))).new
        await host.drained()
    assert wire.texts == ["re: hello"]


async def test_deliveries_at_the_same_time_are_one(home: Home) -> None:
    """Of many deliveries of one message at once, one is new, and the customer has one answer."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        received = await asyncio.gather(*(host.receive("s1", Message("hello", id="m1")) for _ in range(20)))
        await host.drained()
    assert [one.new for one in received].count(True) == 1
    assert wire.texts == ["re: hello"]


async def test_the_same_id_in_two_sessions_and_of_two_kinds(home: Home) -> None:
    """Ids name inputs within a session and a kind only."""
    told = Flow("told", on=[OnEvent("paid")], steps=[Say("thanks", "Thank you.")])
    agent = echo(flows=[told, *FLOWS], events={"paid": {}})
    wire = Wire()
    async with hosted(agent, home, channel=wire) as host:
        for session in ("s1", "s2"):
            assert (await host.receive(session, Message("hello", id="k"))).new
            assert (await host.receive(session, Event("paid", key="k"))).new
            assert (await host.receive(session, Start("answer", key="k"))).new
        await host.drained()
        look = await host.look("s1")
        assert look is not None
        assert len(look.log) == 3


async def test_messages_of_a_session_are_played_in_order(home: Home) -> None:
    """Twenty messages that arrive while the first is played are answered in the order in which they came."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        for n in range(20):
            await host.receive("s1", Message(f"{n}", id=f"m{n}"))
        await host.drained()
    assert wire.texts == [f"re: {n}" for n in range(20)]


async def test_two_messages_at_nearly_the_same_time(home: Home) -> None:
    """Two messages 20 ms apart, the first still being played: both are answered, each is in the history once."""
    wire, gate = Wire(), asyncio.Event()

    async def slowly(_: object) -> None:
        await gate.wait()

    async with hosted(echo(Echo(slowly)), home, channel=wire) as host:
        await host.receive("s1", Message("a haircut", id="m1"))
        await asyncio.sleep(0.02)
        await host.receive("s1", Message("tomorrow at 3", id="m2"))
        gate.set()
        await host.drained()
        look = await host.look("s1")
    assert wire.texts == ["re: a haircut", "re: tomorrow at 3"]
    assert look is not None
    assert [row.text for row in reversed(look.transcript)] == [
        "a haircut", "re: a haircut", "tomorrow at 3", "re: tomorrow at 3",
    ]  # fmt: skip


async def test_a_slow_session_holds_up_no_other(home: Home) -> None:
    """While one session's model does not answer, the others are answered."""
    wire, gate = Wire(), asyncio.Event()

    async def slow_for_one(request: object) -> None:
        if getattr(request, "task").text == "slow":  # noqa: B009 - the request is any object here
            await gate.wait()

    async with hosted(echo(Echo(slow_for_one)), home, channel=wire) as host:
        await host.receive("slow", Message("slow", id="m1"))
        for n in range(50):
            await host.receive(f"s{n}", Message("quick", id="m1"))
        await until(lambda: len(wire.sent) == 50)
        assert wire.said("slow") == []
        gate.set()
        await host.drained()
    assert wire.said("slow") == ["re: slow"]


@alone
async def test_what_is_in_flight_is_bounded(home: Home) -> None:
    """However many sessions have something to do, no more than `at_once` turns are played at a time."""
    gate, model, wire = asyncio.Event(), Echo(), Wire()

    async def wait(_: object) -> None:
        await gate.wait()

    model.before = wait
    async with hosted(echo(model), home, channel=wire, settings=Settings(at_once=3)) as host:
        for n in range(30):
            await host.receive(f"s{n}", Message("hello", id="m1"))
        await until(lambda: len(model.asked) == 3)
        assert (await host.status()).turns == 3
        assert len(model.asked) == 3
        gate.set()
        await host.drained()
    assert len(wire.sent) == 30


async def test_more_places_than_the_queue_holds(tmp_path: Path) -> None:
    """What finds no room in the queue is found again in the ledger."""
    wire = Wire()
    async with Host(echo(), tmp_path / "falai.db", channel=wire) as host:
        await asyncio.gather(*(host.receive(f"s{n}", Message("hello", id="m1")) for n in range(1500)))
        await host.drained()
    assert len(wire.sent) == 1500


async def test_a_full_inbox_refuses(home: Home) -> None:
    """A session with too many waiting inputs, and a host with too many, refuse clearly; nothing was kept."""
    gate = asyncio.Event()

    async def wait(_: object) -> None:
        await gate.wait()

    settings, wire = Settings(session_limit=2, host_limit=3), Wire()
    async with hosted(echo(Echo(wait)), home, settings=settings, channel=wire) as host:
        await host.receive("s1", Message("1", id="m1"))
        await host.receive("s1", Message("2", id="m2"))
        with pytest.raises(OverloadedError, match='session "s1" has 2 inputs waiting') as refused:
            await host.receive("s1", Message("3", id="m3"))
        assert (refused.value.scope, refused.value.retryable) == ("session", True)
        assert refused.value.retry_after_ms > 0
        assert not (await host.receive("s1", Message("2", id="m2"))).new  # what is known is no burden
        await host.receive("s2", Message("1", id="m1"))
        with pytest.raises(OverloadedError, match="the host has 3 inputs waiting"):
            await host.receive("s3", Message("1", id="m1"))
        gate.set()
        await host.drained()
        assert (await host.receive("s1", Message("3", id="m3"))).new
        await host.drained()
    assert wire.said("s1") == ["re: 1", "re: 2", "re: 3"]


async def test_a_host_that_counts_rarely_keeps_its_limit(home: Home) -> None:
    """As many are taken in as the settings say, not one more, though not all are counted each time."""
    never = asyncio.Event()

    async def wait(_: object) -> None:
        await never.wait()

    settings = Settings(host_limit=45, grace="0s")
    async with hosted(echo(Echo(wait)), home, settings=settings, channel=Wire()) as host:
        for number in range(45):
            await host.receive(f"s{number}", Message("hello", id="m1"))
        for number in range(45, 48):
            with pytest.raises(OverloadedError, match="the host has 45 inputs waiting"):
                await host.receive(f"s{number}", Message("hello", id="m1"))
        assert (await host.status()).inputs == 45


async def test_what_was_taken_in_is_played_after_a_restart(home: Home) -> None:
    """An input that had no turn when the host ended has it when it begins again."""
    wire, never = Wire(), asyncio.Event()

    async def wait(_: object) -> None:
        await never.wait()

    async with hosted(echo(Echo(wait)), home, channel=wire, settings=Settings(grace="0s")) as host:
        await host.receive("s1", Message("hello", id="m1"))
    assert wire.sent == []
    async with hosted(echo(), home, channel=wire) as host:
        await host.drained()
    assert wire.texts == ["re: hello"]


@pytest.mark.parametrize(
    ("input", "told"),
    [
        (Message(7), "message: 7 was given"),  # type: ignore[arg-type]
        (Event("paid", key=" "), "key"),
        (Wake("w"), "a wake comes from the host's own timers"),
        ({"message": "a", "event": "b"}, "exactly one of"),
    ],
)
async def test_what_is_no_input_is_refused(home: Home, input: object, told: str) -> None:
    """It says so to the caller, and nothing is in the inbox."""
    async with hosted(echo(), home) as host:
        with pytest.raises(ValueError, match=told):
            await host.receive("s1", input)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="attachments come with a message"):
            await host.receive("s1", Start("answer", key="k"), attachments=[Attachment("image")])
        assert await host.look("s1") is None


async def test_what_no_index_has_room_for_is_refused(home: Home) -> None:
    """It would be an error of the database at each try; what is found by its id has 512 bytes at the most."""
    long = "é" * 257
    async with hosted(echo(), home) as host:
        for more in ({"customer": long}, {"channel": long}, {"address": long}, {"tenant": long}):
            with pytest.raises(ValueError, match=r"has 514 bytes, and may have 512"):
                await host.receive("s1", Message("hello"), **more)
        with pytest.raises(ValueError, match="sessionId has 514 bytes"):
            await host.receive(long, Message("hello"))
        with pytest.raises(ValueError, match="the key of this message has 522 bytes"):
            await host.receive("s1", Message("hello", id=long))
        assert (await host.receive("s" * 512, Message("hello", id="m" * 500), customer="c" * 512)).new


@pytest.mark.parametrize("id", ["\0", "a\0b"])
async def test_an_id_that_not_every_database_can_keep_is_refused(home: Home, id: str) -> None:
    """PostgreSQL would keep it without its NUL: two ids would be one row, and a session of none could have no turn."""
    async with hosted(echo(), home) as host:
        with pytest.raises(ValueError, match=r"sessionId has the character U\+0000"):
            await host.receive(id, Message("hello"))
        with pytest.raises(ValueError, match=r"tenant has the character U\+0000"):
            await host.receive("s1", Message("hello"), tenant=id)
        with pytest.raises(ValueError, match=r"the key of this message has the character U\+0000"):
            await host.receive("s1", Message("hello", id=id))


async def test_a_message_without_an_id_is_a_new_one(home: Home) -> None:
    """It gets an id of the host's for good: a repetition of its turn makes the same keys."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        first, second = await host.receive("s1", "hello"), await host.receive("s1", "hello")
        await host.drained()
    assert first.key != second.key
    assert wire.texts == ["re: hello", "re: hello"]


async def test_a_message_of_the_future_was_written_now(home: Home) -> None:
    """A clock that goes ahead elsewhere does not make a customer write in the future."""
    clock = Clock("2026-01-01T00:00:00.000Z")
    async with hosted(echo(clock=clock), home) as host:
        await host.receive("s1", Message("hello", id="m1", at="2030-01-01T00:00:00.000Z"))
        await host.receive("s2", Message("hello", id="m1", at="2025-12-31T23:59:00.000Z"))
        await host.drained()
        first, second = await host.look("s1"), await host.look("s2")
    assert first is not None
    assert first.session is not None
    assert second is not None
    assert second.session is not None
    assert first.session.last_user_at == "2026-01-01T00:00:00.000Z"
    assert second.session.last_user_at == "2025-12-31T23:59:00.000Z"


async def test_a_host_that_does_not_run_takes_nothing_in(home: Home) -> None:
    """Outside of its context manager a host says what to do."""
    async with hosted(echo(), home) as host:
        pass
    with pytest.raises(RuntimeError, match="use it within `async with host:`"):
        await host.receive("s1", "hello")


async def test_a_file_of_sqlite(tmp_path: Path) -> None:
    """`store` is a path or a URL of SQLite, or a ledger, as in the other tests."""
    for store in (tmp_path / "a.db", str(tmp_path / "b.db"), f"sqlite:///{tmp_path}/c.db"):
        async with Host(echo(), store) as host:
            assert len(await host.ask("s1", "hello")) == 1
    assert sorted(file.name for file in tmp_path.glob("*.db")) == ["a.db", "b.db", "c.db"]


async def test_tenants_are_apart(home: Home) -> None:
    """The same session id of two tenants is two sessions."""
    wire = Wire()
    async with hosted(echo(), home, channel=wire) as host:
        assert (await host.receive("s1", Message("a", id="m1"), tenant="x")).new
        assert (await host.receive("s1", Message("b", id="m1"), tenant="y")).new
        await host.drained()
        assert await host.look("s1") is None
        found = await host.look("s1", tenant="x")
    assert found is not None
    assert [row.text for row in found.transcript] == ["re: a", "a"]
