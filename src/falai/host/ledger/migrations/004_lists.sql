-- Lists of sessions: those of a channel, and those whose gate is closed, in the order of their ids.
CREATE INDEX falai_sessions_channel ON falai_sessions (tenant, agent, channel, session) WHERE channel IS NOT NULL;
CREATE INDEX falai_sessions_held ON falai_sessions (tenant, agent, session) WHERE gate_reason IS NOT NULL;
