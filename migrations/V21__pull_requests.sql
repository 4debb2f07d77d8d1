-- The pull requests through which lanes land; a lane has at most one that is open. `pushed`: the commits that its branch got or may
-- have got from here, the oldest first. `number` and `url` are those of the forge; NULL until it has answered.
CREATE TABLE pull_requests (
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    lane      TEXT    NOT NULL,
    branch    TEXT    NOT NULL,
    base      TEXT    NOT NULL,
    commit_id TEXT    NOT NULL,
    pushed    TEXT    NOT NULL,
    tasks     TEXT    NOT NULL,
    number    INTEGER,
    url       TEXT,
    state     TEXT    NOT NULL CHECK (state IN ('open', 'merged', 'closed')),
    summary   TEXT    NOT NULL,
    host_id   TEXT,
    opened_at INTEGER NOT NULL,
    synced_at INTEGER,
    ended_at  INTEGER
) STRICT;
CREATE UNIQUE INDEX pull_requests_open ON pull_requests (lane) WHERE ended_at IS NULL;

-- What was told about a pull request, once each: a failed check of a commit, a comment, a conflict.
CREATE TABLE pull_request_facts (
    pull_request INTEGER NOT NULL REFERENCES pull_requests (id),
    fact         TEXT    NOT NULL,
    told_at      INTEGER NOT NULL,
    PRIMARY KEY (pull_request, fact)
) STRICT;

PRAGMA user_version = 21;
