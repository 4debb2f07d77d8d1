-- The structured boundary to agent runtimes: what they report, what they were told, and what they were allowed.

-- What a session's runtime has reported so far, beside what the session itself shows.
CREATE TABLE session_reports (
    session_id        TEXT    NOT NULL PRIMARY KEY REFERENCES agent_sessions (id),
    -- The time that the newest lifecycle report carried: an older one moves nothing back.
    lifecycle_at      INTEGER,
    -- When a hook of its provider last called.
    hooked_at         INTEGER,
    -- Since when it is known that its context is nearly full; one word to it is enough.
    pressure_at       INTEGER,
    -- What its newest heartbeat says is wrong. Masked.
    error             TEXT,
    -- The provider's own record of the session, and how much of it was read for usage, in bytes.
    usage_path        TEXT,
    usage_offset      INTEGER NOT NULL DEFAULT 0 CHECK (usage_offset >= 0)
) STRICT;

-- By which way a message was offered.
ALTER TABLE messages ADD COLUMN way TEXT
    CHECK (way IN ('stream', 'inbox', 'checkpoint', 'tool', 'turn_end', 'turn_start', 'wake', 'nudge'));
-- The sessions that were told that it is too long for the way to them, by their ids with a space between.
ALTER TABLE messages ADD COLUMN announced_to TEXT;

-- What turns used, as reported. A digest makes repeats of a report one row.
CREATE TABLE usage_turns (
    id                    INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id                TEXT    NOT NULL,
    session_id            TEXT    NOT NULL REFERENCES agent_sessions (id),
    role                  TEXT    NOT NULL,
    lane                  TEXT,
    task_id               TEXT,
    at                    INTEGER NOT NULL,
    digest                TEXT    NOT NULL,
    model                 TEXT,
    input_tokens          INTEGER NOT NULL DEFAULT 0 CHECK (input_tokens >= 0),
    output_tokens         INTEGER NOT NULL DEFAULT 0 CHECK (output_tokens >= 0),
    cache_read_tokens     INTEGER NOT NULL DEFAULT 0 CHECK (cache_read_tokens >= 0),
    cache_creation_tokens INTEGER NOT NULL DEFAULT 0 CHECK (cache_creation_tokens >= 0),
    -- In US dollars; null where the source gives none. Nothing here is calculated from prices.
    cost_usd              REAL    CHECK (cost_usd >= 0),
    UNIQUE (run_id, digest)
) STRICT;
CREATE INDEX usage_turns_at ON usage_turns (at);
CREATE INDEX usage_turns_session ON usage_turns (session_id, at);

CREATE TABLE tool_calls (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id      TEXT    NOT NULL,
    session_id  TEXT    NOT NULL REFERENCES agent_sessions (id),
    role        TEXT    NOT NULL,
    lane        TEXT,
    task_id     TEXT,
    at          INTEGER NOT NULL,
    digest      TEXT    NOT NULL,
    -- The model that called it, where that is told.
    model       TEXT,
    name        TEXT    NOT NULL,
    success     INTEGER CHECK (success IN (0, 1)),
    duration_ms INTEGER CHECK (duration_ms >= 0),
    UNIQUE (run_id, digest)
) STRICT;
CREATE INDEX tool_calls_at ON tool_calls (at);
CREATE INDEX tool_calls_session ON tool_calls (session_id, at);

-- Every decision on a tool call. The input is masked and shortened.
CREATE TABLE guard_decisions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    door       TEXT    NOT NULL CHECK (door IN ('hook', 'api', 'cli')),
    session_id TEXT,
    run_id     TEXT,
    role       TEXT,
    tool       TEXT    NOT NULL,
    input      TEXT    NOT NULL,
    allowed    INTEGER NOT NULL CHECK (allowed IN (0, 1)),
    rule       TEXT,
    reason     TEXT    NOT NULL
) STRICT;
CREATE INDEX guard_decisions_session ON guard_decisions (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX guard_decisions_at ON guard_decisions (at);

-- What a provider asked a person to permit.
CREATE TABLE approvals (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id  TEXT    NOT NULL REFERENCES agent_sessions (id),
    run_id      TEXT    NOT NULL,
    provider    TEXT    NOT NULL,
    tool        TEXT    NOT NULL,
    input       TEXT    NOT NULL,
    -- Whether an answer from here reaches the provider: some only tell that they ask.
    answerable  INTEGER NOT NULL CHECK (answerable IN (0, 1)),
    status      TEXT    NOT NULL CHECK (status IN ('pending', 'allowed', 'denied', 'lapsed')),
    reason      TEXT,
    asked_at    INTEGER NOT NULL,
    answered_at INTEGER,
    answered_by TEXT,
    CHECK ((status = 'pending') = (answered_at IS NULL)),
    CHECK ((status IN ('allowed', 'denied')) = (answered_by IS NOT NULL))
) STRICT;
CREATE INDEX approvals_pending ON approvals (id) WHERE status = 'pending';
CREATE INDEX approvals_session ON approvals (session_id, id) WHERE status = 'pending';

PRAGMA user_version = 4;
