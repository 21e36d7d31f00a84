-- Links to a session's ports are signed, and no longer kept with it.
ALTER TABLE sessions
    DROP COLUMN preview_url,
    DROP COLUMN preview_token_hash,
    DROP COLUMN preview_expires_at;
