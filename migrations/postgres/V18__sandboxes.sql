-- The sandbox that each session of a lane has at least, the one around a session's program, and a lane's changed paths that
-- programs of a person run or read later, as in SQLite.
ALTER TABLE lanes ADD COLUMN sandbox TEXT COLLATE "C";
ALTER TABLE agent_sessions ADD COLUMN sandbox TEXT COLLATE "C";
ALTER TABLE lane_snapshots ADD COLUMN runs_later TEXT COLLATE "C";
