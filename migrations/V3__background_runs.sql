-- Background runs. What they print lies in files and in runs.db; environments lie in private files only.
CREATE TABLE exec_runs (
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,
    id               TEXT    NOT NULL UNIQUE,
    session_id       TEXT,
    queue            TEXT,
    status           TEXT    NOT NULL CHECK (status IN
        ('queued', 'starting', 'running', 'succeeded', 'failed', 'canceled', 'timed_out', 'lost')),
    command          TEXT    NOT NULL,
    cwd              TEXT    NOT NULL,
    background       INTEGER NOT NULL CHECK (background IN (0, 1)),
    pty_rows         INTEGER CHECK (pty_rows > 0),
    pty_cols         INTEGER CHECK (pty_cols > 0),
    timeout_ms       INTEGER CHECK (timeout_ms > 0),
    max_output_bytes INTEGER NOT NULL CHECK (max_output_bytes > 0),
    recovery         TEXT    NOT NULL CHECK (recovery IN ('requeue', 'lost')),
    attempt          INTEGER NOT NULL DEFAULT 1 CHECK (attempt >= 1),
    host             TEXT    NOT NULL,
    boot_id          TEXT    NOT NULL,
    keeper_pid       INTEGER,
    keeper_started   INTEGER,
    pid              INTEGER,
    pid_started      INTEGER,
    exit_code        INTEGER,
    signal           INTEGER,
    output_bytes     INTEGER NOT NULL DEFAULT 0,
    truncated        INTEGER NOT NULL DEFAULT 0 CHECK (truncated IN (0, 1)),
    error_message    TEXT,
    actor            TEXT    NOT NULL,
    queued_at        INTEGER NOT NULL,
    started_at       INTEGER,
    finished_at      INTEGER,
    updated_at       INTEGER NOT NULL,
    CHECK ((pty_rows IS NULL) = (pty_cols IS NULL)),
    CHECK ((status IN ('succeeded', 'failed', 'canceled', 'timed_out', 'lost')) = (finished_at IS NOT NULL)),
    CHECK ((status IN ('starting', 'running')) = (keeper_pid IS NOT NULL)),
    CHECK ((keeper_pid IS NULL) = (keeper_started IS NULL)),
    CHECK ((pid IS NULL) = (pid_started IS NULL)),
    CHECK (status <> 'running' OR (pid IS NOT NULL AND started_at IS NOT NULL))
) STRICT;
CREATE INDEX exec_runs_active ON exec_runs (seq) WHERE status IN ('starting', 'running');
CREATE INDEX exec_runs_queued ON exec_runs (seq) WHERE status = 'queued';
CREATE INDEX exec_runs_session ON exec_runs (session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX exec_runs_short ON exec_runs (substr(id, -8));
CREATE INDEX exec_runs_final ON exec_runs (finished_at) WHERE finished_at IS NOT NULL;

-- A message that a program's output caused is looked up by its key, also after it was read.
CREATE INDEX messages_dedup ON messages (dedup) WHERE dedup IS NOT NULL;

PRAGMA user_version = 3;
