-- Commands that go on in the background. Whether one still runs is known from its mark in the sandbox, which a sandbox
-- that was started anew does not have any more; so neither its number nor a boot id is needed here.
ALTER TABLE jobs
    DROP COLUMN command_id,
    DROP COLUMN boot_id,
    DROP COLUMN delivered_at,
    ADD COLUMN command         text NOT NULL DEFAULT '',
    ADD COLUMN actor           text NOT NULL DEFAULT 'berth',
    -- The server that reads what it prints; free to be taken over when that one is gone.
    ADD COLUMN server          text,
    ADD COLUMN stop_requested  boolean NOT NULL DEFAULT false,
    -- Up to where its output was written down, which is where the next server reads on.
    ADD COLUMN stdout_end      bigint NOT NULL DEFAULT 0,
    ADD COLUMN stderr_end      bigint NOT NULL DEFAULT 0,
    ADD COLUMN chunks          bigint NOT NULL DEFAULT 0,
    ADD COLUMN dropped_bytes   bigint NOT NULL DEFAULT 0;
CREATE INDEX jobs_by_tenant ON jobs (tenant, created_at);
CREATE INDEX jobs_by_session ON jobs (tenant, session, created_at);
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

-- What jobs printed, in the order in which it was read. The oldest of a job that prints too much go first.
CREATE TABLE job_output (
    job_id     text NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    number     bigint NOT NULL,
    stream     text NOT NULL CHECK (stream IN ('stdout', 'stderr')),
    at_offset  bigint NOT NULL,
    size       integer NOT NULL,
    bytes      bytea NOT NULL,
    PRIMARY KEY (job_id, number)
);
-- Compressing each would cost a flood's worth of processor time.
ALTER TABLE job_output ALTER COLUMN bytes SET STORAGE EXTERNAL;
