-- How many questions a session has asked by its activity, as in SQLite.
ALTER TABLE agent_sessions ADD COLUMN questions BIGINT NOT NULL DEFAULT 0;
