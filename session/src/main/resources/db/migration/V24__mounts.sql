-- Volumes among the files of a session's computer.
ALTER TABLE sessions ADD COLUMN mounts jsonb NOT NULL DEFAULT '[]';
