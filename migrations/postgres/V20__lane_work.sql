-- How that which is checked out in a lane stands to its recorded branch, as in SQLite.
ALTER TABLE lane_snapshots ADD COLUMN work TEXT COLLATE "C";
