-- From the ledger's rows to the jobs of the queue. Triggers ask for the work, so that a job is there exactly if the
-- row is there, whoever wrote it: a host, an older release, a person with a statement of SQL.

-- A place and a kind of work that is to be looked at later. Jobs are made when it is due, and not before: a queue
-- that holds what is due in a month slows down what is due now.
CREATE TABLE falai_due (
    what TEXT NOT NULL,
    tenant TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    due_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, agent, session, what)
);
CREATE INDEX falai_due_at ON falai_due (agent, due_at);

-- Inputs for whose turn somebody waits (`Host.ask`), perhaps in another process, and what the turn said.
CREATE TABLE falai_asked (
    tenant TEXT COLLATE "C" NOT NULL,
    agent TEXT COLLATE "C" NOT NULL,
    session TEXT COLLATE "C" NOT NULL,
    key TEXT COLLATE "C" NOT NULL,
    answer TEXT,
    asked_at TIMESTAMPTZ NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, agent, session, key)
);

-- The name of a queue goes into that of a notification, which has room for 63 bytes.
CREATE FUNCTION falai_queue(what TEXT, agent TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$
    SELECT what || ':' || left(encode(sha256(convert_to(agent, 'UTF8')), 'hex'), 24)
$$;

-- The jobs of a lock are done one at a time, in their order: turns of a session, and the sending of its messages.
CREATE FUNCTION falai_lock(what TEXT, tenant TEXT, agent TEXT, session TEXT) RETURNS TEXT LANGUAGE sql STABLE AS $$
    SELECT what || ':' || encode(sha256(convert_to(json_build_array(tenant, agent, session)::TEXT, 'UTF8')), 'hex')
$$;

-- One job, for what is due since `at`; none, if one waits already, which will see to this too: it is locked, so nobody
-- takes it before this transaction is over. Whoever takes a job walks over all that wait for a lock, so one session with
-- many inputs would hold up the others. Another dispatcher is another body of this function, and somebody who takes
-- its jobs.
CREATE FUNCTION falai_job(what TEXT, tenant TEXT, agent TEXT, session TEXT, priority INTEGER, at BIGINT) RETURNS VOID
LANGUAGE sql VOLATILE AS $$
    INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, args)
    SELECT
        falai_queue(what, agent), 'falai.' || what, $5, falai_lock(what, tenant, agent, session),
        jsonb_build_object('tenant', tenant, 'agent', agent, 'session', session, 'at', at)
    WHERE NOT EXISTS (
        SELECT 1 FROM procrastinate_jobs j
        WHERE j.lock = falai_lock(what, tenant, agent, session) AND j.status = 'todo' AND j.priority >= $5
        FOR KEY SHARE SKIP LOCKED)
$$;

CREATE FUNCTION falai_look_at(what TEXT, tenant TEXT, agent TEXT, session TEXT, due_at BIGINT) RETURNS VOID
LANGUAGE sql VOLATILE AS $$
    INSERT INTO falai_due (what, tenant, agent, session, due_at) VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (tenant, agent, session, what) DO UPDATE SET due_at = least(falai_due.due_at, excluded.due_at)
$$;

CREATE FUNCTION falai_input_came() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.not_before <= NEW.received_at AND TG_OP = 'INSERT' THEN
        PERFORM falai_job(
            'turn', NEW.tenant, NEW.agent, NEW.session, CASE NEW.kind WHEN 'message' THEN 10 ELSE 0 END, NEW.not_before);
    ELSE
        PERFORM falai_look_at('turn', NEW.tenant, NEW.agent, NEW.session, NEW.not_before);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION falai_message_came() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.after_ms = 0 AND TG_OP = 'INSERT' THEN
        PERFORM falai_job('deliver', NEW.tenant, NEW.agent, NEW.session, 10, NEW.due_at);
    ELSE
        PERFORM falai_look_at('deliver', NEW.tenant, NEW.agent, NEW.session, NEW.due_at);
    END IF;
    RETURN NULL;
END
$$;

CREATE FUNCTION falai_session_gone() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM falai_due WHERE tenant = OLD.tenant AND agent = OLD.agent AND session = OLD.session;
    DELETE FROM falai_asked WHERE tenant = OLD.tenant AND agent = OLD.agent AND session = OLD.session;
    DELETE FROM procrastinate_jobs WHERE status = 'todo' AND lock IN (
        falai_lock('turn', OLD.tenant, OLD.agent, OLD.session), falai_lock('deliver', OLD.tenant, OLD.agent, OLD.session));
    RETURN NULL;
END
$$;

-- What a job itself puts off is asked for again at the end of the job; of a turn's messages the first brings the others.
CREATE TRIGGER falai_input_came AFTER INSERT ON falai_inbox
    FOR EACH ROW WHEN (NEW.state = 'new') EXECUTE FUNCTION falai_input_came();
CREATE TRIGGER falai_input_back AFTER UPDATE OF state ON falai_inbox
    FOR EACH ROW WHEN (NEW.state = 'new' AND OLD.state <> 'new') EXECUTE FUNCTION falai_input_came();
CREATE TRIGGER falai_message_came AFTER INSERT ON falai_outbox
    FOR EACH ROW WHEN (NEW.state = 'new' AND NEW.position = 0) EXECUTE FUNCTION falai_message_came();
CREATE TRIGGER falai_message_back AFTER UPDATE OF state ON falai_outbox
    FOR EACH ROW WHEN (NEW.state = 'new' AND OLD.state <> 'new') EXECUTE FUNCTION falai_message_came();
CREATE TRIGGER falai_session_gone AFTER DELETE ON falai_sessions FOR EACH ROW EXECUTE FUNCTION falai_session_gone();

-- Whose lock a job has is asked for each job that is fetched, and the engine's own index begins with the job's number.
CREATE INDEX falai_jobs_lock ON procrastinate_jobs (lock) WHERE status IN ('todo', 'doing');

-- What waits already, in a database that was there before its queue.
INSERT INTO falai_due (what, tenant, agent, session, due_at)
    SELECT 'turn', tenant, agent, session, min(not_before) FROM falai_inbox WHERE state = 'new'
    GROUP BY tenant, agent, session;
INSERT INTO falai_due (what, tenant, agent, session, due_at)
    SELECT 'deliver', tenant, agent, session, min(due_at) FROM falai_outbox WHERE state = 'new'
    GROUP BY tenant, agent, session;
