-- Templates that tenants built through the API, by the names they gave them. The provider knows a build's files as
-- t-<id>:<version>; a template that is deleted stays until nobody needs those files any more.
CREATE TABLE templates (
    id          text PRIMARY KEY CHECK (id ~ '^[a-z0-9]{20}$'),
    tenant      text NOT NULL REFERENCES tenants (id),
    public      boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL DEFAULT now(),
    updated_at  timestamptz NOT NULL DEFAULT now(),
    deleted_at  timestamptz
);
CREATE INDEX templates_by_tenant ON templates (tenant, created_at);

CREATE TABLE template_aliases (
    tenant    text NOT NULL REFERENCES tenants (id),
    alias     text NOT NULL,
    template  text NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    PRIMARY KEY (tenant, alias)
);

-- What a build is made of is nowhere here, since it may name who asks a registry; the server that was told knows it, and
-- says every few seconds that it is at work. One that no server says that of has failed.
CREATE TABLE template_builds (
    id           uuid PRIMARY KEY,
    template     text NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    status       text NOT NULL DEFAULT 'waiting' CHECK (status IN ('waiting', 'building', 'ready', 'error')),
    tags         text[] NOT NULL,
    cpus         integer,
    memory_mb    integer,
    root         text,
    size         bigint,
    reason       text,
    reason_step  text,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    finished_at  timestamptz
);
CREATE INDEX template_builds_by_template ON template_builds (template, created_at DESC);
CREATE INDEX template_builds_unfinished ON template_builds (updated_at) WHERE status IN ('waiting', 'building');

CREATE TABLE template_tags (
    template    text NOT NULL REFERENCES templates (id) ON DELETE CASCADE,
    tag         text NOT NULL,
    build       uuid NOT NULL REFERENCES template_builds (id) ON DELETE CASCADE,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (template, tag)
);

CREATE TABLE template_build_logs (
    build    uuid NOT NULL REFERENCES template_builds (id) ON DELETE CASCADE,
    number   integer NOT NULL,
    at       timestamptz NOT NULL,
    level    text NOT NULL,
    step     text,
    message  text NOT NULL,
    PRIMARY KEY (build, number)
);
