-- Comments of reviewers on lines. `line_text`: the line as it was at the commit. `told_in`: the review whose verdict told the author.
CREATE TABLE review_comments (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id     TEXT    NOT NULL REFERENCES tasks (id),
    reviewer    TEXT    NOT NULL,
    commit_id   TEXT    NOT NULL,
    path        TEXT    NOT NULL,
    line        INTEGER NOT NULL,
    line_text   TEXT    NOT NULL,
    content     TEXT    NOT NULL,
    created_at  INTEGER NOT NULL,
    told_in     INTEGER,
    resolved_by TEXT,
    resolved_at INTEGER
) STRICT;
CREATE INDEX review_comments_task ON review_comments (task_id, id);

PRAGMA user_version = 15;
