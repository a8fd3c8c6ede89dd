"""The ledger: everything that a host keeps, in tables, and every transaction over them.

`port` has the rows and what a ledger is; `sqlite` and `postgres` carry works out; `dialect` has the
few words in which the databases differ; `migrations` are the tables. The works, a file a subject:

    taking      take_in(place, arrivals, *, now_ms, limits) -> TakenIn
                room(agent, *, limit) -> int
    playing     next_job(place, *, now_ms, history_items) -> Job | None
                note_answers(job, answers) -> bool     {(name, position): text}; False: another has this job, or it is gone
                try_later(job, error, not_before) -> bool   counts a failed attempt; what came after it waits behind it
                put_off(job, not_before) -> bool            no failure (a window is closed); all but messages let others pass
                set_aside(job, error, *, now_ms) -> bool
    committing  commit(job, done, *, now_ms) -> Committed
    waking      due_wakes(agent, *, now_ms, limit, max_late=None) -> tuple[Place, ...]
                next_due(agent) -> int | None
    ready       ready_places(agent, *, now_ms, limit) -> tuple[Place, ...]
                next_not_before(agent, *, now_ms) -> int | None
                places_to_deliver(agent, *, now_ms, limit) -> tuple[Place, ...]
                next_delivery(agent, *, now_ms) -> int | None
    sending     next_message(place) -> OutMessage | None   the oldest that is not sent, due or not
                sent(message, *, now_ms, provider_id) -> bool
                send_later(message, error, due_at) -> bool
                send_failed(message, error, *, now_ms) -> bool
                receipt(agent, *, channel, provider_id, status, error=None, key=None, at) -> Place | None
    limiting    admit(message, rate, *, now_ms) -> int | None   None: it may be sent; else when it comes back
    campaigning begin_campaign(agent, *, tenant, campaign, begins_at) -> int
                plan_starts(agent, starts, *, tenant, campaign) -> int | None
                stop_campaign(agent, *, tenant, campaign) -> int
                due_starts(agent, *, now_ms, limit) -> tuple[Place, ...]
                next_start(agent) -> int | None
    gating      hold(place, gate, *, now_ms) -> int     withholds what is not sent, and says how much
                release(place) -> bool
                opt_out(place, *, now_ms), opt_in(place), opted_out(place) -> bool
    dead        dead(agent, *, limit, tenant=None, session=None) -> tuple[DeadRow, ...]
                retry_dead(row, *, now_ms) -> bool, drop_dead(row, *, now_ms) -> bool
    looking     session(place) -> SessionRow | None
                sessions(agent, *, tenant, wanted=any, after=None, limit) -> tuple[SessionRow, ...]
                sessions_of(agent, *, tenant, customer) -> tuple[str, ...]
                transcript(place, *, before=None, limit), run_log(place, *, before=None, limit)   newest first
                messages(place, *, limit), waiting(place) -> tuple[InputRow, ...], wakes(place) -> tuple[WakeWrite, ...]
                waits(place, key) -> bool, counts(agent, *, now_ms) -> Counts
    said        said_after(place, cursor=None, *, limit) -> tuple[SaidRow, ...]   what the customer should see, oldest first
                said_by_turn(place, revision) -> tuple[SaidRow, ...], said_last(place) -> str
    erasing     erase(place) -> bool, erase_customer(agent, *, tenant, customer) -> tuple[str, ...]
    tokens      add_token(row), find_token(id) -> TokenRow | None, has_token(agent, *, now_ms) -> bool
                list_tokens(*, tenant=None, agent=None) -> tuple[TokenRow, ...], revoke_token(id, *, now_ms) -> bool
    sweeping    sweep(agent, *, now_ms, keep, limit) -> bool   False: nothing more to do now
"""

from __future__ import annotations
