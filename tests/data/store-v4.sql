PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
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
    version              INTEGER NOT NULL DEFAULT 1, server_pid INTEGER, server_started INTEGER,
    CHECK ((status IN ('ended', 'failed')) = (ended_at IS NOT NULL))
) STRICT;
INSERT INTO agent_sessions VALUES('s1','01a1ffaa-2045-72f7-9e25-d233a923600c','backend',NULL,'T-1','p',NULL,NULL,NULL,'running','unknown',NULL,NULL,NULL,'host/4026531836',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1795290701892,1795327740919,NULL,NULL,NULL,NULL,4,NULL,NULL);
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
INSERT INTO claims VALUES('T-1',1,'s1','s1',NULL,1795290701898,NULL,NULL);
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
INSERT INTO events VALUES(1,1795290701878,'task.added','T-1',NULL,NULL,NULL,'user@host','{"title":"One","priority":2}');
INSERT INTO events VALUES(2,1795290701886,'lane.added',NULL,NULL,NULL,'platform','user@host','{"role":null,"branch":null,"worktree":null,"made_worktree":false,"commit":null}');
INSERT INTO events VALUES(3,1795290701892,'session.upserted',NULL,'s1','01a1ffaa-2045-72f7-9e25-d233a923600c',NULL,'user@host','{"created":true,"status":"running","role":"backend","task_id":"T-1","provider":"p","backend":null}');
INSERT INTO events VALUES(4,1795290701898,'task.claimed','T-1','s1','01a1ffaa-2045-72f7-9e25-d233a923600c',NULL,'s1','{"epoch":1,"claimant":"s1","role":null,"takeover":"fresh","from":null,"reason":null}');
INSERT INTO events VALUES(5,1795290701905,'message.queued',NULL,NULL,NULL,NULL,'user@host','{"id":1,"to":"session s1","priority":"normal","source":"mail"}');
INSERT INTO events VALUES(6,1795290701911,'exec.queued',NULL,'s1','01a1ffaa-2056-76d8-a7c5-df23b03f9635',NULL,'s1','{"run":"01a1ffaa-2056-76d8-a7c5-df23b03f9635","attempt":1,"queue":"s1","recovery":"requeue","background":false}');
INSERT INTO events VALUES(7,1795290701917,'exec.started',NULL,'s1','01a1ffaa-2056-76d8-a7c5-df23b03f9635',NULL,'s1','{"run":"01a1ffaa-2056-76d8-a7c5-df23b03f9635","attempt":1,"pid":29315}');
INSERT INTO events VALUES(8,1795290701928,'exec.finished',NULL,'s1','01a1ffaa-2056-76d8-a7c5-df23b03f9635',NULL,'s1','{"run":"01a1ffaa-2056-76d8-a7c5-df23b03f9635","attempt":1,"status":"succeeded","exit_code":0,"signal":null,"error_message":null}');
INSERT INTO events VALUES(9,1795290701935,'task.added','T-2',NULL,NULL,NULL,'user@host','{"title":"Two","priority":2}');
INSERT INTO events VALUES(10,1795327740919,'message.offered',NULL,'s1','01a1ffaa-2045-72f7-9e25-d233a923600c',NULL,'s1','{"id":1,"to":"session s1","priority":"normal","source":"mail","reader":"s1","way":"inbox"}');
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
INSERT INTO exec_runs VALUES(1,'01a1ffaa-2056-76d8-a7c5-df23b03f9635','s1','s1','succeeded','true','/home/dev/proj',0,NULL,NULL,NULL,1048576,'requeue',1,'host/4026531836','9ff1bce5-fd51-4161-9eb3-a3e93970dff8',NULL,NULL,29315,2352106,0,NULL,0,0,NULL,'s1',1795290701911,1795290701917,1795290701928,1795290701928);
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
INSERT INTO guard_decisions VALUES(1,1795290701886,'hook','s1',NULL,NULL,'Bash','{"command":"rm -rf /"}',0,'no-rm','denied by a rule');
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
INSERT INTO lanes VALUES('platform',NULL,NULL,'open',NULL,NULL,NULL,NULL,NULL,NULL,1795290701886,0);
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
    settled_at    INTEGER, way TEXT
    CHECK (way IN ('stream', 'inbox', 'checkpoint', 'tool', 'turn_end', 'turn_start', 'wake', 'nudge')), announced_to TEXT,
    CHECK ((to_session IS NOT NULL) + (to_lane IS NOT NULL) + (to_role IS NOT NULL) = 1),
    CHECK ((status = 'offered') = (offered_until IS NOT NULL)),
    CHECK (status <> 'offered' OR offered_to IS NOT NULL),
    CHECK ((status IN ('acknowledged', 'expired', 'withdrawn')) = (settled_at IS NOT NULL))
) STRICT;
INSERT INTO messages VALUES(1,'s1',NULL,NULL,'normal','mail','hello','{"from":"user@host"}','offered',NULL,1,'s1',1795327800919,NULL,1795290701905,NULL,'inbox',NULL);
CREATE TABLE refinery_schema_history(
             version int4 PRIMARY KEY,
             name VARCHAR(255),
             applied_on VARCHAR(255),
             checksum VARCHAR(255));
