ALTER TABLE sessions
    ADD COLUMN metadata        jsonb NOT NULL DEFAULT '{}',
    -- How long it stays up each time it comes up, and what becomes of it then.
    ADD COLUMN expiry_after    interval,
    ADD COLUMN expiry_then     text CHECK (expiry_then IN ('delete', 'pause', 'stop')),
    ADD COLUMN expiry_wakes    boolean NOT NULL DEFAULT false,
    -- When that is. One that is paused, stopped or gone has none.
    ADD COLUMN expires_at      timestamptz,
    -- Whether that time was found to be over and its end has begun, so that it cannot be put off any more.
    ADD COLUMN ending          boolean NOT NULL DEFAULT false,
    -- How often that time was moved, which raises no version.
    ADD COLUMN expiry_moves    bigint NOT NULL DEFAULT 0,
    ADD CHECK ((expiry_after IS NULL) = (expiry_then IS NULL));
CREATE INDEX sessions_by_id ON sessions (id);
-- For rows that go with their session, of which there are many.
CREATE INDEX sandboxes_by_session ON sandboxes (tenant, session);
CREATE INDEX sessions_by_creation ON sessions (tenant, created_at, id) WHERE state <> 'destroyed';

-- Checkpoints that outlive their session. One without checkpoint_id is being taken; one that is removed has deleted_at
-- until it is gone at the provider.
CREATE TABLE kept_checkpoints (
    id              text PRIMARY KEY,
    tenant          text NOT NULL REFERENCES tenants (id),
    session         text NOT NULL,
    name            text,
    location        text NOT NULL,
    checkpoint_id   text UNIQUE,
    sandbox_id      text NOT NULL,
    template        text NOT NULL,
    limits          jsonb NOT NULL,
    env             jsonb NOT NULL,
    network         jsonb NOT NULL,
    disk_bytes      bigint NOT NULL DEFAULT 0,
    created_at      timestamptz NOT NULL DEFAULT now(),
    deleted_at      timestamptz
);
CREATE UNIQUE INDEX kept_checkpoints_by_name ON kept_checkpoints (tenant, name) WHERE deleted_at IS NULL;
CREATE INDEX kept_checkpoints_by_creation ON kept_checkpoints (tenant, created_at, id);
CREATE INDEX kept_checkpoints_by_sandbox ON kept_checkpoints (sandbox_id);

-- As before, and with the end of a session that has one: it comes whether or not the session is used, held up by a job
-- or pinned. It goes before the steps of idleness, and a deletion goes before it.
DROP VIEW ladder;
CREATE VIEW ladder AS
WITH steps AS (
    SELECT tenant, id, location, retry_at, 1 AS rank, 'pause' AS step, last_activity_at + pause_after AS at
        FROM sessions WHERE state = 'active' AND NOT pinned
    UNION ALL
    SELECT tenant, id, location, retry_at, 2, 'stop', last_activity_at + stop_after
        FROM sessions WHERE state IN ('active', 'paused') AND NOT pinned
    UNION ALL
    SELECT tenant, id, location, retry_at, 3, 'archive', stopped_at + archive_after
        FROM sessions WHERE state = 'stopped' AND NOT pinned
    UNION ALL
    SELECT tenant, id, location, retry_at, 4, 'delete', last_activity_at + delete_after
        FROM sessions WHERE state IN ('active', 'paused', 'stopped', 'archived', 'error') AND NOT pinned
    UNION ALL
    -- One in error may have a sandbox that runs. It cannot be frozen in that state, and if it never was up there is
    -- nothing to keep.
    SELECT tenant, id, location, retry_at, 5,
            CASE WHEN state = 'error' AND expiry_then <> 'delete'
                THEN CASE WHEN resumed_at IS NULL THEN 'delete' ELSE 'stop' END
                ELSE expiry_then END,
            expires_at
        FROM sessions WHERE state IN ('active', 'pausing', 'error')
            OR (state IN ('creating', 'resuming') AND expiry_then = 'delete')
    UNION ALL
    SELECT tenant, id, location, retry_at, 6, 'delete', created_at + lifetime
        FROM sessions WHERE state IN ('active', 'paused', 'stopped', 'archived', 'error')
    UNION ALL
    SELECT tenant, id, location, retry_at, 7, 'delete', updated_at
        FROM sessions WHERE state <> 'destroyed' AND delete_requested
)
SELECT tenant, id, location, rank, step, greatest(at, retry_at) AS due_at
    FROM steps
    WHERE at IS NOT NULL
      AND (rank >= 5 OR NOT EXISTS (
          SELECT FROM jobs WHERE jobs.tenant = steps.tenant AND jobs.session = steps.id AND jobs.state = 'running'));
