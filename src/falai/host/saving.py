"""What a turn leaves, as rows: the result of the turn as a `Done` for the ledger."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from falai.channel.port import Channel, Outgoing, Template
from falai.host.inputs import HumanMessage
from falai.host.ledger.port import Claim, Done, Gate, Job, LiveRun, Reply, TranscriptLine, WakeWrite
from falai.model.port import Usage
from falai.session.codec import stamped
from falai.session.dates import to_ms
from falai.session.jsontext import json_text
from falai.session.model import Session, StepOutcome
from falai.turn.result import OutMessage, TurnResult

__all__ = ["done_of", "person_says", "replies_of"]

_ENCODER: Final = msgspec.json.Encoder()


def replies_of(letter: Outgoing, channel: Channel | None, pause: int = 0) -> Iterator[Reply]:
    """The rows of a message, as many as the channel needs for it; its key and its address come with the sending."""
    for piece in channel.split(letter) if channel else (letter,):
        body = _ENCODER.encode(msgspec.structs.replace(piece, idempotency_key="")).decode()
        yield Reply(body, pause, by_person=piece.kind == "human")
        pause = 0


def person_says(session_id: str, message: HumanMessage, channel: Channel | None, *, now_ms: int) -> Done:
    """The rows of a person's message."""
    letter = Outgoing(session_id, "", message.text, "", "human")
    line = TranscriptLine("person", message.text, now_ms, data=message.by, message=0)
    return Done(transcript=(line,), outbox=tuple(replies_of(letter, channel)))


def done_of(
    job: Job,
    before: Session | None,
    result: TurnResult,
    *,
    now_ms: int,
    channel: Channel | None,
    heard: Sequence[TranscriptLine],
    template: Template | None,
    hold: str | None,
    opt_out: bool,
) -> Done:
    """The rows of a turn. Raises `TypeError` when a value in the session has no JSON form (P-16)."""
    letters = [(_letter(job, message), message.after_ms) for message in result.messages]
    if template is not None and _was_silenced(result):
        letters.append((_of_template(job, template), 0))
    replies, said = list[Reply](), list[TranscriptLine]()
    for letter, pause in letters:
        said.append(TranscriptLine("assistant", letter.text, now_ms, message=len(replies)))
        replies += replies_of(letter, channel, pause)
    live, were_live = _shared_runs(result.session), _shared_runs(before)
    return Done(
        blob=stamped(result.session, job.version + 1)[1] if result.changed else None,
        claims=tuple(_claims(job, before, result)),
        claims_gone=tuple(sorted(set(before.claims if before else ()) - result.session.claims.keys())),
        live=tuple(sorted(live - were_live)),
        live_gone=tuple(sorted(were_live - live)),
        transcript=(*heard, *said),
        outbox=tuple(replies),
        wakes=tuple(WakeWrite(wake.key, to_ms(wake.at), wake.replaces) for wake in result.schedule),
        log=_log(job, result),
        hold=None if hold is None else Gate(reason=hold),
        opt_out=opt_out,
    )


def _letter(job: Job, message: OutMessage) -> Outgoing:
    media = (message.media or {}).get("slug")
    return Outgoing(job.place.session, "", message.text, "", message.kind, media)


def _of_template(job: Job, template: Template) -> Outgoing:
    text = " ".join(template.texts) or template.name
    return Outgoing(job.place.session, "", text, "", template=template)


def _claims(job: Job, before: Session | None, result: TurnResult) -> Iterator[Claim]:
    """The claims of runs that other sessions may start too; the session's own are safe in its blob."""
    held = before.claims if before else {}
    for run in result.started:
        if run.anchor != job.place.session and (claim := result.session.claims.get(run.dedupe_key)):
            own = held.get(run.dedupe_key)
            yield Claim(run.dedupe_key, claim.at, own.at if own else job.held.get(run.dedupe_key))


def _shared_runs(session: Session | None) -> set[LiveRun]:
    runs = session.runs if session else []
    return {LiveRun(run.flow_id, run.anchor) for run in runs if session and run.anchor != session.id}


def _was_silenced(result: TurnResult) -> bool:
    return any(line.code == "silenced" for line in result.outcomes)


class _Log(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A line of the run log: every outcome, start, end and skip of an input, and what it cost.

    `revision` is that of its commit, which its messages have too; `keys` are the inputs of a burst.
    """

    kind: str
    attempts: int
    revision: int
    keys: Sequence[str] = ()
    outcomes: Sequence[StepOutcome] = ()
    started: Sequence[Mapping[str, str]] = ()
    ended: Sequence[Mapping[str, str]] = ()
    skipped: Sequence[Mapping[str, str]] = ()
    llm_calls: int = 0
    usage: Mapping[str, int] | None = None


def _log(job: Job, result: TurnResult) -> str:
    log = _Log(
        kind=job.inputs[0].kind,
        attempts=job.attempts + 1,
        revision=job.revision + 1,
        keys=[row.key for row in job.inputs] if len(job.inputs) > 1 else (),
        outcomes=result.outcomes,
        started=[{"runId": run.run_id, "flowId": run.flow_id, "anchor": run.anchor} for run in result.started],
        ended=[{"runId": end.run.id, "flowId": end.run.flow_id, "reason": end.reason} for end in result.ended],
        skipped=[{"flowId": s.flow_id, "anchor": s.anchor, "code": s.code} for s in result.skipped],
        llm_calls=result.llm_calls,
        usage=None if result.usage is None else _tokens(result.usage),
    )
    try:
        return _ENCODER.encode(log).decode()
    except ValueError:  # a lone surrogate in an author's words
        return json_text(msgspec.to_builtins(log))


def _tokens(usage: Usage) -> Mapping[str, int]:
    return {
        "promptTokens": usage.prompt_tokens,
        "completionTokens": usage.completion_tokens,
        "cachedInputTokens": usage.cached_input_tokens,
    }
