-- When the turn that took a message ended, and why; NULL while it goes on, and for an agent that does not report its turns' ends.
ALTER TABLE messages ADD COLUMN answered_at INTEGER;
ALTER TABLE messages ADD COLUMN stop_reason TEXT;
-- 1 if the agent of a structured session takes prompts into its running turn.
ALTER TABLE session_reports ADD COLUMN can_steer INTEGER;

PRAGMA user_version = 19;
