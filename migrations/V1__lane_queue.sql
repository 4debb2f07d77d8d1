-- Times are milliseconds since 1970 (UTC). Every closed set has its CHECK, every invariant of a row too; what spans rows is
-- kept by the transaction that writes it and looked after by `fairway doctor`.

CREATE TABLE lanes (
    name        TEXT    NOT NULL PRIMARY KEY,
    title       TEXT,
    role        TEXT,
    status      TEXT    NOT NULL CHECK (status IN ('open', 'paused', 'closed')),
    branch      TEXT,
    base        TEXT,
    worktree    TEXT,
    wip_limit   INTEGER CHECK (wip_limit >= 0),
    provider    TEXT,
    backend     TEXT,
    created_at  INTEGER NOT NULL,
    -- Whether Fairway made branch and worktree, and so takes them away again.
    made_worktree  INTEGER NOT NULL DEFAULT 0 CHECK (made_worktree IN (0, 1)),
    CHECK (made_worktree = 0 OR (worktree IS NOT NULL AND branch IS NOT NULL))
) STRICT;

-- A parent and a dependency may name a task that is not here: an import may bring a part of a backlog. Hence no foreign
-- key on them.
CREATE TABLE tasks (
    id              TEXT    NOT NULL PRIMARY KEY,
    title           TEXT    NOT NULL,
    body            TEXT    NOT NULL DEFAULT '',
    status          TEXT    NOT NULL CHECK (status IN ('todo', 'in_progress', 'blocked', 'review', 'done', 'cancelled')),
    role            TEXT,
    lane            TEXT    REFERENCES lanes (name),
    parent          TEXT,
    priority        INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 4),
    review_domains  TEXT    NOT NULL DEFAULT '',
    branch          TEXT,
    commit_id       TEXT,
    blocked_reason  TEXT,
    claimant        TEXT,
    claim_session   TEXT,
    claim_role      TEXT,
    epoch           INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    claimed_at      INTEGER,
    lease_until     INTEGER,
    lease_ms        INTEGER,
    open_deps       INTEGER NOT NULL DEFAULT 0 CHECK (open_deps >= 0),
    created_at      INTEGER NOT NULL,
    updated_at      INTEGER NOT NULL,
    closed_at       INTEGER,
    CHECK ((status IN ('in_progress', 'blocked', 'review')) = (claimant IS NOT NULL)),
    CHECK ((claimant IS NULL) = (claimed_at IS NULL)),
    CHECK (claimant IS NOT NULL OR (claim_session IS NULL AND claim_role IS NULL AND lease_until IS NULL)),
    CHECK (lease_until IS NULL OR status = 'in_progress'),
    CHECK ((lease_until IS NULL) = (lease_ms IS NULL)),
    CHECK ((status = 'blocked') = (blocked_reason IS NOT NULL)),
    CHECK ((status IN ('done', 'cancelled')) = (closed_at IS NOT NULL))
) STRICT;

CREATE INDEX tasks_ready ON tasks (priority, created_at, id) WHERE status = 'todo' AND open_deps = 0;
CREATE INDEX tasks_open ON tasks (priority, created_at, id) WHERE closed_at IS NULL;
CREATE INDEX tasks_held ON tasks (lane, id) WHERE claimant IS NOT NULL;
-- The newest made id of a prefix (T-1, T-2, …): longer is later.
CREATE INDEX tasks_number ON tasks (length(id), id);
CREATE INDEX tasks_parent ON tasks (parent) WHERE parent IS NOT NULL;
CREATE INDEX tasks_lane ON tasks (lane) WHERE lane IS NOT NULL;

