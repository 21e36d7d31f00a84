-- Addresses of tenants that are told when something ended. Secrets are sealed with a key that is not in the database.
CREATE TABLE webhooks (
    id             text PRIMARY KEY,
    tenant         text NOT NULL REFERENCES tenants (id),
    url            text NOT NULL,
    events         text[] NOT NULL,
    secret_sealed  bytea NOT NULL,
    created_at     timestamptz NOT NULL DEFAULT now(),
    disabled_at    timestamptz
);
CREATE INDEX webhooks_by_tenant ON webhooks (tenant);

-- What they are told, written together with what happened. Whoever sends one leases it first; a server that dies
-- meanwhile lets the lease run out, and the next attempt has the same id.
CREATE TABLE webhook_deliveries (
    id               text PRIMARY KEY,
    webhook          text NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
    event            text NOT NULL,
    job_id           text NOT NULL,
    body             text NOT NULL,
    state            text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'observed', 'given_up')),
    attempts         integer NOT NULL DEFAULT 0,
    next_attempt_at  timestamptz NOT NULL DEFAULT now(),
    leased_until     timestamptz,
    last_status      integer,
    last_error       text,
    created_at       timestamptz NOT NULL DEFAULT now(),
    delivered_at     timestamptz
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_attempt_at) WHERE state = 'waiting';
CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries (webhook, created_at);
CREATE INDEX webhook_deliveries_by_job ON webhook_deliveries (job_id);
