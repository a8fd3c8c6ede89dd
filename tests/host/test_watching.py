"""Watching a session: words as the model writes them, what counts in the end, and nobody who is held up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

import pytest

from falai import Agent, Flow, Message, OnAnyMessage, Prompt, ProviderError, ToolContext, ToolResult, tool
from falai.host import Changed, Host, Seen, SetAside, Settings, Turned, Withdrawn, Words
from falai.model import FallbackModel, ModelChunk, ModelReply, ModelRequest
from falai.model.port import ToolCall
from falai.testing import Pieces, ScriptedModel
from host.ledger.ledgers import ask
from host.stage import FLOWS, SMALL, Echo, Home, Wire, alone, echo, hosted

pytestmark = alone

HELLO = Pieces(['{"mess', 'age": "Hel', "lo the", 're"}'])
Step = str | asyncio.Event | Exception


class Typist:
    """A model that writes as it is told: pieces of text, waits, an error. It counts how it was asked.

    With `anew` each piece stands for all that is written so far; one that is `cut` ends without its end.
    """

    name = "typist"

    def __init__(self, *takes: Sequence[Step], anew: bool = False, cut: bool = False) -> None:
        self.takes = list(takes)
        self.anew, self.cut = anew, cut
        self.streamed = self.asked = self.closed = 0

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.asked += 1
        return await self._whole([step for step in self._take(request) if not isinstance(step, asyncio.Event)])

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelChunk]:
        self.streamed += 1
        so_far, steps = "", self._take(request)
        try:
            for step in steps:
                match step:
                    case asyncio.Event():
                        await step.wait()
                    case Exception():
                        raise step
                    case _:
                        so_far = step if self.anew else so_far + step
                        yield ModelChunk(step, so_far)
            if not self.cut:
                yield ModelChunk("", so_far, ModelReply(message=so_far))
        finally:
            self.closed += 1

    def _take(self, request: ModelRequest) -> Sequence[Step]:
        return ["{}"] if request.schema_name == "understand" else self.takes.pop(0)

    async def _whole(self, steps: Sequence[Step]) -> ModelReply:
        for step in steps:
            if isinstance(step, Exception):
                raise step
        return ModelReply(message="".join(map(str, steps)))


async def upto(seen: AsyncIterator[Seen], ends: Callable[[Seen], bool]) -> list[Seen]:
    """What is told, up to the first of these; without `Changed`."""
    found = list[Seen]()
    async with asyncio.timeout(20):
        async for one in seen:
            if not isinstance(one, Changed) or ends(one):
                found.append(one)
            if ends(one):
                return found
    raise AssertionError(f"the end came first: {found}")


def is_turned(one: Seen) -> bool:
    return isinstance(one, Turned)


def is_words(one: Seen) -> bool:
    return isinstance(one, Words)


def shown(seen: Sequence[Seen]) -> str:
    """The words that a page would show in the end."""
    text = ""
    for one in seen:
        text = text + one.text if isinstance(one, Words) else "" if isinstance(one, Withdrawn) else text
    return text


async def test_words_come_as_the_model_writes_them(home: Home) -> None:
    """The first words are there before the last are written; then comes what counts, as `ask` gives it."""
    wait = asyncio.Event()
    async with hosted(echo(Typist(['{"message": "Hel', wait, 'lo"}'])), home) as host, host.watch("s1") as seen:
        asked = asyncio.create_task(host.ask("s1", Message("hi", id="m1")))
        assert await upto(seen, is_words) == [Words("message:m1", "Hel")]
        wait.set()
        *words, turned = await upto(seen, is_turned)
        said = await asked
    assert words == [Words("message:m1", "lo")]
    assert isinstance(turned, Turned)
    assert (turned.keys, turned.messages, turned.revision) == (("message:m1",), said, 1)
    assert turned.result is not None
    assert turned.result.messages == said
    assert [m.text for m in said] == ["Hello"]


async def test_without_a_watcher_the_model_is_not_streamed(home: Home) -> None:
    """Nor when somebody watches another session, or has watched this one."""
    model = Typist(["one"], ["two"], ["three"])
    async with hosted(echo(model), home) as host:
        async with host.watch("s2"):
            await host.ask("s1", Message("a", id="m1"))
        async with host.watch("s1"):
            await host.ask("s1", Message("b", id="m2"))
        await host.ask("s1", Message("c", id="m3"))
    assert (model.asked, model.streamed, model.closed) == (2, 1, 1)


async def test_a_watcher_that_comes_late_has_what_was_written_so_far(home: Home) -> None:
    """A page that is loaded anew shows the whole reply."""
    wait = asyncio.Event()
    async with hosted(echo(Typist(["Hel", wait, "lo"])), home) as host, host.watch("s1") as first:
        await host.receive("s1", Message("hi", id="m1"))
        await upto(first, is_words)
        async with host.watch("s1") as second:
            assert await upto(second, is_words) == [Words("message:m1", "Hel")]
            wait.set()
            assert shown(await upto(second, is_turned)) == "lo"


@pytest.mark.parametrize("steps", [["Hel", ProviderError("down", kind="overload")], ["Hel"]], ids=["raises", "cut"])
async def test_a_provider_that_fails_while_it_writes(home: Home, steps: Sequence[Step]) -> None:
    """The words are taken back at once; the turn ends as it would have without a watcher."""
    async with hosted(echo(Typist(steps, cut=True)), home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        found = await upto(seen, is_turned)
    assert found[:2] == [Words("message:m1", "Hel"), Withdrawn("message:m1")]
    assert isinstance(found[2], Turned)
    assert found[2].messages == ()


async def test_a_reply_that_comes_whole_and_is_none(home: Home) -> None:
    """An envelope that breaks off has shown words, and none of them is sent: they are taken back before the end."""
    async with hosted(echo(Typist(['{"message": "Hel', "lo"])), home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        *words, turned = await upto(seen, is_turned)
    assert shown(words[:-1]) == "Hello"
    assert words[-1] == Withdrawn("message:m1")
    assert isinstance(turned, Turned)
    assert turned.messages == ()


async def test_a_model_that_begins_anew(home: Home) -> None:
    """What does not go on from what was shown takes its place."""
    model = Typist(['{"message": "Good', '{"message": "Hel', '{"message": "Hello"}'], anew=True)
    async with hosted(echo(model), home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        found = await upto(seen, is_turned)
    assert Withdrawn("message:m1") in found
    assert shown(found) == "Hello"


async def test_the_next_model_answers(home: Home) -> None:
    """One that fails before its first word shows nothing."""
    models = [Typist([ProviderError("down", kind="overload")]), Typist(["Hel", "lo"])]
    async with hosted(echo(FallbackModel(models)), home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        found = await upto(seen, is_turned)
    assert shown(found) == "Hello"
    assert not any(isinstance(one, Withdrawn) for one in found)


@tool(description="Looks it up.")
def look_up(_: ToolContext[Any]) -> ToolResult:
    return ToolResult("42")


async def test_words_beside_a_tool_call_are_taken_back(home: Home) -> None:
    """They are no part of the reply (T-20.4)."""
    first = ModelReply(message="One moment.", tool_calls=(ToolCall("look_up", {}),))
    model = ScriptedModel({"speak": [first, {"message": "It is 42."}]})
    flow = Flow("answer", on=[OnAnyMessage(repeat="always")], steps=[Prompt("reply", "Answer.", tools=["look_up"])])
    agent: Agent[Any] = Agent(name="Ana", model=model, flows=[flow], tools=[look_up])
    async with hosted(agent, home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        found = await upto(seen, is_turned)
    assert found[:2] == [Words("message:m1", "One moment."), Withdrawn("message:m1")]
    assert shown(found) == "It is 42."


async def test_a_turn_that_is_lost_takes_its_words_back(home: Home) -> None:
    """Another writer was first: the turn is played again, and its words come again."""
    wait = asyncio.Event()
    async with hosted(echo(Typist(["Hel", wait, "lo"], ["Good day"])), home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        before = await upto(seen, is_words)
        await host.ledger.run(_move("s1"))
        wait.set()
        found = [*before, *await upto(seen, is_turned)]
    assert found[:-1] == [
        Words("message:m1", "Hel"),
        Words("message:m1", "lo"),
        Withdrawn("message:m1"),
        Words("message:m1", "Good day"),
    ]


def _move(session: str) -> Any:
    return ask("UPDATE falai_sessions SET revision = revision + 1 WHERE session = ? RETURNING revision", session)


async def test_a_gate_that_closes_while_the_model_writes(home: Home) -> None:
    """The words are gone at once, though the model still writes; the turn that counts says nothing."""
    wait = asyncio.Event()
    async with hosted(echo(Typist(["Hel", wait, "lo"])), home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        await upto(seen, is_words)
        await host.hold("s1", "Bo answers")
        assert await upto(seen, lambda one: isinstance(one, Withdrawn)) == [Withdrawn("message:m1")]
        wait.set()
        (turned,) = await upto(seen, is_turned)
    assert isinstance(turned, Turned)
    assert turned.messages == ()


async def test_a_session_that_is_erased_while_the_model_writes(home: Home) -> None:
    """Its words are gone at once, and no others come; what is said in a new session of this id is shown."""
    wait = asyncio.Event()
    async with hosted(echo(Typist(["Hel", wait, "lo"], ["Hello"])), home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        await upto(seen, is_words)
        await host.erase("s1")
        assert await upto(seen, lambda one: isinstance(one, Withdrawn)) == [Withdrawn("message:m1")]
        wait.set()
        await host.drained()
        await host.receive("s1", Message("hi", id="m2"))
        assert (await upto(seen, is_turned))[0] == Words("message:m2", "Hello")


async def test_an_input_that_fails_for_good(home: Home) -> None:
    """It is told with its reason, behind the words that do not count."""

    def no_context(_: object) -> None:
        raise ValueError("no")

    settings = Settings(retries=())
    async with hosted(echo(), home, context=no_context, settings=settings) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        (aside,) = await upto(seen, lambda one: isinstance(one, SetAside))
    assert isinstance(aside, SetAside)
    assert aside.key == "message:m1"
    assert "ValueError: no" in aside.why


async def test_messages_of_a_burst_have_one_turn(home: Home) -> None:
    """It is told with the keys of all of them."""
    async with hosted(echo(), home, settings=Settings(burst="0.5s")) as host, host.watch("s1") as seen:
        for id in ("m1", "m2"):
            await host.receive("s1", Message(id, id=id))
        (*_, turned) = await upto(seen, is_turned)
    assert isinstance(turned, Turned)
    assert turned.keys == ("message:m1", "message:m2")


def _inputs(host: Host[Any]) -> Sequence[Callable[[], Awaitable[object]]]:
    return [
        lambda: host.receive("s1", Message("hi", id="m1")),
        lambda: host.hold("s1"),
        lambda: host.human_message("s1", "I am Bo", id="h1"),
        lambda: host.release("s1"),
        lambda: host.erase("s1"),
    ]


async def test_whatever_else_is_new_is_told(home: Home) -> None:
    """An input, the gate, a person's message, an erasure: somebody who shows them looks again."""
    async with hosted(echo(), home, channel=Wire()) as host:
        for act in _inputs(host):
            async with host.watch("s1") as seen:
                await act()
                await upto(seen, lambda one: isinstance(one, Changed))
            await host.drained()


