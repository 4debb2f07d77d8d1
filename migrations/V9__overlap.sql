-- Overlap: what each lane's worktree held when it was last looked at, and which lanes change the same lines.

CREATE TABLE lane_snapshots (
    lane TEXT NOT NULL PRIMARY KEY,
    -- The host of the worktree.
    host TEXT NOT NULL,
    -- The commit that was checked out, the commit where the work left the base, and the base's commit.
    tip TEXT,
    base TEXT,
    base_tip TEXT,
    -- The digest of everything that a merge depends on.
    digest TEXT NOT NULL,
    -- The snapshot as a commit, in Fairway's own objects.
    snapshot TEXT,
    -- The changed paths with their lines, as JSON.
    paths TEXT NOT NULL CHECK (json_valid(paths)),
    added INTEGER NOT NULL CHECK (added >= 0),
    deleted INTEGER NOT NULL CHECK (deleted >= 0),
    taken_at INTEGER NOT NULL,
    -- Why the worktree could not be judged.
    unknown TEXT,
    -- The digest with which it was judged against every other lane; another one than `digest` while that is to be done.
    judged TEXT
) WITHOUT ROWID;

CREATE TABLE overlaps (
    lane_a TEXT NOT NULL,
    -- The later of the two by name; empty for the base.
    lane_b TEXT NOT NULL,
    level TEXT NOT NULL,
    -- The files with their levels and lines, as JSON.
    files TEXT NOT NULL CHECK (json_valid(files)),
    -- Why the two cannot be judged.
    why TEXT,
    since INTEGER NOT NULL,
    -- The files of which the sessions were told, with the level, as JSON. Kept when the overlap is gone (`level` is `none`).
    told TEXT NOT NULL CHECK (json_valid(told)),
    PRIMARY KEY (lane_a, lane_b)
) WITHOUT ROWID;

PRAGMA user_version = 9;
