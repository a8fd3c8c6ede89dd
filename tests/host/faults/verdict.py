"""What must be true when a seed has come to its end: every promise of the host, looked up in its file and outside.

Each promise is a function that tells what speaks against it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from falai import Agent
from falai.flow.durations import parse_duration
from falai.session.codec import session_from_json
from falai.session.dates import to_ms
from falai.session.inputs import Anchor
from host.faults.life import SETTINGS
from host.faults.outside import CUSTOMER
from host.faults.script import Step
from host.faults.world import World

__all__ = ["Read", "judge"]

Line = dict[str, Any]
Row = dict[str, Any]
Read = Callable[[str], Sequence[Row]]
"""Reads a database: the rows of a statement, each by the names of its columns."""


@dataclass(frozen=True)
class _Evidence:
    """What a seed left behind."""

    steps: Sequence[Step]
    agent: Agent[Any]
    world: Sequence[Line]
    inbox: Sequence[Row]
    outbox: Sequence[Row]
    log: Sequence[Row]
    transcript: Sequence[Row]
    wakes: Sequence[Row]
    sessions: Sequence[Row]

    def lines(self, what: str) -> list[Line]:
        return [line for line in self.world if line["what"] == what]

    @cached_property
    def names(self) -> Sequence[str]:
        """The sessions that the script knows."""
        return sorted({step.session for step in self.steps})

    @cached_property
    def retried(self) -> set[str]:
        """What was set aside and tried again by hand: it comes later than what was said after it."""
        return {line["key"] for line in self.lines("retried")}


def judge(read: Read, world: World, steps: Sequence[Step], agent: Agent[Any]) -> list[str]:
    """What speaks against the promises; nothing, if all is well."""
    found = _Evidence(
        steps=steps,
        agent=agent,
        world=list(
            world.lines(
                "acted",
                "looked",
                "sending",
                "sent",
                "held",
                "releasing",
                "retried",
                "done",
                "clock",
                "settled",
                "saw",
                "wrong",
                "caught_up",
            )
        ),
        inbox=read("SELECT * FROM falai_inbox ORDER BY seq"),
        outbox=read("SELECT * FROM falai_outbox ORDER BY session, revision, position"),
        log=read("SELECT * FROM falai_run_log ORDER BY seq"),
        transcript=read("SELECT * FROM falai_transcript ORDER BY seq"),
        wakes=read("SELECT * FROM falai_wakes"),
        sessions=read("SELECT * FROM falai_sessions"),
    )
    promises = (
        _nothing_is_lost, _nothing_is_played_twice, _nothing_is_answered_twice, _only_what_counts_is_sent,
        _in_order, _actions_see_the_same, _tools_see_the_same, _replies_fit_their_actions, _a_person_is_not_interrupted, _first_come_first_served,
        _the_transcript_tells_it, _timers, _no_late_silence, _a_timer_fires_once, _once_for_all_sessions,
        _what_is_shown_counts, _the_customer_sees_it,
    )  # fmt: skip
    return [f"{promise.__name__.strip('_')}: {what}" for promise in promises for what in promise(found)]


# --- inputs -------------------------------------------------------------------------------------


def _keys(step: Step) -> list[str]:
    match step.kind:
        case "message" | "twice" | "takeover":
            return [f"message:{step.name}"]
        case "quick":
            return [f"message:{step.name}", f"message:{step.name}b"]
        case "booked" | "paid":
            return [f"event:{step.kind}:{step.name}"]
        case "start":
            return [f"start:remind:{step.name}"]
        case "person":
            return [f"human:{step.name}"]
        case _:
            return []


def _nothing_is_lost(found: _Evidence) -> Iterator[str]:
    """Every input that was acknowledged has been played; what was set aside was tried again until it was."""
    known = {(row["session"], row["key"]) for row in found.inbox}
    for step in found.steps:
        for key in _keys(step):
            if (step.session, key) not in known:
                yield f"{step.session} {key} never came in"
    for row in found.inbox:
        if row["state"] != "done":
            yield f"{row['session']} {row['key']} is {row['state']}"
    for row in found.outbox:
        if row["state"] not in {"sent", "withheld"}:
            yield f"message {row['key']} is {row['state']}"
    reached = {line["key"] for line in found.lines("sent")}
    for row in found.outbox:
        if row["state"] == "sent" and row["key"] not in reached:
            yield f"message {row['key']} counts as sent and never was"


def _nothing_is_played_twice(found: _Evidence) -> Iterator[str]:
    """An input, or the burst that it led, has one line in the run log: one turn that counts."""
    turns = [(row["session"], row["key"]) for row in found.log if 'skipped":"late' not in row["log"]]
    led = {(row["session"], row["lead"]) for row in found.inbox if row["kind"] != "human"}
    for place in sorted(led | set(turns), key=str):
        if (times := turns.count(place)) != 1 or place not in led:
            yield f"{place} was played {times} times"
    for row in found.inbox:
        if row["kind"] == "human" and sum(m["body"].count(f'person {row["key"][6:]}"') for m in found.outbox) != 1:
            yield f"the person's {row['key']} is not sent once"


def _first_come_first_served(found: _Evidence) -> Iterator[str]:
    """Messages of a session are played in the order in which they came, but for those tried again by hand."""
    for session in found.names:
        came = [
            row["key"]
            for row in found.inbox
            if row["session"] == session and row["kind"] == "message" and row["lead"] == row["key"]
        ]
        played = [row["key"] for row in found.log if row["session"] == session and row["key"] in came]
        came = [key for key in came if key not in found.retried]
        played = [key for key in played if key not in found.retried]
        if came != played:
            yield f"{session}: came as {came}, played as {played}"


# --- what reached the outside -------------------------------------------------------------------


def _nothing_is_answered_twice(found: _Evidence) -> Iterator[str]:
    """Of each input one answer of a kind went out, and a repetition has the same key and the same words."""
    texts, keys = defaultdict[Any, set[str]](set), defaultdict[Any, set[str]](set)
    for line in found.lines("sent"):
        texts[line["key"]].add(line["text"])
        what, _, name = line["text"].partition(" ")
        about = name.split("/")[0]
        if what in {"noted", "sorry", "reminder", "person"}:
            keys[line["session"], "order" if what == "sorry" else what.replace("noted", "order"), about].add(
                line["key"]
            )
    yield from (f"key {key} was sent with {sorted(said)}" for key, said in texts.items() if len(said) > 1)
    yield from (f"{about} was answered {len(sent)} times" for about, sent in keys.items() if len(sent) > 1)


def _only_what_counts_is_sent(found: _Evidence) -> Iterator[str]:
    """Whatever a channel was given is what a turn that counts has said, word for word."""
    committed = {row["key"]: row["body"] for row in found.outbox}
    for line in found.lines("sending"):
        if f'"text":"{line["text"]}"' not in committed.get(line["key"], ""):
            yield f"{line['text']!r} was sent under {line['key']}, which no turn has said"


def _in_order(found: _Evidence) -> Iterator[str]:
    """What a session said arrives in its order; a repetition may come later."""
    order = {row["key"]: (row["revision"], row["position"]) for row in found.outbox}
    for session in found.names:
        keys = [line["key"] for line in found.lines("sent") if line["session"] == session]
        first = [order[key] for key in dict.fromkeys(keys) if key in order and key not in found.retried]
        if first != sorted(first):
            yield f"{session}: {first}"


def _a_person_is_not_interrupted(found: _Evidence) -> Iterator[str]:
    """While the gate is closed, nothing of the assistant goes to the channel."""
    held = set[str]()
    for line in found.world:
        if line["what"] == "held":
            held.add(line["session"])
        elif line["what"] == "releasing":
            held.discard(line["session"])
        elif line["what"] == "sending" and line["session"] in held and line["by"] != "human":
            yield f"{line['text']!r} was sent in {line['session']} while a person had it"


# --- actions ------------------------------------------------------------------------------------


def _actions_see_the_same(found: _Evidence) -> Iterator[str]:
    """An action that is repeated sees the same key and the same choices of the model."""
    items, keys = defaultdict[Any, set[str]](set), defaultdict[Any, set[str]](set)
    for line in found.lines("acted"):
        items[line["session"], line["key"]].add(line["item"])
        keys[line["session"], line["item"].split("/")[0]].add(line["key"])
    yield from (f"{key} saw {sorted(seen)}" for key, seen in items.items() if len(seen) > 1)
    yield from (f"{about} came under {sorted(seen)}" for about, seen in keys.items() if len(seen) > 1)


def _tools_see_the_same(found: _Evidence) -> Iterator[str]:
    """So does a tool of the model: it is called once a turn, and in each repetition with the same arguments."""
    calls = defaultdict[Any, set[str]](set)
    for line in found.lines("looked"):
        calls[line["session"], line["key"]].add(line["what_for"])
    yield from (f"{key} looked up {sorted(seen)}" for key, seen in calls.items() if len(seen) > 1)


def _replies_fit_their_actions(found: _Evidence) -> Iterator[str]:
    """What was noted was done, with the very choices that the customer reads of, and for the inputs of one turn."""
    done = {(line["session"], line["item"]) for line in found.lines("acted")}
    bursts = defaultdict[Any, list[str]](list)
    for row in found.inbox:
        if row["kind"] == "message":
            bursts[row["session"], row["lead"]].append(row["key"].removeprefix("message:"))
    for line in found.lines("sent"):
        what, _, item = line["text"].partition(" ")
        if what not in {"noted", "sorry"}:
            continue
        if (line["session"], item) not in done:
            yield f"{line['text']!r} in {line['session']}: nothing was done"
        names = item.split("/")[0].split("+")
        if bursts[line["session"], f"message:{names[0]}"] != names:
            yield f"{line['text']!r} answers {bursts[line['session'], f'message:{names[0]}']}"


def _the_transcript_tells_it(found: _Evidence) -> Iterator[str]:
    """Whatever was written stands in it once, whatever was sent too, and nothing that was withheld."""
    came = sorted((row["session"], row["key"]) for row in found.inbox if row["kind"] == "message")
    heard = sorted((row["session"], f"message:{row['id']}") for row in found.transcript if row["role"] == "user")
    if came != heard:
        yield f"{came} came, {heard} were heard"
    sent = sorted(row["key"] for row in found.outbox if row["state"] == "sent")
    said = sorted(row["id"] for row in found.transcript if row["role"] != "user" and not row["unsent"])
    if sent != said:
        yield f"{sent} were sent, {said} were said"


# --- timers -------------------------------------------------------------------------------------


def _timers(found: _Evidence) -> Iterator[str]:
    """The session loads, and the timers in the file are those that it waits for (B-18.4)."""
    now = max(line["now"] for line in found.world if "now" in line)  # a silence that is over is nobody's wake
    for row in found.sessions:
        if row["blob"] is None:
            continue
        session = session_from_json(row["blob"], row["session"])
        pending = found.agent.pending_wakes(session, anchors={"customer": Anchor(CUSTOMER)})
        wanted = {(wake.key, to_ms(wake.at)) for wake in pending}
        there = {(wake["key"], wake["due_at"]) for wake in found.wakes if wake["session"] == row["session"]}
        lost = {(key, at) for key, at in wanted - there if not (key.startswith("silence:") and at <= now)}
        odd = {key for key, _ in there - wanted if not key.startswith("silence:")}  # an old silence does no harm
        if lost or odd:
            yield f"{row['session']} waits for {sorted(lost)}, which nobody will wake; {sorted(odd)} is of no use"
        if session.version != row["version"]:
            yield f"{row['session']}: the blob has version {session.version}, the row {row['version']}"


def _no_late_silence(found: _Evidence) -> Iterator[str]:
    """A silence that was due for longer than `max_late` starts nothing."""
    for row in found.inbox:
        if row["kind"] == "wake" and ":silence:" in row["key"]:
            due = int(row["key"].split(":")[1])
            if row["received_at"] - due > parse_duration(SETTINGS.max_late):
                yield f"{row['key']} came {row['received_at'] - due} ms late"


def _a_timer_fires_once(found: _Evidence) -> Iterator[str]:
    """No run starts twice, and none ends twice."""
    for what in ("started", "ended"):
        ids = [(row["session"], run["runId"]) for row in found.log for run in json.loads(row["log"]).get(what, ())]
        yield from (f"{id} {what} {ids.count(id)} times" for id in sorted(set(ids)) if ids.count(id) > 1)


def _once_for_all_sessions(found: _Evidence) -> Iterator[str]:
    """What is said to a customer once is said in one of the sessions only."""
    if len({line["key"] for line in found.lines("sent") if line["text"] == "thanks"}) > 1:
        yield "the customer was thanked in several turns"


# --- who looks on -------------------------------------------------------------------------------


def _what_is_shown_counts(found: _Evidence) -> Iterator[str]:
    """Words that were shown were taken back, or were said."""
    for line in found.lines("wrong"):
        yield f"{line['session']}: {line['why']}"


def _the_customer_sees_it(found: _Evidence) -> Iterator[str]:
    """Who reads from a cursor, through all lives, has seen each message that was sent once, in order."""
    if not found.lines("caught_up"):
        return
    for session in found.names:
        seen = [line["key"] for line in found.lines("saw") if line["session"] == session]
        said = [row["key"] for row in found.outbox if row["session"] == session and row["state"] in ("sent", "dead")]
        if seen != said:
            yield f"{session}: seen was {seen}, said is {said}"
