-- What the surface by which a session was made wants to know again of it.
ALTER TABLE sessions ADD COLUMN surface jsonb NOT NULL DEFAULT '{}';
