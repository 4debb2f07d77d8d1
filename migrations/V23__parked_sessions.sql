-- Until when a session is parked, and why; NULL for one that is not.
ALTER TABLE agent_sessions ADD COLUMN parked_until INTEGER;
ALTER TABLE agent_sessions ADD COLUMN parked_why TEXT;

PRAGMA user_version = 23;
