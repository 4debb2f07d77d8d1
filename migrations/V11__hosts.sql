-- Hosts: which machine a lane's worktree is on. `host` is for people; `host_id` is compared. Both are NULL in a lane without a
-- worktree, and in one of an earlier version.
ALTER TABLE lanes ADD COLUMN host TEXT;
ALTER TABLE lanes ADD COLUMN host_id TEXT;
-- In whose repository a landing is made.
ALTER TABLE landings ADD COLUMN host TEXT;
ALTER TABLE landings ADD COLUMN host_id TEXT;

PRAGMA user_version = 11;
