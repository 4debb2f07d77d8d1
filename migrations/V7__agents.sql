-- The agents, built in: which session a relaunched one goes on from, what its first prompt was, and what its screen showed.

-- The session whose work, and whose conversation where the provider can, this one goes on with.
ALTER TABLE agent_sessions ADD COLUMN relaunch_of TEXT REFERENCES agent_sessions (id);
-- The message with its first prompt. No foreign key: old messages are removed.
ALTER TABLE agent_sessions ADD COLUMN first_prompt INTEGER;
-- The digest of the screen that was last looked at, and since when it is that.
ALTER TABLE session_reports ADD COLUMN screen_digest TEXT;
ALTER TABLE session_reports ADD COLUMN screen_since INTEGER;
-- How many tool calls have begun and not ended.
ALTER TABLE session_reports ADD COLUMN open_calls INTEGER NOT NULL DEFAULT 0 CHECK (open_calls >= 0);

PRAGMA user_version = 7;
