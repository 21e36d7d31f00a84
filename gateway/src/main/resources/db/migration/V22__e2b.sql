-- Secrets have an id, count their values, and may have notes. One that was made by E2B's API is known there by a label,
-- which may have letters that a name may not.
ALTER TABLE secrets
    ADD COLUMN id        text NOT NULL DEFAULT 'sec_' || replace(gen_random_uuid()::text, '-', ''),
    ADD COLUMN label     text,
    ADD COLUMN version   bigint NOT NULL DEFAULT 1,
    ADD COLUMN metadata  jsonb NOT NULL DEFAULT '{}',
    ADD UNIQUE (tenant, label),
    ADD UNIQUE (id);

-- Headers that are set in what a sandbox sends, as its maker said it. They may be keys, so they are sealed. A row comes
-- before its session, and goes some time after it.
CREATE TABLE e2b_rules (
    tenant        text NOT NULL REFERENCES tenants (id),
    session       text NOT NULL,
    rules_sealed  bytea NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, session)
);

-- Directories that outlive sandboxes. A row comes before its directory and goes after it.
CREATE TABLE volumes (
    id          text PRIMARY KEY,
    tenant      text NOT NULL REFERENCES tenants (id),
    name        text NOT NULL,
    location    text NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz
);
CREATE UNIQUE INDEX volumes_by_name ON volumes (tenant, name) WHERE deleted_at IS NULL;
