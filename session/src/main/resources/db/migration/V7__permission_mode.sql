ALTER TABLE sessions ADD COLUMN permission_mode text NOT NULL DEFAULT 'bypass'
    CHECK (permission_mode IN ('ask', 'edit', 'bypass'));
