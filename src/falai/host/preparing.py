"""Before a turn: what came in is read, the gate and the windows are asked, and the host's functions.

A message may need no turn at all: a reaction is only noted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from falai.channel.port import Attachment, Template
from falai.host.callables import Turning, settled
from falai.host.inputs import input_of, message_text
from falai.host.ledger.port import Committed, Job, TranscriptLine
from falai.host.setup import Setup
from falai.host.windows import Closed, Later, TemplateOnly, decide, is_opt_out
from falai.session.codec import session_from_json
from falai.session.dates import from_ms, read_date
from falai.session.inputs import Anchor, Claims, Input, Message, Silenced
from falai.session.model import Session
from falai.turn.given import Given, read_given

__all__ = ["Prepared", "prepare"]

_ATTACHMENTS: Final = msgspec.json.Decoder(list[Attachment])
_ROLES: Final = {"user": "user", "assistant": "assistant", "person": "assistant", "note": "system"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is to be done for a job. Without `given` there is no turn: `heard` is all."""

    given: Given | None = None
    heard: tuple[TranscriptLine, ...] = ()
    template: Template | None = None
    opts: Literal["in", "out"] | None = None


async def prepare(setup: Setup, job: Job, elsewhere: Committed) -> Prepared | Later:
    """What the job's turn is given, or until when it waits. Raises what the host's functions raise.

    `elsewhere` is what a try before this one learned of other sessions' claims.
    """
    attachments = _attachments(job)
    input = _read(setup, job, attachments)
    heard = tuple(_heard(setup, job))
    if input is None:
        return Prepared(heard=heard)
    session = None if job.blob is None else session_from_json(job.blob, job.place.session)
    turning = _turning(setup, job, input, session, attachments)
    silenced, template = await _gate(setup, job, turning)
    if isinstance(silenced, Later):
        return silenced
    given = await _given(setup, job, turning, silenced, elsewhere)
    return Prepared(given=given, heard=heard, template=template, opts=_opts(setup, heard))


# --- what came in --------------------------------------------------------------------------------


def _attachments(job: Job) -> list[Attachment]:
    return [found for row in job.inputs for found in _ATTACHMENTS.decode(row.attachments)]


def _texts(setup: Setup, job: Job) -> Iterator[tuple[Message, str | None]]:
    """The messages of a job, each with what a turn reads of it."""
    for row in job.inputs:
        message = msgspec.json.decode(row.body, type=Message)
        yield message, message_text(message.text, _ATTACHMENTS.decode(row.attachments), setup.settings.describe)


def _read(setup: Setup, job: Job, attachments: Sequence[Attachment]) -> Input | None:
    """The input of the turn: the messages of a burst are one, under the id of the first (B-11.1)."""
    first = job.inputs[0]
    if first.kind != "message":
        return input_of(first.kind, first.body)
    read = list(_texts(setup, job))
    texts = [text for _, text in read if text is not None]
    if not texts and attachments:
        return None
    return Message("\n".join(texts), id=read[0][0].id, at=read[-1][0].at)


def _heard(setup: Setup, job: Job) -> Iterator[TranscriptLine]:
    if job.inputs[0].kind != "message":
        return
    for row, (message, text) in zip(job.inputs, _texts(setup, job), strict=True):
        data = None if row.attachments == "[]" else row.attachments
        role: Literal["note", "user"] = "note" if text is None else "user"
        yield TranscriptLine(role, text or message.text, row.received_at, id=message.id, data=data)


def _opts(setup: Setup, heard: Sequence[TranscriptLine]) -> Literal["in", "out"] | None:
    """What the customer wants of follow-ups. Each message of a burst is looked at alone, and the last that says it counts."""
    opts: Literal["in", "out"] | None = None
    for line in heard:
        if is_opt_out(line.text, setup.settings.opt_outs):
            opts = "out"
        elif is_opt_out(line.text, setup.settings.opt_ins):
            opts = "in"
    return opts


def _turning(
    setup: Setup, job: Job, input: Input, session: Session | None, attachments: Sequence[Attachment]
) -> Turning:
    return Turning(
        place=job.place,
        input=input,
        session=session,
        customer=job.customer,
        channel=job.channel,
        address=job.address,
        attachments=attachments,
        now=setup.clock(),
    )


# --- the gate and the windows --------------------------------------------------------------------


async def _gate(setup: Setup, job: Job, turning: Turning) -> tuple[Silenced | Later | None, Template | None]:
    """A person's gate counts first, then the windows, then what the host says itself."""
    if job.gate.reason is not None:
        return Silenced(job.gate.reason, job.gate.understand, job.gate.skip), None
    match _decision(setup, job, turning):
        case Closed(silenced):
            return silenced, None
        case TemplateOnly(template, silenced):
            return silenced, template
        case Later() as later:
            return later, None
        case _:
            asked = setup.callables.gate
            said = None if asked is None else await settled(asked(turning))
            return Silenced(said) if isinstance(said, str) else said, None


def _decision(setup: Setup, job: Job, turning: Turning) -> object:
    channel = setup.channel(job.channel)
    channel_ms = None if channel is None else channel.window_ms
    return decide(
        job.inputs[0].kind,
        turning.now,
        windows=setup.settings.windows,
        last_user_at=None if channel_ms is None else _last_user_at(turning),
        channel_ms=channel_ms,
        opted_out=job.opted_out,
    )


def _last_user_at(turning: Turning) -> datetime | None:
    written = [turning.session.last_user_at if turning.session else None]
    if isinstance(turning.input, Message):
        written.append(turning.input.at)
    found = [ms for text in written if (ms := read_date(text)) is not None]
    return from_ms(max(found)) if found else None


# --- what the turn is given ----------------------------------------------------------------------


async def _given(setup: Setup, job: Job, turning: Turning, silenced: Silenced | None, elsewhere: Committed) -> Given:
    asked = setup.callables
    claims = None if asked.claims is None else await settled(asked.claims(turning))
    return read_given(
        job.place.session,
        turning.input,
        session=turning.session,
        context=None if asked.context is None else await settled(asked.context(turning)),
        history=_history(job) if asked.history is None else list(await settled(asked.history(turning))),
        silenced=silenced,
        anchors=_anchors(turning) if asked.anchors is None else await settled(asked.anchors(turning)),
        claims=_claims(job, elsewhere, claims or Claims()),
    )


def _history(job: Job) -> list[Mapping[str, Any]] | None:
    """The end of the transcript; a session that came without one may carry its own (T-1.1)."""
    lines = [(row, _ROLES.get(row.role, "system")) for row in job.history if row.text]
    return [{"role": role, "content": row.text} for row, role in lines] or None


def _anchors(turning: Turning) -> Mapping[str, Anchor]:
    return {} if turning.customer is None else {"customer": Anchor(turning.customer)}


def _claims(job: Job, elsewhere: Committed, own: Claims) -> Claims:
    return Claims(
        held={**job.held, **elsewhere.held, **own.held},
        active=[*dict.fromkeys((*job.active, *elsewhere.active, *own.active))],
    )
