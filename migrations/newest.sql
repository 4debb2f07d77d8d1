-- The schema that the migrations lead to. A test makes it from them: UPDATE_DOCS=1 writes it anew.

BEGIN;

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
    version              INTEGER NOT NULL DEFAULT 1, server_pid INTEGER, server_started INTEGER, host_id TEXT, last_output_at INTEGER, relaunch_of TEXT REFERENCES agent_sessions (id), first_prompt INTEGER, questions INTEGER NOT NULL DEFAULT 0, sandbox TEXT, parked_until INTEGER, parked_why TEXT,
    CHECK ((status IN ('ended', 'failed')) = (ended_at IS NOT NULL))
) STRICT;

CREATE UNIQUE INDEX agent_sessions_external ON agent_sessions (provider, external_session_id)
    WHERE ended_at IS NULL AND external_session_id IS NOT NULL;

CREATE INDEX agent_sessions_live ON agent_sessions (started_at, id) WHERE ended_at IS NULL;

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
, origin TEXT CHECK (origin IN ('launch', 'reconcile', 'hook', 'provider'))) STRICT;

CREATE INDEX checkpoints_due ON checkpoints (due_at) WHERE due_at IS NOT NULL;

CREATE INDEX checkpoints_task ON checkpoints (task_id, id);

CREATE INDEX checkpoints_written ON checkpoints (task_id, id) WHERE origin IS NULL;

