-- Task, lane and session tell one story: where a claim was made and what became of it, who wrote a checkpoint, and which
-- names are not given out again.

-- Who recorded a checkpoint when no agent or person wrote it.
ALTER TABLE checkpoints ADD COLUMN origin TEXT CHECK (origin IN ('launch', 'reconcile', 'hook', 'provider'));
CREATE INDEX checkpoints_written ON checkpoints (task_id, id) WHERE origin IS NULL;

-- A claim knows its lane, or without a lane the directory in which it was made. 'continued': the next session of the lane
-- went on with it, after its own session was proven to be over.
CREATE TABLE claims_new (
    task_id       TEXT    NOT NULL REFERENCES tasks (id),
    epoch         INTEGER NOT NULL,
    claimant      TEXT    NOT NULL,
    session_id    TEXT    REFERENCES agent_sessions (id),
    role          TEXT,
    claimed_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    ended_as      TEXT    CHECK (ended_as IN
                  ('released', 'done', 'cancelled', 'stolen', 'expired', 'handed_over', 'restored', 'continued')),
    lane          TEXT    REFERENCES lanes (name),
    worktree      TEXT,
    -- Whether the claim put the task into its lane; its release takes the task out again.
    assigned_lane INTEGER NOT NULL DEFAULT 0 CHECK (assigned_lane IN (0, 1)),
    PRIMARY KEY (task_id, epoch),
    CHECK ((ended_at IS NULL) = (ended_as IS NULL)),
    CHECK (assigned_lane = 0 OR lane IS NOT NULL)
) STRICT, WITHOUT ROWID;
INSERT INTO claims_new (task_id, epoch, claimant, session_id, role, claimed_at, ended_at, ended_as, lane)
    SELECT c.task_id, c.epoch, c.claimant, c.session_id, c.role, c.claimed_at, c.ended_at, c.ended_as,
           (SELECT s.lane FROM agent_sessions s WHERE s.id = c.session_id)
    FROM claims c;
DROP TABLE claims;
ALTER TABLE claims_new RENAME TO claims;
CREATE UNIQUE INDEX claims_live ON claims (task_id) WHERE ended_at IS NULL;
CREATE INDEX claims_session ON claims (session_id) WHERE session_id IS NOT NULL;

-- A lane that was used keeps its row, for the history; it is not listed, and its name can be used again.
ALTER TABLE lanes ADD COLUMN removed_at INTEGER;

-- A host is its machine id and pid namespace: it stays itself under another name, and two containers of one name differ.
-- Null in rows of earlier versions, which match by name.
ALTER TABLE agent_sessions ADD COLUMN host_id TEXT;
ALTER TABLE exec_runs ADD COLUMN host_id TEXT;
-- When its backend last saw output of it.
ALTER TABLE agent_sessions ADD COLUMN last_output_at INTEGER;

-- What the caller said about the call, such as the item that it works on.
ALTER TABLE guard_decisions ADD COLUMN context TEXT;

-- The ids of tasks that were removed. An id is never given out again.
CREATE TABLE removed_tasks (
    id          TEXT    NOT NULL PRIMARY KEY,
    removed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX events_lane ON events (lane, seq) WHERE lane IS NOT NULL;

PRAGMA user_version = 6;
