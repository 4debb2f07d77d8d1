-- Pull requests, and what was told about them, as in SQLite.
CREATE TABLE pull_requests (
    id        BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('pull_requests'),
    lane      TEXT COLLATE "C" NOT NULL,
    branch    TEXT COLLATE "C" NOT NULL,
    base      TEXT COLLATE "C" NOT NULL,
    commit_id TEXT COLLATE "C" NOT NULL,
    pushed    TEXT COLLATE "C" NOT NULL,
    tasks     TEXT COLLATE "C" NOT NULL,
    number    BIGINT,
    url       TEXT COLLATE "C",
    state     TEXT COLLATE "C" NOT NULL CHECK (state IN ('open', 'merged', 'closed')),
    summary   TEXT COLLATE "C" NOT NULL,
    host_id   TEXT COLLATE "C",
    opened_at BIGINT           NOT NULL,
    synced_at BIGINT,
    ended_at  BIGINT
);
CREATE UNIQUE INDEX pull_requests_open ON pull_requests (lane) WHERE ended_at IS NULL;
CREATE TABLE pull_request_facts (
    pull_request BIGINT           NOT NULL REFERENCES pull_requests (id),
    fact         TEXT COLLATE "C" NOT NULL,
    told_at      BIGINT           NOT NULL,
    PRIMARY KEY (pull_request, fact)
);
