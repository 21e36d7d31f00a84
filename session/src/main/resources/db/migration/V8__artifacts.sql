-- Artifacts outlive the sandbox and the session they come from; what they contain is kept beside the database by its hash.
ALTER TABLE artifacts
    ADD COLUMN number bigint GENERATED ALWAYS AS IDENTITY,
    ADD COLUMN width integer,
    ADD COLUMN height integer,
    ALTER COLUMN expires_at SET NOT NULL,
    ADD CHECK (kind IN ('image', 'table', 'report', 'binary'));
DROP INDEX artifacts_by_session;
CREATE INDEX artifacts_by_session ON artifacts (tenant, session, number);
CREATE INDEX artifacts_by_content ON artifacts (tenant, sha256);
CREATE INDEX artifacts_by_expiry ON artifacts (expires_at);

-- Which files of a session were made artifacts already, each as a hash of its path, size and time. Kept apart from the
-- artifacts themselves: one that was removed or has expired must not come back because its file is still there.
CREATE TABLE artifact_scans (
    tenant      text NOT NULL,
    session     text NOT NULL,
    seen        bigint[] NOT NULL,
    PRIMARY KEY (tenant, session),
    FOREIGN KEY (tenant, session) REFERENCES sessions (tenant, id) ON DELETE CASCADE
);
