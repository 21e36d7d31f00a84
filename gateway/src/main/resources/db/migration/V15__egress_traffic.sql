-- What each conversation has carried over its network, since it began.
CREATE TABLE egress_traffic (
    tenant      text NOT NULL REFERENCES tenants (id),
    session     text NOT NULL,
    sent        bigint NOT NULL,
    received    bigint NOT NULL,
    updated_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, session)
);
