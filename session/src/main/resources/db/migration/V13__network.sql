ALTER TABLE sessions ADD COLUMN network jsonb NOT NULL
    DEFAULT '{"mode": "none", "allow": [], "secrets": [], "caps": {"connections": 256, "bytes": 0, "bytesPerSecond": 0}}';
