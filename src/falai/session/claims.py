"""The claims ledger: what stops a second start (B-10).

A claim counts by being there, in the session or in `held`, what the host knows of other sessions.
Only under a cooldown does its date matter. Claims of `once` and cooldown starts stay for ever;
those of `always` starts, whose keys end in a nonce, are cut to the newest 50.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from falai.session.dates import read_date
from falai.session.keys import say_claim_key
from falai.session.model import Claim, Session

__all__ = ["MAX_ALWAYS_CLAIMS", "blocking", "cut_always_claims", "held_at", "write_claim"]

MAX_ALWAYS_CLAIMS = 50


def held_at(session: Session, key: str, held: Mapping[str, str] | None) -> str | None:
    """The date text of the claim that is held on `key`, `None` when none is (B-10.3)."""
    claim = session.claims.get(key)
    return claim.at if claim else (held or {}).get(key)


def blocking(
    session: Session,
    key: str,
    cooldown_ms: int | None,
    held: Mapping[str, str] | None,
    now_ms: int,
) -> Literal["already-claimed", "cooldown"] | None:
    """What stops a start that would write the claim `key` (B-10.4).

    `cooldown_ms` is `None` for `once` and `always`. A cooldown whose date is unreadable is over (B-2.8).
    """
    at = held_at(session, key, held)
    if at is None:
        return None
    if cooldown_ms is None:
        return "already-claimed"
    since = read_date(at)
    return "cooldown" if since is not None and now_ms - since < cooldown_ms else None


def write_claim(session: Session, key: str, now_text: str) -> None:
    """Writes, or renews, a claim."""
    session.claims[key] = Claim(at=now_text)


def cut_always_claims(
    session: Session,
    flow_id: str,
    anchor: str,
    *,
    flow_ids: Iterable[str],
    say_steps: Iterable[tuple[str, str]],
    anchors: Iterable[str],
) -> None:
    """Drops the oldest `always` claims of a flow and anchor beyond 50 (B-10.5).

    `flow_ids` and `say_steps` (flow id and step id) are the agent's; `anchors` are the session id,
    the keys of the input's anchors and the anchors of the live runs: with them the keys of other
    claims that merely look alike are told apart.
    """
    prefix = f"{flow_id}:{anchor}:"
    alike = [key for key in session.claims if key.startswith(prefix) and not key.endswith(":")]
    if len(alike) <= MAX_ALWAYS_CLAIMS:
        return
    says = {say_claim_key(flow, step, session.id) for flow, step in say_steps}
    longer = [f"{other}:" for other in flow_ids if other.startswith(f"{flow_id}:")]
    longer += [f"{flow_id}:{other}:" for other in anchors if other.startswith(f"{anchor}:")]
    ours = [key for key in alike if key not in says and not key.startswith(tuple(longer))]
    for key in sorted(ours, key=lambda key: _age(session, key))[:-MAX_ALWAYS_CLAIMS]:
        del session.claims[key]


def _age(session: Session, key: str) -> float:
    """Where a claim stands among the others, the oldest first: an unreadable date is the oldest (B-2.8)."""
    at = read_date(session.claims[key].at)
    return float("-inf") if at is None else at