async def test_a_message_that_was_sent_is_told(home: Home) -> None:
    """It comes behind its turn, when its time has come."""
    wire, wait = Wire(), asyncio.Event()
    wire.next = [wait]
    async with hosted(echo(), home, channel=wire) as host, host.watch("s1") as seen:
        await host.ask("s1", Message("hi", id="m1"))
        await upto(seen, is_turned)
        wait.set()
        await upto(seen, lambda one: isinstance(one, Changed))


async def test_a_slow_watcher_holds_nobody_up(home: Home) -> None:
    """It loses words, is told so, and has what counts; what it keeps meanwhile is bounded."""
    long = Typist([f"{number} " for number in range(50_000)], ["short"])
    async with hosted(echo(long), home) as host, host.watch("s1") as slow:
        await host.ask("s1", Message("hi", id="m1"))
        await host.ask("s1", Message("hi", id="m2"))
        await host.drained()
        await host.release("s1")
        found = [one async for one in _taken(slow, is_short)]
    assert len(found) < 70
    assert Withdrawn("message:m1") in found
    assert Changed() in found
    assert [one.keys for one in found if isinstance(one, Turned)] == [("message:m1",), ("message:m2",)]
    assert shown(found) == "short"


def is_short(one: Seen) -> bool:
    return isinstance(one, Turned) and one.keys == ("message:m2",)


