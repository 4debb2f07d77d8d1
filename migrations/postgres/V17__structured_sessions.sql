-- The agent of a structured session, its mode, and why it does not ask before it runs a tool, as in SQLite.
ALTER TABLE session_reports ADD COLUMN agent TEXT COLLATE "C";
ALTER TABLE session_reports ADD COLUMN agent_mode TEXT COLLATE "C";
ALTER TABLE session_reports ADD COLUMN unguarded TEXT COLLATE "C";
