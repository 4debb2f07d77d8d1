-- How that which is checked out in a lane stands to its recorded branch, such as `on_branch` or `other_branch NAME`; NULL in a row of
-- an earlier version.
ALTER TABLE lane_snapshots ADD COLUMN work TEXT;

PRAGMA user_version = 20;
