-- The end of the last message of a session's turn, as in SQLite.
ALTER TABLE session_reports ADD COLUMN last_message TEXT COLLATE "C";
