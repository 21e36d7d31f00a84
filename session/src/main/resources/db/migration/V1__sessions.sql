-- Which installation this database is. Sandboxes carry it as a label, so that no other one removes them as strangers.
CREATE TABLE installation (
    single  boolean PRIMARY KEY DEFAULT true CHECK (single),
    id      uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO installation DEFAULT VALUES;

-- A null limit is none.
CREATE TABLE tenants (
    id                      text PRIMARY KEY,
    max_live                integer DEFAULT 50,
    max_created_per_minute  integer DEFAULT 120,
    max_memory_bytes        bigint,
    max_disk_bytes          bigint,
    makes_room              boolean NOT NULL DEFAULT true,
    created_at              timestamptz NOT NULL DEFAULT now()
);
INSERT INTO tenants (id) VALUES ('default');

-- One row for each conversation, for ever. Whoever changes its state holds the advisory lock of its key and raises its
-- version; what is known only in the memory of a server (last_activity_at, disk_bytes) is flushed without either.
CREATE TABLE sessions (
    tenant              text NOT NULL REFERENCES tenants (id),
    id                  text NOT NULL,
    channel             text,
    state               text NOT NULL CHECK (state IN ('creating', 'active', 'pausing', 'paused', 'resuming', 'stopped',
                                                       'archived', 'deleting', 'destroyed', 'error')),
    version             bigint NOT NULL DEFAULT 1,

    provider            text NOT NULL,
    location            text NOT NULL,
    sandbox_id          text NOT NULL UNIQUE,
    template            text NOT NULL,
    limits              jsonb NOT NULL,
    memory_bytes        bigint NOT NULL,
    disk_bytes          bigint NOT NULL DEFAULT 0,
    env                 jsonb NOT NULL DEFAULT '{}',

    pause_after         interval,
    stop_after          interval,
    archive_after       interval,
    delete_after        interval,
    lifetime            interval,
    pinned              boolean NOT NULL DEFAULT false,
    delete_requested    boolean NOT NULL DEFAULT false,

    turn                integer NOT NULL DEFAULT 0,
    auto_checkpoint     boolean NOT NULL DEFAULT false,
    keep_checkpoints    integer NOT NULL,

    agent_session_id    text,
    preview_url         text,
    preview_token_hash  text,
    preview_expires_at  timestamptz,

    archive_name        text,
    archive_sha256      text,
    archive_bytes       bigint,
    archive_template    text,

    loss                jsonb,
    resume_fail_count   integer NOT NULL DEFAULT 0,
    last_error          text,
    retry_at            timestamptz,

    last_seq            bigint NOT NULL DEFAULT 0,
    created_at          timestamptz NOT NULL DEFAULT now(),
    updated_at          timestamptz NOT NULL DEFAULT now(),
    last_activity_at    timestamptz NOT NULL DEFAULT now(),
    paused_at           timestamptz,
    resumed_at          timestamptz,
    stopped_at          timestamptz,
    archived_at         timestamptz,
    destroyed_at        timestamptz,

    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_by_state ON sessions (state, last_activity_at) WHERE state <> 'destroyed';

-- Every sandbox that was ever made for a session, written before it is made. Of those not yet destroyed there can be
-- one for each session.
CREATE TABLE sandboxes (
    number          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant          text NOT NULL,
    session         text NOT NULL,
    provider        text NOT NULL,
    location        text NOT NULL,
    sandbox_id      text NOT NULL,
    origin          text NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    destroyed_at    timestamptz,
    end_reason      text,
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
CREATE UNIQUE INDEX sandboxes_one_for_each_session ON sandboxes (tenant, session) WHERE destroyed_at IS NULL;
CREATE INDEX sandboxes_by_time ON sandboxes (tenant, created_at);

-- Points in time of a session's files. A row without checkpoint_id is one that is being taken.
CREATE TABLE checkpoints (
    tenant          text NOT NULL,
    session         text NOT NULL,
    turn            integer NOT NULL,
    name            text NOT NULL,
    checkpoint_id   text UNIQUE,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, session, turn),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);

-- What happened, in order and without gaps for each session: the number is taken from the session's row, whose lock is
-- held until the event can be seen.
CREATE TABLE events (
    tenant      text NOT NULL,
    session     text NOT NULL,
    seq         bigint NOT NULL,
    at          timestamptz NOT NULL DEFAULT clock_timestamp(),
    type        text NOT NULL,
    actor       text NOT NULL,
    correlation text,
    data        jsonb NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, session, seq),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);

CREATE TABLE jobs (
    id              text PRIMARY KEY,
    tenant          text NOT NULL,
    session         text NOT NULL,
    call_id         text,
    state           text NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'stopped')),
    command_id      integer,
    boot_id         text,
    token_hash      text,
    exit_code       integer,
    error           text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz,
    observed_at     timestamptz,
    delivered_at    timestamptz,
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
CREATE INDEX jobs_running ON jobs (tenant, session) WHERE state = 'running';

CREATE TABLE artifacts (
    id          text PRIMARY KEY,
    tenant      text NOT NULL,
    session     text NOT NULL,
    call_id     text,
    name        text NOT NULL,
    path        text NOT NULL,
    mime_type   text NOT NULL,
    size        bigint NOT NULL,
    sha256      text NOT NULL,
    kind        text NOT NULL,
    preview     text,
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz,
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
CREATE INDEX artifacts_by_session ON artifacts (tenant, session, created_at);

-- The ladder that idle sessions go down: what is to be done with which session, and when. Of several steps the last one
-- here is the one to take, since it makes those before it needless.
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
    SELECT tenant, id, location, retry_at, 5, 'delete', created_at + lifetime
        FROM sessions WHERE state IN ('active', 'paused', 'stopped', 'archived', 'error')
    UNION ALL
    SELECT tenant, id, location, retry_at, 6, 'delete', updated_at
        FROM sessions WHERE state <> 'destroyed' AND delete_requested
)
SELECT tenant, id, location, rank, step, greatest(at, retry_at) AS due_at
    FROM steps
    WHERE at IS NOT NULL
      AND (rank >= 5 OR NOT EXISTS (
          SELECT FROM jobs WHERE jobs.tenant = steps.tenant AND jobs.session = steps.id AND jobs.state = 'running'));
