-- Requests that a client named by an Idempotency-Key, and what they were answered. The row is there before the request
-- runs, so that it runs once whoever asks and wherever. One whose server died has a lease that is over and is taken over.
CREATE TABLE idempotency_keys (
    tenant          text NOT NULL,
    operator        boolean NOT NULL,
    key             text NOT NULL,
    request         bytea NOT NULL,
    run             uuid NOT NULL,
    running_until   timestamptz NOT NULL,
    status          integer,
    content_type    text,
    answer          bytea,
    made_at         timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, operator, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (made_at);
