-- Landing: lanes' work that was brought into a base, and the attempts to.

-- One attempt. The candidate is held by refs/fairway/land/ID until the attempt is over. `moving` is an intent: the base goes
-- from `base_before` to `candidate`, and the next landing finishes that. `tasks`: each with the epoch that its claim had, as JSON:
-- [["T-1", 2]].
CREATE TABLE landings (
    id          INTEGER PRIMARY KEY,
    lane        TEXT,
    commit_id   TEXT NOT NULL,
    style       TEXT NOT NULL CHECK (style IN ('merge', 'squash', 'rebase')),
    base        TEXT NOT NULL,
    base_before TEXT NOT NULL,
    candidate   TEXT,
    state       TEXT NOT NULL CHECK (state IN ('checking', 'moving', 'landed', 'sent_back', 'failed')),
    tasks       TEXT NOT NULL,
    error       TEXT,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER
) STRICT;

-- The commit of the base with which the task's work landed.
ALTER TABLE tasks ADD COLUMN landed_commit TEXT;

PRAGMA user_version = 10;