async def _taken(seen: AsyncIterator[Seen], ends: Callable[[Seen], bool]) -> AsyncIterator[Seen]:
    async with asyncio.timeout(20):
        async for one in seen:
            yield one
            if ends(one):
                return


async def test_one_that_never_looks_keeps_little(home: Home) -> None:
    """However many turns pass; then it is told that it has missed something, and has the last ones."""
    async with hosted(echo(), home) as host, host.watch("s1") as seen:
        for number in range(100):
            await host.ask("s1", Message("hi", id=f"m{number}"))
        await host.drained()
        found = [
            one async for one in _taken(seen, lambda one: isinstance(one, Turned) and one.keys == ("message:m99",))
        ]
    assert len(found) <= 65
    assert found[0] == Changed() or Changed() in found


async def test_five_hundred_watchers_have_all_of_it(home: Home) -> None:
    """On one session and on many: each reads the same words, and the same end."""
    wait = asyncio.Event()
    model = Typist(*[["Hel", wait, "lo"]] * 100)

    async def watch(host: Host[Any], session: str) -> tuple[str, Seen]:
        async with host.watch(session) as seen:
            begun.append(session)
            found = await upto(seen, is_turned)
            return shown(found), found[-1]

    begun = list[str]()
    sessions = ["crowd"] * 401 + [f"s{number}" for number in range(99)]
    async with hosted(echo(model), home) as host:
        tasks = [asyncio.create_task(watch(host, session)) for session in sessions]
        while len(begun) < len(sessions):
            await asyncio.sleep(0.01)
        for session in dict.fromkeys(sessions):
            await host.receive(session, Message("hi", id="m1"))
        wait.set()
        found = await asyncio.gather(*tasks)
    assert {text for text, _ in found} == {"Hello"}
    assert len(found) == 500


