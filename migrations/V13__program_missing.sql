-- Since when the shell of a session's agent does not find `fairway`; NULL while it does, or nobody knows.
ALTER TABLE session_reports ADD COLUMN program_missing_at INTEGER;
CREATE INDEX session_reports_program_missing ON session_reports (session_id) WHERE program_missing_at IS NOT NULL;

PRAGMA user_version = 13;
