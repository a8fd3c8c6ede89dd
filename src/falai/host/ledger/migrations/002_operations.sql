-- What many sessions share: campaigns, and the rate of a channel.

-- A campaign, and when its first start is due. A stopped one plans nothing more until it is begun again.
CREATE TABLE falai_campaigns (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    campaign {text} NOT NULL,
    begins_at BIGINT NOT NULL,
    stopped INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, agent, campaign)
) {clustered};

-- Its starts that are not yet in the inbox. Only the due ones are ever looked at.
CREATE TABLE falai_starts (
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    session {text} NOT NULL,
    campaign {text} NOT NULL,
    key {text} NOT NULL,
    body TEXT NOT NULL,
    customer {text},
    channel {text},
    address {text},
    due_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, agent, campaign, session)
) {clustered};
CREATE INDEX falai_starts_session ON falai_starts (tenant, agent, session);
CREATE INDEX falai_starts_customer ON falai_starts (tenant, agent, customer) WHERE customer IS NOT NULL;
CREATE INDEX falai_starts_due ON falai_starts (agent, due_at);

-- The token bucket of a channel's number, in microseconds: when it is full again, and the last place in each line.
CREATE TABLE falai_rates (
    bucket {text} PRIMARY KEY,
    full_at BIGINT NOT NULL,
    line_at BIGINT NOT NULL DEFAULT 0,
    calm_line_at BIGINT NOT NULL DEFAULT 0
) {clustered};

-- Whether nobody waits for a message, and whether it has a place in a line.
ALTER TABLE falai_outbox ADD COLUMN calm INTEGER NOT NULL DEFAULT 0;
ALTER TABLE falai_outbox ADD COLUMN lined INTEGER NOT NULL DEFAULT 0;