async def test_the_end_of_the_host_is_the_end_of_watching(home: Home) -> None:
    """Whoever iterates is released; whoever watches a host that does not run is told so."""
    host = Host(echo(), home.ledger())

    async def watch() -> list[Seen]:
        async with host.watch("s1") as seen:
            ready.set()
            return [one async for one in seen]

    ready = asyncio.Event()
    async with host:
        task = asyncio.create_task(watch())
        await ready.wait()
    assert await asyncio.wait_for(task, 20) == []
    with pytest.raises(RuntimeError, match="does not run"):
        host.watch("s1")
    with pytest.raises(RuntimeError, match="does not run"):
        _ = host.ledger


async def test_an_id_that_is_none(home: Home) -> None:
    """It is refused at once."""
    async with hosted(echo(), home) as host:
        with pytest.raises(ValueError, match="sessionId"):
            host.watch(" ")


async def test_a_stream_that_hangs_is_ended_with_its_turn(home: Home) -> None:
    """The turn is given up, its words are taken back, the provider's stream is closed, and another try counts."""
    model = Typist(["Hel", asyncio.Event()], ["Hello"])
    settings = Settings(turn_limit="0.3s", retries=SMALL["retries"])
    async with hosted(echo(model), home, settings=settings) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        found = await upto(seen, is_turned)
    assert found[:3] == [Words("message:m1", "Hel"), Withdrawn("message:m1"), Words("message:m1", "Hello")]
    assert (model.streamed, model.closed) == (2, 2)


async def test_scripted_pieces_stream(home: Home) -> None:
    """The envelope is not shown, only the message in it (T-20.2)."""
    async with hosted(echo(ScriptedModel({"speak": [HELLO]})), home) as host, host.watch("s1") as seen:
        await host.receive("s1", Message("hi", id="m1"))
        assert shown(await upto(seen, is_turned)) == "Hello there"


async def test_what_is_not_spoken_has_no_words(home: Home) -> None:
    """A held session has its turns, and nothing else."""
    model = Echo()
    async with hosted(echo(model, flows=FLOWS), home) as host:
        await host.hold("s1")
        async with host.watch("s1") as seen:
            await host.receive("s1", Message("hi", id="m1"))
            (turned,) = await upto(seen, is_turned)
    assert isinstance(turned, Turned)
    assert turned.messages == ()
