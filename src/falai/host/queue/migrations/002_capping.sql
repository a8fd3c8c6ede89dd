-- Sessions that are ready, but whose tenant has as many turns at work as it may have.
CREATE TABLE falai_parked (
    agent TEXT COLLATE "C" NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    priority INTEGER NOT NULL,
    since TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (agent, tenant, session)
);
CREATE INDEX falai_parked_next ON falai_parked (agent, tenant, priority DESC, since);
CREATE INDEX falai_jobs_doing ON procrastinate_jobs (queue_name, (args ->> 'tenant')) WHERE status = 'doing';

CREATE FUNCTION falai_session_unparked() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM falai_parked WHERE tenant = OLD.tenant AND agent = OLD.agent AND session = OLD.session;
    RETURN NULL;
END
$$;
CREATE TRIGGER falai_session_unparked AFTER DELETE ON falai_sessions
    FOR EACH ROW EXECUTE FUNCTION falai_session_unparked();

-- Messages that nobody waits for come behind those that somebody waits for.
CREATE OR REPLACE FUNCTION falai_message_came() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.after_ms = 0 AND TG_OP = 'INSERT' THEN
        PERFORM falai_job(
            'deliver', NEW.tenant, NEW.agent, NEW.session, CASE NEW.calm WHEN 0 THEN 10 ELSE 0 END, NEW.due_at);
    ELSE
        PERFORM falai_look_at('deliver', NEW.tenant, NEW.agent, NEW.session, NEW.due_at);
    END IF;
    RETURN NULL;
END
$$;
