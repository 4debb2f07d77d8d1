-- The sandbox that each session of a lane has at least; NULL is none.
ALTER TABLE lanes ADD COLUMN sandbox TEXT;
-- The sandbox around a session's program; NULL for a session that Fairway did not launch.
ALTER TABLE agent_sessions ADD COLUMN sandbox TEXT;
-- The changed paths that programs of a person run or read later, as JSON; NULL for none, and in a row of an earlier version.
ALTER TABLE lane_snapshots ADD COLUMN runs_later TEXT;

PRAGMA user_version = 18;