INSERT INTO refinery_schema_history VALUES(1,'lane_queue','2026-11-21T19:51:41.863781147Z','7253430981788595804');
INSERT INTO refinery_schema_history VALUES(2,'multiplexer_server','2026-11-21T19:51:41.863811663Z','16092790319588706848');
INSERT INTO refinery_schema_history VALUES(3,'background_runs','2026-11-21T19:51:41.863814006Z','17814321870684063153');
INSERT INTO refinery_schema_history VALUES(4,'worker_api','2026-11-21T19:51:41.863816212Z','3576222108797836418');
CREATE TABLE requests (
    id          TEXT    NOT NULL PRIMARY KEY,
    words       TEXT    NOT NULL,
    answer      TEXT,
    created_at  INTEGER NOT NULL
) STRICT;
CREATE TABLE restores (
    epoch  INTEGER NOT NULL PRIMARY KEY,
    at     INTEGER NOT NULL
) STRICT;
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
CREATE TABLE task_labels (
    task_id  TEXT NOT NULL REFERENCES tasks (id),
    label    TEXT NOT NULL,
    PRIMARY KEY (task_id, label)
) STRICT, WITHOUT ROWID;
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
    closed_at       INTEGER,
    CHECK ((status IN ('in_progress', 'blocked', 'review')) = (claimant IS NOT NULL)),
    CHECK ((claimant IS NULL) = (claimed_at IS NULL)),
    CHECK (claimant IS NOT NULL OR (claim_session IS NULL AND claim_role IS NULL AND lease_until IS NULL)),
    CHECK (lease_until IS NULL OR status = 'in_progress'),
    CHECK ((lease_until IS NULL) = (lease_ms IS NULL)),
    CHECK ((status = 'blocked') = (blocked_reason IS NOT NULL)),
    CHECK ((status IN ('done', 'cancelled')) = (closed_at IS NOT NULL))
) STRICT;
INSERT INTO tasks VALUES('T-1','One','','in_progress',NULL,NULL,NULL,2,'',NULL,NULL,NULL,'s1','s1',NULL,1,1795290701898,NULL,NULL,0,1795290701878,1795290701898,NULL);
INSERT INTO tasks VALUES('T-2','Two','','todo',NULL,NULL,NULL,2,'',NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,NULL,0,1795290701935,1795290701935,NULL);
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
CREATE INDEX tasks_ready ON tasks (priority, created_at, id) WHERE status = 'todo' AND open_deps = 0;
CREATE INDEX tasks_open ON tasks (priority, created_at, id) WHERE closed_at IS NULL;
CREATE INDEX tasks_held ON tasks (lane, id) WHERE claimant IS NOT NULL;
CREATE INDEX tasks_number ON tasks (length(id), id);
CREATE INDEX tasks_parent ON tasks (parent) WHERE parent IS NOT NULL;
CREATE INDEX tasks_lane ON tasks (lane) WHERE lane IS NOT NULL;
CREATE INDEX task_deps_back ON task_deps (depends_on, task_id);
CREATE INDEX task_labels_back ON task_labels (label, task_id);
CREATE INDEX agent_sessions_live ON agent_sessions (started_at, id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX agent_sessions_external ON agent_sessions (provider, external_session_id)
    WHERE ended_at IS NULL AND external_session_id IS NOT NULL;
CREATE UNIQUE INDEX claims_live ON claims (task_id) WHERE ended_at IS NULL;
CREATE INDEX claims_session ON claims (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX checkpoints_task ON checkpoints (task_id, id);
CREATE INDEX checkpoints_due ON checkpoints (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX evidence_task ON evidence (task_id, id);
CREATE INDEX handoffs_task ON handoffs (task_id, id);
CREATE INDEX handoffs_open ON handoffs (id) WHERE status = 'open';
CREATE INDEX reviews_task ON reviews (task_id, id);
CREATE INDEX messages_session ON messages (to_session, id) WHERE settled_at IS NULL AND to_session IS NOT NULL;
CREATE INDEX messages_lane ON messages (to_lane, id) WHERE settled_at IS NULL AND to_lane IS NOT NULL;
CREATE INDEX messages_role ON messages (to_role, id) WHERE settled_at IS NULL AND to_role IS NOT NULL;
CREATE INDEX messages_expiring ON messages (expires_at) WHERE settled_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX messages_settled ON messages (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX requests_age ON requests (created_at);
CREATE INDEX events_task ON events (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX events_session ON events (session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX exec_runs_active ON exec_runs (seq) WHERE status IN ('starting', 'running');
CREATE INDEX exec_runs_queued ON exec_runs (seq) WHERE status = 'queued';
CREATE INDEX exec_runs_session ON exec_runs (session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX exec_runs_short ON exec_runs (substr(id, -8));
CREATE INDEX exec_runs_final ON exec_runs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX messages_dedup ON messages (dedup) WHERE dedup IS NOT NULL;
CREATE INDEX usage_turns_at ON usage_turns (at);
CREATE INDEX usage_turns_session ON usage_turns (session_id, at);
CREATE INDEX tool_calls_at ON tool_calls (at);
CREATE INDEX tool_calls_session ON tool_calls (session_id, at);
CREATE INDEX guard_decisions_session ON guard_decisions (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX guard_decisions_at ON guard_decisions (at);
CREATE INDEX approvals_pending ON approvals (id) WHERE status = 'pending';
CREATE INDEX approvals_session ON approvals (session_id, id) WHERE status = 'pending';
DELETE FROM "sqlite_sequence";
INSERT INTO sqlite_sequence VALUES('events',10);
INSERT INTO sqlite_sequence VALUES('messages',1);
INSERT INTO sqlite_sequence VALUES('exec_runs',1);
INSERT INTO sqlite_sequence VALUES('guard_decisions',1);
PRAGMA application_id = 1178683730;
PRAGMA user_version = 4;
COMMIT;
