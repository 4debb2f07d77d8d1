-- Parked sessions, as in SQLite.
ALTER TABLE agent_sessions ADD COLUMN parked_until BIGINT;
ALTER TABLE agent_sessions ADD COLUMN parked_why TEXT COLLATE "C";
