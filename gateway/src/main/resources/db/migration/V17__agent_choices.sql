-- Which agent a tenant, or one of its sessions, has in place of what the server is set to. The tenant's own row has the
-- session ''. There may be one of a session that is not there yet, as the first message makes it.
CREATE TABLE agent_choices (
    tenant      text NOT NULL REFERENCES tenants (id),
    session     text NOT NULL DEFAULT '',
    choice      jsonb NOT NULL,
    changed_by  text NOT NULL,
    changed_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, session)
);

-- What an agent asks before it uses one of its tools. It is the agent who acts, so such an approval ends with the
-- decision. A question that is asked again, after a restart, finds the row it had.
ALTER TABLE approvals ADD COLUMN run text;
ALTER TABLE approvals ADD COLUMN question text;
ALTER TABLE approvals ADD COLUMN title text;
CREATE UNIQUE INDEX approvals_of_runs ON approvals (run, question) WHERE run IS NOT NULL;
