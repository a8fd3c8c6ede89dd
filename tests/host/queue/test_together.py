"""What one process asks of another: an answer, silence, to be forgotten."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from falai import Agent, Flow, Message, OnAnyMessage, Say, Wait
from falai.host import Host, SetAsideError, Settings
from falai.host.ledger.postgres import PostgresLedger
from falai.host.queue.capping import unpark
from falai.host.queue.works import find_lost
from host.ledger.ledgers import ask, dump
from host.queue.fleet import Fleet
from host.stage import FLOWS, Echo, Wire, echo
from servers.proxy import Proxy

pytestmark = pytest.mark.servers


async def test_an_answer_of_another_process(busy: Host[None], fleet: Fleet) -> None:
    """`ask` gives what the turn said, wherever it was played, whole; and nothing for an input that had its turn."""
    await fleet.start(1)
    (said,) = await busy.ask("s1", Message("s1/hello", id="m1"))
    assert (said.text, said.kind, said.step_id, said.after_ms) == ("re: hello", "ai", "reply", 0)
    assert await busy.ask("s1", Message("s1/hello", id="m1")) == ()


async def test_an_input_that_another_process_sets_aside(url: str, busy: Host[None]) -> None:
    """Who asked is told so."""

    def no_context(_: object) -> None:
        raise ValueError("no")

    failing = Host(echo(), url, channel=Wire(), context=no_context, settings=Settings(retries=()))
    async with failing:
        with pytest.raises(SetAsideError, match="ValueError"):
            await busy.ask("s1", Message("hello", id="m1"))


@pytest.mark.faults
async def test_a_person_takes_over_from_another_process(busy: Host[None], fleet: Fleet) -> None:
    """A reply that another process is about to give is never sent, and the person's words are."""
    await fleet.start(1, model_ms=1_000)
    await fleet.bring("s1", "hello")
    await fleet.until(lambda: len(fleet.lines("begin")) == 1)
    await busy.hold("s1")
    await fleet.until(lambda: bool(fleet.lines("end")))
    await busy.human_message("s1", "I am Ana", id="h1")
    look = await busy.look("s1")
    while look is None or look.waiting or any(row.state == "new" for row in look.outbox):
        await asyncio.sleep(0.05)
        look = await busy.look("s1")
    assert fleet.said("s1") == ["I am Ana"]
    assert [row.text for row in look.transcript if row.role == "person"] == ["I am Ana"]
    assert [row.state for row in look.outbox] == ["sent"]


@pytest.mark.faults
async def test_when_the_gate_is_closed_nothing_is_under_way(busy: Host[None], fleet: Fleet) -> None:
    """`hold` waits a moment for what another process is sending: behind it nothing goes out."""
    await fleet.start(1, send_ms=300)
    await fleet.bring("s1", "hello")
    await fleet.until(lambda: len(fleet.lines("sending")) == 1)
    await busy.hold("s1")
    assert len(fleet.lines("sent")) == len(fleet.lines("sending"))


async def test_a_turn_of_an_erased_session(busy: Host[None], fleet: Fleet) -> None:
    """It does not count, wherever it is played, and no table has a word of the session."""
    await fleet.start(1, model_ms=500)
    await fleet.bring("secret", "hello")
    await fleet.until(lambda: len(fleet.lines("begin")) == 1)
    await busy.erase("secret")
    await fleet.until(lambda: len(fleet.lines("end")) == 1)
    await asyncio.sleep(0.3)
    jobs = await fleet.ledger.run(ask("SELECT args::TEXT FROM procrastinate_jobs"))
    others = await fleet.ledger.run(ask("SELECT session FROM falai_due UNION ALL SELECT session FROM falai_asked"))
    assert "secret" not in repr((await dump(fleet.ledger), jobs, others))
    assert fleet.said("secret") == []


async def test_agents_and_tenants_share_a_database(url: str) -> None:
    """A worker takes only the work of its own agent, and sessions of the same name are apart."""
    first, second = Wire(), Wire()
    one = Host(echo(), url, channel=first)
    other = Host(Agent[None](name="Bea" * 60, model=Echo(), flows=FLOWS), url, channel=second)
    async with one, other:
        await one.receive("s1", Message("a", id="m1"), tenant="x")
        await one.receive("s1", Message("b", id="m1"), tenant="y")
        await other.receive("s1", Message("c", id="m1"), tenant="x")
        await one.drained()
        await other.drained()
    assert (sorted(first.texts), second.texts) == (["re: a", "re: b"], ["re: c"])


async def test_a_database_from_before_its_queue(url: str, tmp_path: Path) -> None:
    """What waited when the first host with a queue begins is played: inputs, and messages that were not sent."""
    fleet = Fleet(url, tmp_path)
    await fleet.ledger.open()
    await fleet.bring("s1", "hello")
    wire = Wire()
    async with Host(echo(), PostgresLedger(url), channel=wire) as host:
        await host.drained()
    await fleet.ledger.close()
    assert wire.texts == ["re: s1/hello"]


async def test_what_nobody_asked_for_is_found(url: str) -> None:
    """Were a job lost, by whatever hand, a look each minute would ask for it again."""
    wire, ledger = Wire(), PostgresLedger(url)
    async with Host(echo(), ledger, channel=wire, settings=Settings(at_once=1)) as host:
        await ledger.run(ask("ALTER TABLE falai_inbox DISABLE TRIGGER falai_input_came"))
        await host.receive("s1", Message("hello", id="m1"))
        await host.drained()
    assert wire.texts == ["re: hello"]


async def test_who_is_parked_is_not_lost(url: str) -> None:
    """It waits for its tenant's share and is not asked for each minute; where there is no share any more, it goes on."""
    wire, ledger = Wire(), PostgresLedger(url, connections=4)
    async with Host(echo(), ledger, channel=wire, settings=Settings(at_once=1)) as host:
        await ledger.run(ask("ALTER TABLE falai_inbox DISABLE TRIGGER falai_input_came"))
        parked = "INSERT INTO falai_parked (agent, tenant, session, priority) VALUES ('Ana', 'default', 's1', 10)"
        await ledger.run(ask(parked))
        await host.receive("s1", Message("hello", id="m1"))
        assert await ledger.run(find_lost("Ana")) == 0
        await host.drained()
        assert wire.texts == ["re: hello"]
        assert await ledger.run(unpark("Ana", "turn", at_once=None)) == 0


@pytest.mark.faults
async def test_a_job_that_a_worker_never_heard_of(
    url: str, fleet: Fleet, proxy_to: Callable[[str], Proxy], caplog: pytest.LogCaptureFixture
) -> None:
    """The connection is lost between the database's gift and the worker's thanks: the job is not held for ever."""
    async with Host(echo(), url):
        pass
    await fleet.bring("s1", "hello")
    wire, behind = Wire(), proxy_to(url)
    behind.cut_on(b"procrastinate_fetch_job", "after")
    async with Host(echo(), behind.url, channel=wire):
        async with asyncio.timeout(30):
            while wire.texts != ["re: s1/hello"]:
                await asyncio.sleep(0.05)
    assert "the host could not take a job" in caplog.text


async def test_messages_with_pauses_between_them(url: str) -> None:
    """The job of the first brings the others, each when its pause is over."""
    flows = [Flow("answer", on=[OnAnyMessage()], steps=[Say("a", "1"), Wait("w", "1s"), Say("b", "2")])]
    wire = Wire()
    async with Host(echo(flows=flows), url, channel=wire) as host:
        await host.receive("s1", Message("hello", id="m1"))
        async with asyncio.timeout(30):
            while wire.texts != ["1", "2"]:
                await asyncio.sleep(0.05)
