-- The keys of tenants, known by their hash alone.
CREATE TABLE api_keys (
    id            text PRIMARY KEY,
    tenant        text NOT NULL REFERENCES tenants (id),
    name          text NOT NULL,
    hash          text NOT NULL UNIQUE,
    scopes        text NOT NULL,
    created_at    timestamptz NOT NULL DEFAULT now(),
    expires_at    timestamptz,
    revoked_at    timestamptz,
    last_used_at  timestamptz
);
CREATE INDEX api_keys_by_tenant ON api_keys (tenant);
