PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE refinery_schema_history(
             version int4 PRIMARY KEY,
             name VARCHAR(255),
             applied_on VARCHAR(255),
             checksum VARCHAR(255));
INSERT INTO refinery_schema_history VALUES(1,'lane_queue','2026-11-21T13:51:58.753116643Z','7253430981788595804');
INSERT INTO refinery_schema_history VALUES(2,'multiplexer_server','2026-11-21T16:55:00.598294561Z','16092790319588706848');
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
INSERT INTO lanes VALUES('platform',NULL,'backend','open',NULL,NULL,NULL,NULL,NULL,NULL,1795269118760,0);
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
INSERT INTO tasks VALUES('A-1','First','','done',NULL,'platform',NULL,2,'',NULL,NULL,NULL,NULL,NULL,NULL,1,NULL,NULL,NULL,0,1795269118765,1795269118798,1795269118798);
INSERT INTO tasks VALUES('A-2','Second','','in_progress',NULL,NULL,NULL,2,'',NULL,NULL,NULL,'s1','s1','backend',1,1795269118804,NULL,NULL,0,1795269118770,1795269118804,NULL);
CREATE TABLE task_deps (
    task_id     TEXT NOT NULL REFERENCES tasks (id),
    depends_on  TEXT NOT NULL CHECK (depends_on <> task_id),
    PRIMARY KEY (task_id, depends_on)
) STRICT, WITHOUT ROWID;
INSERT INTO task_deps VALUES('A-2','A-1');
CREATE TABLE task_labels (
    task_id  TEXT NOT NULL REFERENCES tasks (id),
    label    TEXT NOT NULL,
    PRIMARY KEY (task_id, label)
) STRICT, WITHOUT ROWID;
INSERT INTO task_labels VALUES('A-1','x');
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
INSERT INTO task_checks VALUES('A-1','t','true');
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
INSERT INTO agent_sessions VALUES('s1','01a1fe60-cb38-7156-b010-0ebea099638a','backend',NULL,NULL,'claude','tmux',NULL,NULL,'running','unknown',NULL,NULL,NULL,'host/1',NULL,NULL,'00000000-0000-0000-0000-000000000000','/nowhere','%1',NULL,NULL,NULL,NULL,NULL,1795269118776,1795269118804,NULL,NULL,NULL,NULL,6,4711,12345);
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
INSERT INTO claims VALUES('A-1',1,'s1','s1','backend',1795269118781,1795269118798,'done');
INSERT INTO claims VALUES('A-2',1,'s1','s1','backend',1795269118804,NULL,NULL);
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
INSERT INTO checkpoints VALUES(1,'A-1','s1','active',NULL,'at work',NULL,NULL,1795269118787);
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
INSERT INTO evidence VALUES(1,'A-1','s1','test','pass',NULL,NULL,NULL,NULL,NULL,NULL,NULL,'ok',0,1795269118792);
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
INSERT INTO messages VALUES(1,NULL,'platform',NULL,'normal','mail','hello','{"from":"user@host"}','queued',NULL,1,NULL,NULL,NULL,1795269118809,NULL);
CREATE TABLE requests (
    id          TEXT    NOT NULL PRIMARY KEY,
    words       TEXT    NOT NULL,
    answer      TEXT,
    created_at  INTEGER NOT NULL
) STRICT;
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
INSERT INTO events VALUES(1,1795269118760,'lane.added',NULL,NULL,NULL,'platform','user@host','{"role":"backend","branch":null,"worktree":null,"made_worktree":false,"commit":null}');
INSERT INTO events VALUES(2,1795269118765,'task.added','A-1',NULL,NULL,'platform','user@host','{"title":"First","priority":2}');
INSERT INTO events VALUES(3,1795269118770,'task.added','A-2',NULL,NULL,NULL,'user@host','{"title":"Second","priority":2}');
INSERT INTO events VALUES(4,1795269118776,'session.upserted',NULL,'s1','01a1fe60-cb38-7156-b010-0ebea099638a',NULL,'user@host','{"created":true,"status":"running","role":"backend","task_id":null,"provider":"claude","backend":"tmux"}');
INSERT INTO events VALUES(5,1795269118781,'task.claimed','A-1','s1','01a1fe60-cb38-7156-b010-0ebea099638a','platform','s1','{"epoch":1,"claimant":"s1","role":"backend","takeover":"fresh","from":null,"reason":null}');
INSERT INTO events VALUES(6,1795269118787,'checkpoint.recorded','A-1','s1','01a1fe60-cb38-7156-b010-0ebea099638a','platform','s1','{"id":1,"state":"active","summary":"at work"}');
INSERT INTO events VALUES(7,1795269118792,'evidence.recorded','A-1','s1','01a1fe60-cb38-7156-b010-0ebea099638a','platform','s1','{"id":1,"kind":"test","result":"pass","observed":false,"check":null,"exit_code":null,"commit":null}');
INSERT INTO events VALUES(8,1795269118798,'task.done','A-1','s1','01a1fe60-cb38-7156-b010-0ebea099638a','platform','s1','{"from":"in_progress","to":"done","epoch":1,"reason":null}');
INSERT INTO events VALUES(9,1795269118804,'task.claimed','A-2','s1','01a1fe60-cb38-7156-b010-0ebea099638a',NULL,'s1','{"epoch":1,"claimant":"s1","role":"backend","takeover":"fresh","from":null,"reason":null}');
INSERT INTO events VALUES(10,1795269118809,'message.queued',NULL,NULL,NULL,'platform','user@host','{"id":1,"to":"lane platform","priority":"normal","source":"mail"}');
CREATE TABLE restores (
    epoch  INTEGER NOT NULL PRIMARY KEY,
    at     INTEGER NOT NULL
) STRICT;
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('events',10);
INSERT INTO sqlite_sequence VALUES('checkpoints',1);
INSERT INTO sqlite_sequence VALUES('evidence',1);
INSERT INTO sqlite_sequence VALUES('messages',1);
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
COMMIT;
PRAGMA application_id = 1178683730;
PRAGMA user_version = 2;
