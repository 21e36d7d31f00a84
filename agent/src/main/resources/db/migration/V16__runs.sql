-- What agents do about messages. A run belongs to one server at a time, which says again and again that it lives; when it
-- does not any more, another goes on with the run.
CREATE TABLE agent_runs (
    number          bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    id              text PRIMARY KEY,
    tenant          text NOT NULL,
    session         text NOT NULL,
    state           text NOT NULL CHECK (state IN ('starting', 'running', 'done', 'failed', 'aborted')),
    runtime         text NOT NULL,
    actor           text NOT NULL,
    prompt          text NOT NULL,
    attempt         integer NOT NULL DEFAULT 1,
    acted           integer NOT NULL DEFAULT 0,
    answer          text NOT NULL DEFAULT '',
    error           text,
    first_event     bigint NOT NULL,
    -- How the agent said that it ended, before that was made known.
    outcome         text,
    outcome_message text,
    -- What it asked and nobody has answered yet, by the agent's own ids.
    questions       jsonb NOT NULL DEFAULT '{}',
    aborted_by      text,
    -- It was said before the agent was told to forget everything.
    forgotten       boolean NOT NULL DEFAULT false,
    owner           text,
    lease_until     timestamptz NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz,
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX agent_runs_one_for_each_session ON agent_runs (tenant, session) WHERE ended_at IS NULL;
CREATE INDEX agent_runs_by_session ON agent_runs (tenant, session, number);
CREATE INDEX agent_runs_by_lease ON agent_runs (lease_until) WHERE ended_at IS NULL;

-- The message that a run began with, and those that came while it went on.
CREATE TABLE agent_messages (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run         text NOT NULL REFERENCES agent_runs (id) ON DELETE CASCADE,
    text        text NOT NULL,
    files       text[] NOT NULL,
    actor       text NOT NULL,
    person      text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    -- Set just before the agent is given it.
    said_at     timestamptz,
    -- Whether it is certain that the agent has it.
    taken       boolean NOT NULL DEFAULT false
);
CREATE INDEX agent_messages_by_run ON agent_messages (run, id);

-- Where the agent of a session has come to: what a server needs that takes it up.
CREATE TABLE agent_places (
    tenant          text NOT NULL,
    session         text NOT NULL,
    runtime         text NOT NULL,
    -- A hash of how it was set up when it was started.
    setup           text NOT NULL,
    conversation    text NOT NULL,
    position        bigint NOT NULL DEFAULT 0,
    busy            boolean NOT NULL DEFAULT false,
    -- It is to forget everything before it is used again.
    discard         boolean NOT NULL DEFAULT false,
    PRIMARY KEY (tenant, session),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);

-- What agents wrote down of their conversations, for a sandbox that has lost it.
CREATE TABLE agent_transcripts (
    tenant      text NOT NULL,
    session     text NOT NULL,
    from_byte   bigint NOT NULL,
    data        bytea NOT NULL,
    PRIMARY KEY (tenant, session, from_byte),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
