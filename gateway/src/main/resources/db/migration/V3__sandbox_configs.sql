-- Named configurations of a tenant. Variables are sealed with a key that is not in the database.
CREATE TABLE sandbox_configs (
    id           text PRIMARY KEY,
    tenant       text NOT NULL REFERENCES tenants (id),
    name         text NOT NULL,
    description  text,
    config       jsonb NOT NULL,
    env_sealed   bytea,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    UNIQUE (tenant, name)
);

-- Which sessions were made by which, so that they go with it.
CREATE TABLE config_sessions (
    config   text NOT NULL REFERENCES sandbox_configs (id) ON DELETE CASCADE,
    tenant   text NOT NULL,
    session  text NOT NULL,
    PRIMARY KEY (config, tenant, session)
);
