-- What tenants let their sandboxes use without seeing it. Values are sealed with a key that is not in the database.
CREATE TABLE secrets (
    tenant        text NOT NULL REFERENCES tenants (id),
    name          text NOT NULL,
    value_sealed  bytea NOT NULL,
    env           text NOT NULL,
    prefix        text NOT NULL,
    bindings      jsonb NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    updated_at    timestamptz NOT NULL DEFAULT now(),
    last_used_at  timestamptz,
    uses          bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, name)
);

-- What all servers of this database share and nobody else knows; sealed too. It stays when the key for sealing changes.
CREATE TABLE server_secrets (
    name          text PRIMARY KEY,
    value_sealed  bytea NOT NULL
);

-- A key that might do everything still may.
UPDATE api_keys SET scopes = 'approvals configs keys secrets sessions tools'
WHERE scopes = 'approvals configs keys sessions tools';
