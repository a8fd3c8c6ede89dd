"""What a store holds of a customer, for requests under data protection law.

A customer is known by ids. Theirs is the session of such an id, whole; and in the sessions of others
every run and every claim that is anchored at such an id: a run says its anchor, a claim's key is
`{flowId}:{anchor}:{nonce}` (B-9.1). What other people's fields, payloads and histories say about them
is nobody's to find by an id.
"""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import NamedTuple

from falai.session.codec import session_to_wire
from falai.session.jsontext import json_text
from falai.session.model import Claim, Run, Session

__all__ = ["Traces", "traces", "traces_line", "without"]


class Traces(NamedTuple):
    """What is anchored at a customer in the session of another."""

    runs: list[Run]
    claims: dict[str, Claim]


def traces(session: Session, customers: Collection[str]) -> Traces:
    """What this session holds that is anchored at these ids."""
    return Traces(
        [run for run in session.runs if run.anchor in customers],
        {key: claim for key, claim in session.claims.items() if any(f":{id}:" in key for id in customers)},
    )


def without(session: Session, customers: Collection[str]) -> Session:
    """The session without what is anchored at these ids."""
    claims = traces(session, customers).claims
    rest = copy.copy(session)
    rest.runs = [run for run in session.runs if run.anchor not in customers]
    rest.claims = {key: claim for key, claim in session.claims.items() if key not in claims}
    return rest


def traces_line(session: Session, customers: Collection[str]) -> str:
    """The JSON text `{"elsewhere": id, "runs": [...], "claims": {...}}`, empty when there is nothing."""
    found = traces(session, customers)
    if not found.runs and not found.claims:
        return ""
    part = copy.copy(session)
    part.runs, part.claims = found
    wire = session_to_wire(part)
    return json_text({"elsewhere": session.id, "runs": wire["runs"], "claims": wire["claims"]})
