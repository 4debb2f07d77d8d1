-- The end of the last message of a session's turn. Masked; NULL while a turn runs or when its agent reports none.
ALTER TABLE session_reports ADD COLUMN last_message TEXT;

PRAGMA user_version = 22;