CREATE TABLE "claims" (
    task_id       TEXT    NOT NULL REFERENCES tasks (id),
    epoch         INTEGER NOT NULL,
    claimant      TEXT    NOT NULL,
    session_id    TEXT    REFERENCES agent_sessions (id),
    role          TEXT,
    claimed_at    INTEGER NOT NULL,
    ended_at      INTEGER,
    ended_as      TEXT    CHECK (ended_as IN
                  ('released', 'done', 'cancelled', 'stolen', 'expired', 'handed_over', 'restored', 'continued')),
    lane          TEXT    REFERENCES lanes (name),
    worktree      TEXT,
    -- Whether the claim put the task into its lane; its release takes the task out again.
    assigned_lane INTEGER NOT NULL DEFAULT 0 CHECK (assigned_lane IN (0, 1)),
    PRIMARY KEY (task_id, epoch),
    CHECK ((ended_at IS NULL) = (ended_as IS NULL)),
    CHECK (assigned_lane = 0 OR lane IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX claims_live ON claims (task_id) WHERE ended_at IS NULL;

CREATE INDEX claims_session ON claims (session_id) WHERE session_id IS NOT NULL;

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

CREATE INDEX events_lane ON events (lane, seq) WHERE lane IS NOT NULL;

CREATE INDEX events_session ON events (session_id, seq) WHERE session_id IS NOT NULL;

CREATE INDEX events_task ON events (task_id, seq) WHERE task_id IS NOT NULL;

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
    supervisor_pid       INTEGER,
    supervisor_started   INTEGER,
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
    updated_at       INTEGER NOT NULL, host_id TEXT,
    CHECK ((pty_rows IS NULL) = (pty_cols IS NULL)),
    CHECK ((status IN ('succeeded', 'failed', 'canceled', 'timed_out', 'lost')) = (finished_at IS NOT NULL)),
    CHECK ((status IN ('starting', 'running')) = (supervisor_pid IS NOT NULL)),
    CHECK ((supervisor_pid IS NULL) = (supervisor_started IS NULL)),
    CHECK ((pid IS NULL) = (pid_started IS NULL)),
    CHECK (status <> 'running' OR (pid IS NOT NULL AND started_at IS NOT NULL))
) STRICT;

CREATE INDEX exec_runs_active ON exec_runs (seq) WHERE status IN ('starting', 'running');

CREATE INDEX exec_runs_final ON exec_runs (finished_at) WHERE finished_at IS NOT NULL;

CREATE INDEX exec_runs_queued ON exec_runs (seq) WHERE status = 'queued';

CREATE INDEX exec_runs_session ON exec_runs (session_id, seq) WHERE session_id IS NOT NULL;

CREATE INDEX exec_runs_short ON exec_runs (substr(id, -8));

CREATE TABLE guard_decisions (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    at         INTEGER NOT NULL,
    entry_point       TEXT    NOT NULL CHECK (entry_point IN ('hook', 'api', 'cli')),
    session_id TEXT,
    run_id     TEXT,
    role       TEXT,
    tool       TEXT    NOT NULL,
    input      TEXT    NOT NULL,
    allowed    INTEGER NOT NULL CHECK (allowed IN (0, 1)),
    rule       TEXT,
    reason     TEXT    NOT NULL
, context TEXT) STRICT;

CREATE INDEX guard_decisions_at ON guard_decisions (at);

CREATE INDEX guard_decisions_session ON guard_decisions (session_id, id) WHERE session_id IS NOT NULL;

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

CREATE INDEX handoffs_open ON handoffs (id) WHERE status = 'open';

CREATE INDEX handoffs_task ON handoffs (task_id, id);

CREATE TABLE landings (
    id          INTEGER PRIMARY KEY,
    lane        TEXT,
    commit_id   TEXT NOT NULL,
    style       TEXT NOT NULL CHECK (style IN ('merge', 'squash', 'rebase')),
    base        TEXT NOT NULL,
    base_before TEXT NOT NULL,
    candidate   TEXT,
    state       TEXT NOT NULL CHECK (state IN ('checking', 'moving', 'landed', 'sent_back', 'failed')),
    tasks       TEXT NOT NULL,
    error       TEXT,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER
, host TEXT, host_id TEXT, push_to TEXT) STRICT;

CREATE TABLE lane_snapshots (
    lane     TEXT    NOT NULL PRIMARY KEY,
    host     TEXT    NOT NULL,
    tip      TEXT,
    base     TEXT,
    base_tip TEXT,
    digest   TEXT    NOT NULL,
    snapshot TEXT,
    paths    TEXT    NOT NULL CHECK (json_valid(paths)),
    added    INTEGER NOT NULL CHECK (added >= 0),
    deleted  INTEGER NOT NULL CHECK (deleted >= 0),
    taken_at INTEGER NOT NULL,
    unknown  TEXT,
    judged   TEXT
, runs_later TEXT, work TEXT) STRICT, WITHOUT ROWID;

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
    made_worktree  INTEGER NOT NULL DEFAULT 0 CHECK (made_worktree IN (0, 1)), removed_at INTEGER, host TEXT, host_id TEXT, sandbox TEXT,
    CHECK (made_worktree = 0 OR (worktree IS NOT NULL AND branch IS NOT NULL))
) STRICT;

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
    settled_at    INTEGER, channel TEXT
    CHECK (channel IN ('stream', 'inbox', 'checkpoint', 'tool', 'turn_end', 'turn_start', 'wake', 'nudge')), announced_to TEXT, answered_at INTEGER, stop_reason TEXT,
    CHECK ((to_session IS NOT NULL) + (to_lane IS NOT NULL) + (to_role IS NOT NULL) = 1),
    CHECK ((status = 'offered') = (offered_until IS NOT NULL)),
    CHECK (status <> 'offered' OR offered_to IS NOT NULL),
    CHECK ((status IN ('acknowledged', 'expired', 'withdrawn')) = (settled_at IS NOT NULL))
) STRICT;

CREATE INDEX messages_dedup ON messages (dedup) WHERE dedup IS NOT NULL;

CREATE INDEX messages_expiring ON messages (expires_at) WHERE settled_at IS NULL AND expires_at IS NOT NULL;

CREATE INDEX messages_lane ON messages (to_lane, id) WHERE settled_at IS NULL AND to_lane IS NOT NULL;

CREATE INDEX messages_role ON messages (to_role, id) WHERE settled_at IS NULL AND to_role IS NOT NULL;

CREATE INDEX messages_session ON messages (to_session, id) WHERE settled_at IS NULL AND to_session IS NOT NULL;

CREATE INDEX messages_settled ON messages (settled_at) WHERE settled_at IS NOT NULL;