CREATE TABLE task_deps (
    task_id     TEXT NOT NULL REFERENCES tasks (id),
    depends_on  TEXT NOT NULL CHECK (depends_on <> task_id),
    PRIMARY KEY (task_id, depends_on)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_deps_back ON task_deps (depends_on, task_id);

CREATE TABLE task_labels (
    task_id  TEXT NOT NULL REFERENCES tasks (id),
    label    TEXT NOT NULL,
    PRIMARY KEY (task_id, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_labels_back ON task_labels (label, task_id);

CREATE TABLE task_paths (
    task_id  TEXT NOT NULL REFERENCES tasks (id),
    glob     TEXT NOT NULL,
    PRIMARY KEY (task_id, glob)
) STRICT, WITHOUT ROWID;

CREATE TABLE task_checks (
    task_id  TEXT NOT NULL REFERENCES tasks (id),
    name     TEXT NOT NULL,
    command  TEXT NOT NULL,
    PRIMARY KEY (task_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE agent_sessions (
    id                   TEXT    NOT NULL PRIMARY KEY,
    run_id               TEXT    NOT NULL UNIQUE,
    role                 TEXT    NOT NULL,
    lane                 TEXT    REFERENCES lanes (name),
    task_id              TEXT    REFERENCES tasks (id),
    provider             TEXT,
    backend              TEXT,
    session_name         TEXT,
    external_session_id  TEXT,
    status               TEXT    NOT NULL CHECK (status IN ('starting', 'running', 'stale', 'ended', 'failed')),
    activity             TEXT    NOT NULL DEFAULT 'unknown'
                         CHECK (activity IN ('unknown', 'idle', 'busy', 'requires_action', 'stopping')),
    waiting_for          TEXT,
    activity_source      TEXT,
    activity_at          INTEGER,
    host                 TEXT    NOT NULL,
    pid                  INTEGER,
    pid_started          INTEGER,
    boot_id              TEXT,
    socket               TEXT,
    pane                 TEXT,
    transcript           TEXT,
    worktree             TEXT,
    branch               TEXT,
    adapter_script       TEXT,
    adapter_state        TEXT,
    started_at           INTEGER NOT NULL,
    last_heartbeat_at    INTEGER,
    ended_at             INTEGER,
    exit_code            INTEGER,
    reason               TEXT,
    context_usage        REAL    CHECK (context_usage BETWEEN 0 AND 1),
    version              INTEGER NOT NULL DEFAULT 1,
    CHECK ((status IN ('ended', 'failed')) = (ended_at IS NOT NULL))
) STRICT;
CREATE INDEX agent_sessions_live ON agent_sessions (started_at, id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX agent_sessions_external ON agent_sessions (provider, external_session_id)
    WHERE ended_at IS NULL AND external_session_id IS NOT NULL;

CREATE TABLE claims (
    task_id      TEXT    NOT NULL REFERENCES tasks (id),
    epoch        INTEGER NOT NULL,
    claimant     TEXT    NOT NULL,
    session_id   TEXT    REFERENCES agent_sessions (id),
    role         TEXT,
    claimed_at   INTEGER NOT NULL,
    ended_at     INTEGER,
    ended_as     TEXT    CHECK (ended_as IN
                 ('released', 'done', 'cancelled', 'stolen', 'expired', 'handed_over', 'restored')),
    PRIMARY KEY (task_id, epoch),
    CHECK ((ended_at IS NULL) = (ended_as IS NULL))
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX claims_live ON claims (task_id) WHERE ended_at IS NULL;
CREATE INDEX claims_session ON claims (session_id) WHERE session_id IS NOT NULL;

CREATE TABLE checkpoints (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id     TEXT    NOT NULL REFERENCES tasks (id),
    session_id  TEXT    REFERENCES agent_sessions (id),
    state       TEXT    NOT NULL CHECK (state IN
                ('planned', 'active', 'awaiting_input', 'blocked', 'review', 'done', 'parked', 'abandoned')),
    owner       TEXT,
    summary     TEXT    NOT NULL,
    artifact    TEXT,
    due_at      INTEGER,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX checkpoints_task ON checkpoints (task_id, id);
CREATE INDEX checkpoints_due ON checkpoints (due_at) WHERE due_at IS NOT NULL;

CREATE TABLE evidence (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id      TEXT    NOT NULL REFERENCES tasks (id),
    session_id   TEXT    REFERENCES agent_sessions (id),
    kind         TEXT    NOT NULL,
    result       TEXT    NOT NULL CHECK (result IN ('pass', 'fail', 'partial', 'skipped', 'blocked')),
    command      TEXT,
    check_name   TEXT,
    exit_code    INTEGER,
    duration_ms  INTEGER CHECK (duration_ms >= 0),
    artifact     TEXT,
    sha256       TEXT,
    commit_id    TEXT,
    summary      TEXT,
    observed     INTEGER NOT NULL CHECK (observed IN (0, 1)),
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX evidence_task ON evidence (task_id, id);

CREATE TABLE handoffs (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id      TEXT    NOT NULL REFERENCES tasks (id),
    from_role    TEXT,
    from_actor   TEXT    NOT NULL,
    to_role      TEXT,
    to_lane      TEXT    REFERENCES lanes (name),
    status       TEXT    NOT NULL CHECK (status IN ('open', 'accepted', 'declined', 'withdrawn')),
    summary      TEXT    NOT NULL,
    payload      TEXT,
    epoch        INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    answered_at  INTEGER,
    answered_by  TEXT,
    reason       TEXT,
    CHECK ((to_role IS NULL) <> (to_lane IS NULL)),
    CHECK ((status = 'open') = (answered_at IS NULL)),
    CHECK ((answered_at IS NULL) = (answered_by IS NULL))
) STRICT;
CREATE INDEX handoffs_task ON handoffs (task_id, id);
CREATE INDEX handoffs_open ON handoffs (id) WHERE status = 'open';

CREATE TABLE reviews (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    task_id     TEXT    NOT NULL REFERENCES tasks (id),
    domain      TEXT    NOT NULL,
    verdict     TEXT    CHECK (verdict IN ('approve', 'changes', 'reject')),
    commit_id   TEXT,
    reviewer    TEXT,
    actor       TEXT    NOT NULL,
    notes       TEXT,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX reviews_task ON reviews (task_id, id);

CREATE TABLE messages (
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    to_session    TEXT,
    to_lane       TEXT    REFERENCES lanes (name),
    to_role       TEXT,
    priority      TEXT    NOT NULL CHECK (priority IN ('normal', 'urgent', 'system')),
    source        TEXT    NOT NULL,
    content       TEXT    NOT NULL,
    metadata      TEXT,
    status        TEXT    NOT NULL CHECK (status IN ('queued', 'offered', 'acknowledged', 'expired', 'withdrawn')),
    dedup         TEXT,
    count         INTEGER NOT NULL DEFAULT 1 CHECK (count >= 1),
    offered_to    TEXT,
    offered_until INTEGER,
    expires_at    INTEGER,
    created_at    INTEGER NOT NULL,
    settled_at    INTEGER,
    CHECK ((to_session IS NOT NULL) + (to_lane IS NOT NULL) + (to_role IS NOT NULL) = 1),
    CHECK ((status = 'offered') = (offered_until IS NOT NULL)),
    CHECK (status <> 'offered' OR offered_to IS NOT NULL),
    CHECK ((status IN ('acknowledged', 'expired', 'withdrawn')) = (settled_at IS NOT NULL))
) STRICT;
CREATE INDEX messages_session ON messages (to_session, id) WHERE settled_at IS NULL AND to_session IS NOT NULL;
CREATE INDEX messages_lane ON messages (to_lane, id) WHERE settled_at IS NULL AND to_lane IS NOT NULL;
CREATE INDEX messages_role ON messages (to_role, id) WHERE settled_at IS NULL AND to_role IS NOT NULL;
CREATE INDEX messages_expiring ON messages (expires_at) WHERE settled_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX messages_settled ON messages (settled_at) WHERE settled_at IS NOT NULL;

-- What a --request-id was answered with. An intention is written before something outside is done; its answer follows.
CREATE TABLE requests (
    id          TEXT    NOT NULL PRIMARY KEY,
    words       TEXT    NOT NULL,
    answer      TEXT,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX requests_age ON requests (created_at);

CREATE TABLE events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    at          INTEGER NOT NULL,
    kind        TEXT    NOT NULL,
    task_id     TEXT,
    session_id  TEXT,
    run_id      TEXT,
    lane        TEXT,
    actor       TEXT    NOT NULL,
    data        TEXT    NOT NULL
) STRICT;
CREATE INDEX events_task ON events (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX events_session ON events (session_id, seq) WHERE session_id IS NOT NULL;

-- One row for each time that a backup took this store's place. No epoch below the one written here is valid any more: not of
-- tasks that came with the backup, nor of those that went and may come again under the same id.
CREATE TABLE restores (
    epoch  INTEGER NOT NULL PRIMARY KEY,
    at     INTEGER NOT NULL
) STRICT;

PRAGMA application_id = 1178683730;
PRAGMA user_version = 1;
