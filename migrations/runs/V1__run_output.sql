-- What background runs printed: where the bytes lie, what was noticed in them, and how much there was.
CREATE TABLE exec_run_items (
    run         BLOB    NOT NULL,
    seq         INTEGER NOT NULL,
    type        TEXT    NOT NULL CHECK (type IN ('stdout', 'stderr', 'event')),
    -- Of output: its place in the segment files of its stream.
    segment     INTEGER,
    start       INTEGER,
    length      INTEGER,
    -- How many bytes of its stream were printed before it: whether two items follow one another without a hole.
    origin      INTEGER,
    -- Of an event: its text, its particulars as JSON, and the key of the message that it owes to the run's session.
    payload     TEXT,
    meta        TEXT,
    owes        TEXT,
    created_at  INTEGER NOT NULL,
    PRIMARY KEY (run, seq),
    CHECK ((type = 'event') = (payload IS NOT NULL)),
    CHECK ((type = 'event') = (segment IS NULL)),
    CHECK ((segment IS NULL) = (start IS NULL)),
    CHECK ((segment IS NULL) = (length IS NULL)),
    CHECK ((segment IS NULL) = (origin IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX exec_run_items_owing ON exec_run_items (run, seq) WHERE owes IS NOT NULL;
-- Who waits for an event looks after each batch: however much was printed, events are found by themselves.
CREATE INDEX exec_run_items_events ON exec_run_items (run, seq) WHERE type = 'event';

CREATE TABLE exec_watchers (
    run    BLOB    NOT NULL,
    place  INTEGER NOT NULL,
    regex  TEXT    NOT NULL,
    event  TEXT    NOT NULL,
    once   INTEGER NOT NULL CHECK (once IN (0, 1)),
    scope  TEXT    NOT NULL CHECK (scope IN ('stdout', 'stderr', 'both')),
    hits   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, place)
) STRICT, WITHOUT ROWID;

-- One row for each run that printed something or was noted about.
CREATE TABLE exec_outputs (
    run           BLOB    NOT NULL PRIMARY KEY,
    next_seq      INTEGER NOT NULL,
    stdout_bytes  INTEGER NOT NULL DEFAULT 0,
    stderr_bytes  INTEGER NOT NULL DEFAULT 0,
    -- Left out between head and tail, and the event that says so.
    dropped_bytes INTEGER NOT NULL DEFAULT 0,
    gap_seq       INTEGER
) STRICT, WITHOUT ROWID;

PRAGMA application_id = 1178683727;
PRAGMA user_version = 1;
