-- Calls that a person has to allow first. The request is kept whole, sealed as it may have secrets in it, and made again by
-- the server when it is allowed: by whichever server has turned 'approved' into 'running', so never twice. One that was
-- running when its server died is 'failed', as nobody knows how far it came.
CREATE TABLE approvals (
    id              text PRIMARY KEY,
    tenant          text NOT NULL REFERENCES tenants (id),
    session         text,
    tool            text NOT NULL,
    operation       text NOT NULL,
    path            jsonb NOT NULL,
    body            bytea NOT NULL,
    request_id      text NOT NULL,
    state           text NOT NULL DEFAULT 'pending'
        CHECK (state IN ('pending', 'approved', 'running', 'done', 'denied', 'expired', 'failed')),
    requested_by    text NOT NULL,
    requested_at    timestamptz NOT NULL DEFAULT now(),
    expires_at      timestamptz NOT NULL,
    decided_by      text,
    decided_at      timestamptz,
    reason          text,
    running_until   timestamptz,
    status          integer,
    result          bytea,
    ended_at        timestamptz
);
CREATE INDEX approvals_open ON approvals (tenant, requested_at) WHERE state IN ('pending', 'approved', 'running');
CREATE INDEX approvals_by_time ON approvals (tenant, requested_at DESC);

-- What a person has allowed for the rest of a session.
CREATE TABLE approval_grants (
    tenant      text NOT NULL,
    session     text NOT NULL,
    tool        text NOT NULL,
    granted_by  text NOT NULL,
    granted_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, session, tool),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
