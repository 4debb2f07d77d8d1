-- Reviews that remember, as in SQLite.
CREATE TABLE seen_work (
    id             BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('seen_work'),
    task_id        TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    reviewer       TEXT COLLATE "C" NOT NULL,
    lane           TEXT COLLATE "C",
    commit_id      TEXT COLLATE "C",
    fork           TEXT COLLATE "C",
    earlier_commit TEXT COLLATE "C",
    earlier_fork   TEXT COLLATE "C",
    seen_at        BIGINT,
    deferred_at    BIGINT
);
CREATE UNIQUE INDEX seen_work_reviewer ON seen_work (task_id, reviewer);
