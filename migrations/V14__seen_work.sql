-- Reviews that remember: the commit of a task's work that a reviewer has seen, with the commit where it left its base, and the one
-- that this reviewer had seen before. Refs of Fairway's own keep these commits, named by `id`. `lane`: in which the work was.
-- `deferred_at`: when the reviewer put the task off.
CREATE TABLE seen_work (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id        TEXT    NOT NULL REFERENCES tasks (id),
    reviewer       TEXT    NOT NULL,
    lane           TEXT,
    commit_id      TEXT,
    fork           TEXT,
    earlier_commit TEXT,
    earlier_fork   TEXT,
    seen_at        INTEGER,
    deferred_at    INTEGER
) STRICT;
CREATE UNIQUE INDEX seen_work_reviewer ON seen_work (task_id, reviewer);

PRAGMA user_version = 14;
