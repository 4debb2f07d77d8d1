-- Overlap: what each lane's worktree held when it was last looked at, and which lanes change the same lines. The comments stand
-- outside of the statements, since every command reads the stored text of those.

-- `host`: of the worktree. `tip`: the commit that was checked out; `base`: where the work left the base; `base_tip`: the base's
-- commit. `digest`: of everything that a merge depends on. `snapshot`: a commit in Fairway's own objects. `paths`: the changed paths
-- with their lines, as JSON. `unknown`: why the worktree could not be judged. `judged`: the digest with which it was judged against
-- every other lane; another one than `digest` while that is to be done.
CREATE TABLE lane_snapshots (
    lane     TEXT    NOT NULL PRIMARY KEY,
    host     TEXT    NOT NULL,
    tip      TEXT,
    base     TEXT,
    base_tip TEXT,
    digest   TEXT    NOT NULL,
    snapshot TEXT,
    paths    TEXT    NOT NULL CHECK (json_valid(paths)),
    added    INTEGER NOT NULL CHECK (added >= 0),
    deleted  INTEGER NOT NULL CHECK (deleted >= 0),
    taken_at INTEGER NOT NULL,
    unknown  TEXT,
    judged   TEXT
) STRICT, WITHOUT ROWID;

-- `lane_b`: the later of the two by name; empty for the base. `files`: with their levels and lines, as JSON. `why`: the two cannot
-- be judged. `told`: the files of which the sessions were told, with the level, as JSON; kept when the overlap is gone (`none`).
CREATE TABLE overlaps (
    lane_a TEXT    NOT NULL,
    lane_b TEXT    NOT NULL,
    level  TEXT    NOT NULL,
    files  TEXT    NOT NULL CHECK (json_valid(files)),
    why    TEXT,
    since  INTEGER NOT NULL,
    told   TEXT    NOT NULL CHECK (json_valid(told)),
    PRIMARY KEY (lane_a, lane_b)
) STRICT, WITHOUT ROWID;

PRAGMA user_version = 9;
