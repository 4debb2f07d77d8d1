-- Comments of reviewers on lines, as in SQLite.
CREATE TABLE review_comments (
    id          BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('review_comments'),
    task_id     TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    reviewer    TEXT COLLATE "C" NOT NULL,
    commit_id   TEXT COLLATE "C" NOT NULL,
    path        TEXT COLLATE "C" NOT NULL,
    line        BIGINT           NOT NULL,
    line_text   TEXT COLLATE "C" NOT NULL,
    content     TEXT COLLATE "C" NOT NULL,
    created_at  BIGINT           NOT NULL,
    told_in     BIGINT,
    resolved_by TEXT COLLATE "C",
    resolved_at BIGINT
);
CREATE INDEX review_comments_task ON review_comments (task_id, id);