CREATE TABLE notifications (
    item      TEXT    NOT NULL,
    sink      TEXT    NOT NULL,
    state     TEXT    NOT NULL CHECK (state IN ('held', 'claimed', 'retry', 'sent', 'failed')),
    attempts  INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    at        INTEGER NOT NULL,
    retry_at  INTEGER,
    error     TEXT,
    PRIMARY KEY (item, sink),
    CHECK ((state IN ('claimed', 'retry')) = (retry_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE TABLE overlaps (
    lane_a TEXT    NOT NULL,
    lane_b TEXT    NOT NULL,
    level  TEXT    NOT NULL,
    files  TEXT    NOT NULL CHECK (json_valid(files)),
    why    TEXT,
    since  INTEGER NOT NULL,
    told   TEXT    NOT NULL CHECK (json_valid(told)),
    PRIMARY KEY (lane_a, lane_b)
) STRICT, WITHOUT ROWID;

CREATE TABLE pull_request_facts (
    pull_request INTEGER NOT NULL REFERENCES pull_requests (id),
    fact         TEXT    NOT NULL,
    told_at      INTEGER NOT NULL,
    PRIMARY KEY (pull_request, fact)
) STRICT;

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
, for_people TEXT NOT NULL DEFAULT '') STRICT;

CREATE UNIQUE INDEX pull_requests_open ON pull_requests (lane) WHERE ended_at IS NULL;

CREATE TABLE raised_budgets (
    kind    TEXT NOT NULL CHECK (kind IN ('task', 'session', 'day')),
    subject TEXT NOT NULL,
    cap     TEXT NOT NULL,
    PRIMARY KEY (kind, subject)
) STRICT;

CREATE TABLE removed_tasks (
    id          TEXT    NOT NULL PRIMARY KEY,
    removed_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
    id          TEXT    NOT NULL PRIMARY KEY,
    words       TEXT    NOT NULL,
    answer      TEXT,
    created_at  INTEGER NOT NULL
) STRICT;

CREATE INDEX requests_age ON requests (created_at);

CREATE TABLE restores (
    epoch  INTEGER NOT NULL PRIMARY KEY,
    at     INTEGER NOT NULL
) STRICT;

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
, thread TEXT) STRICT;

CREATE INDEX review_comments_task ON review_comments (task_id, id);

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
, screen_digest TEXT, screen_since INTEGER, open_calls INTEGER NOT NULL DEFAULT 0 CHECK (open_calls >= 0), program_missing_at INTEGER, agent TEXT, agent_mode TEXT, unguarded TEXT, can_steer INTEGER, last_message TEXT) STRICT;

CREATE INDEX session_reports_program_missing ON session_reports (session_id) WHERE program_missing_at IS NOT NULL;

CREATE TABLE task_checks (
    task_id  TEXT NOT NULL REFERENCES tasks (id),
    name     TEXT NOT NULL,
    command  TEXT NOT NULL,
    PRIMARY KEY (task_id, name)
) STRICT, WITHOUT ROWID;

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
    closed_at       INTEGER, landed_commit TEXT,
    CHECK ((status IN ('in_progress', 'blocked', 'review')) = (claimant IS NOT NULL)),
    CHECK ((claimant IS NULL) = (claimed_at IS NULL)),
    CHECK (claimant IS NOT NULL OR (claim_session IS NULL AND claim_role IS NULL AND lease_until IS NULL)),
    CHECK (lease_until IS NULL OR status = 'in_progress'),
    CHECK ((lease_until IS NULL) = (lease_ms IS NULL)),
    CHECK ((status = 'blocked') = (blocked_reason IS NOT NULL)),
    CHECK ((status IN ('done', 'cancelled')) = (closed_at IS NOT NULL))
) STRICT;

CREATE INDEX tasks_held ON tasks (lane, id) WHERE claimant IS NOT NULL;

CREATE INDEX tasks_lane ON tasks (lane) WHERE lane IS NOT NULL;

CREATE INDEX tasks_number ON tasks (length(id), id);

CREATE INDEX tasks_open ON tasks (priority, created_at, id) WHERE closed_at IS NULL;

CREATE INDEX tasks_parent ON tasks (parent) WHERE parent IS NOT NULL;

CREATE INDEX tasks_ready ON tasks (priority, created_at, id) WHERE status = 'todo' AND open_deps = 0;

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

CREATE INDEX usage_turns_task ON usage_turns (task_id, at);

PRAGMA application_id = 1178683730;
PRAGMA user_version = 25;
COMMIT;
