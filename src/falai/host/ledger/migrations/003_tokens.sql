-- Who may call the API: of a token's secret only a hash. The agent is empty where it is for all of the database.
CREATE TABLE falai_tokens (
    id {text} PRIMARY KEY,
    tenant {text} NOT NULL,
    agent {text} NOT NULL,
    name TEXT NOT NULL,
    hash TEXT NOT NULL,
    scopes TEXT NOT NULL,
    session {text},
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT
) {clustered};
CREATE INDEX falai_tokens_session ON falai_tokens (tenant, session) WHERE session IS NOT NULL;
CREATE INDEX falai_tokens_expired ON falai_tokens (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX falai_tokens_revoked ON falai_tokens (revoked_at) WHERE revoked_at IS NOT NULL;
