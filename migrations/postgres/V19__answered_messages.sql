-- The end of the turn that took a message, and whether an agent takes prompts into its running turn, as in SQLite.
ALTER TABLE messages ADD COLUMN answered_at BIGINT;
ALTER TABLE messages ADD COLUMN stop_reason TEXT COLLATE "C";
ALTER TABLE session_reports ADD COLUMN can_steer BIGINT;
