-- How many questions a session has asked by its activity, each counted by text and time: an answer names the one that it is for.
ALTER TABLE agent_sessions ADD COLUMN questions INTEGER NOT NULL DEFAULT 0;

PRAGMA user_version = 12;
