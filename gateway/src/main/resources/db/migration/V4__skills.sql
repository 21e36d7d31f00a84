CREATE TABLE skills (
    tenant       text NOT NULL REFERENCES tenants (id),
    name         text NOT NULL,
    description  text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, name)
);

CREATE TABLE skill_files (
    tenant   text NOT NULL,
    skill    text NOT NULL,
    path     text NOT NULL,
    content  bytea NOT NULL,
    PRIMARY KEY (tenant, skill, path),
    FOREIGN KEY (tenant, skill) REFERENCES skills (tenant, name) ON DELETE CASCADE
);
