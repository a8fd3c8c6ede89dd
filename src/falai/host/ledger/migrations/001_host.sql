-- The tables of a host. Words in braces are those of `dialect`. Instants are milliseconds since 1970 UTC.

-- What is said of the database itself; `schema` is the number of the last migration.
CREATE TABLE falai_meta (
    name {text} PRIMARY KEY,
    value {text} NOT NULL
);

-- A session, its gate, and whom it is with. It is there from the first input on, its blob from the first turn on.
-- `revision` counts the commits, `epoch` the changes of the gate: a turn counts only if neither has moved.
CREATE TABLE falai_sessions (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    session {text} NOT NULL,
    revision BIGINT NOT NULL DEFAULT 0,
    version BIGINT NOT NULL DEFAULT 0,
    blob TEXT,
    epoch BIGINT NOT NULL DEFAULT 0,
    gate_reason TEXT,
    gate_understand INTEGER NOT NULL DEFAULT 0,
    gate_skip INTEGER NOT NULL DEFAULT 0,
    customer {text},
    channel {text},
    address {text},
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, agent, session)
);
CREATE INDEX falai_sessions_customer ON falai_sessions (tenant, agent, customer) WHERE customer IS NOT NULL;

-- What came in: state new, done or dead. A key stays, so that a repeated one is dropped.
CREATE TABLE falai_inbox (
    seq {id},
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    session {text} NOT NULL,
    key {text} NOT NULL,
    kind TEXT NOT NULL,
    body TEXT NOT NULL,
    attachments TEXT NOT NULL,
    received_at BIGINT NOT NULL,
    pause_until BIGINT NOT NULL,
    not_before BIGINT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'new',
    error TEXT,
    lead {text},
    settled_at BIGINT
);
CREATE UNIQUE INDEX falai_inbox_key ON falai_inbox (tenant, agent, session, key);
CREATE INDEX falai_inbox_queue ON falai_inbox (tenant, agent, session, seq) WHERE state = 'new';
CREATE INDEX falai_inbox_ready ON falai_inbox (agent, not_before) WHERE state = 'new';
CREATE INDEX falai_inbox_dead ON falai_inbox (agent, settled_at) WHERE state = 'dead';
CREATE INDEX falai_inbox_said ON falai_inbox (agent, settled_at) WHERE state = 'done' AND body <> '';
CREATE INDEX falai_inbox_known ON falai_inbox (agent, settled_at) WHERE state = 'done' AND body = '';

-- The model's answers for an input that is being played.
CREATE TABLE falai_journal (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    session {text} NOT NULL,
    input {text} NOT NULL,
    name {text} NOT NULL,
    position INTEGER NOT NULL,
    answer TEXT NOT NULL,
    PRIMARY KEY (tenant, agent, session, input, name, position)
);

-- What goes out, in the order of revision and position: state new, sent, dead or withheld.
CREATE TABLE falai_outbox (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    session {text} NOT NULL,
    revision BIGINT NOT NULL,
    position INTEGER NOT NULL,
    key {text} NOT NULL,
    body TEXT NOT NULL,
    by_person INTEGER NOT NULL,
    channel {text},
    address {text},
    after_ms BIGINT NOT NULL,
    due_at BIGINT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL DEFAULT 'new',
    provider_id {text},
    status TEXT,
    error TEXT,
    settled_at BIGINT,
    PRIMARY KEY (tenant, agent, session, revision, position)
);
CREATE INDEX falai_outbox_queue ON falai_outbox (tenant, agent, session, revision, position) WHERE state = 'new';
CREATE INDEX falai_outbox_ready ON falai_outbox (agent, due_at) WHERE state = 'new';
CREATE INDEX falai_outbox_receipt ON falai_outbox (agent, channel, provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX falai_outbox_dead ON falai_outbox (agent, settled_at) WHERE state = 'dead';
CREATE INDEX falai_outbox_dead_key ON falai_outbox (agent, key) WHERE state = 'dead';
CREATE INDEX falai_outbox_old ON falai_outbox (agent, settled_at) WHERE state IN ('sent', 'withheld');

-- Timers. Only the due ones are ever looked at.
CREATE TABLE falai_wakes (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    session {text} NOT NULL,
    key {text} NOT NULL,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, agent, session, key)
) {clustered};
CREATE INDEX falai_wakes_due ON falai_wakes (agent, due_at);

-- Claims and live runs: each is held by one session only (B-16.2).
CREATE TABLE falai_claims (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    key {text} NOT NULL,
    session {text} NOT NULL,
    at TEXT NOT NULL,
    PRIMARY KEY (tenant, agent, key)
) {clustered};
CREATE INDEX falai_claims_session ON falai_claims (tenant, agent, session, at);

CREATE TABLE falai_live_runs (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    flow {text} NOT NULL,
    anchor {text} NOT NULL,
    session {text} NOT NULL,
    PRIMARY KEY (tenant, agent, flow, anchor)
) {clustered};
CREATE INDEX falai_live_runs_session ON falai_live_runs (tenant, agent, session);

-- The conversation, in the order of revision and position. `unsent` lines belong to messages that were withheld.
CREATE TABLE falai_transcript (
    seq {id},
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    session {text} NOT NULL,
    revision BIGINT NOT NULL,
    position INTEGER NOT NULL,
    role TEXT NOT NULL,
    text TEXT NOT NULL,
    at BIGINT NOT NULL,
    id {text},
    data TEXT,
    unsent INTEGER NOT NULL DEFAULT 0,
    kept_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX falai_transcript_place ON falai_transcript (tenant, agent, session, revision, position);
CREATE INDEX falai_transcript_unsent ON falai_transcript (tenant, agent, session) WHERE unsent = 1;

-- What each input led to, one line for an input.
CREATE TABLE falai_run_log (
    seq {id},
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    session {text} NOT NULL,
    key {text} NOT NULL,
    at BIGINT NOT NULL,
    log TEXT NOT NULL
);
CREATE INDEX falai_run_log_place ON falai_run_log (tenant, agent, session, seq);

-- Who wants no follow-ups: `whose` is session or customer, and `id` its id.
CREATE TABLE falai_optouts (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    whose {text} NOT NULL,
    id {text} NOT NULL,
    at BIGINT NOT NULL,
    PRIMARY KEY (tenant, agent, whose, id)
) {clustered};

-- How far each rule of a sweep has come in its table.
CREATE TABLE falai_swept (
    agent {text} NOT NULL,
    rule {text} NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (agent, rule)
) {clustered};
