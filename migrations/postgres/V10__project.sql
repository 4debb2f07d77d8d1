-- The schema of a store on PostgreSQL, in a schema of the database for each project: the tables as the SQLite migrations up to V10
-- leave them, where their comments stand. Numbers and flags are BIGINT; texts compare by bytes, as in SQLite.

-- One row, which every write locks first: writes run one after another. `id`: of the store, for life. `numbers`: the last number
-- that each table gave out.
CREATE TABLE project (
    the_only       BIGINT           NOT NULL PRIMARY KEY DEFAULT 1 CHECK (the_only = 1),
    id             TEXT COLLATE "C" NOT NULL DEFAULT gen_random_uuid()::text,
    schema_version BIGINT           NOT NULL,
    numbers        JSONB            NOT NULL DEFAULT '{}'
) WITH (fillfactor = 10);

-- A write counts its numbers in a setting that ends with it. An UPDATE of the row for each number would leave a dead row each,
-- which the next one of the same write reads again. A write that is rolled back gives its numbers to the next one.
CREATE FUNCTION begin_write() RETURNS void LANGUAGE sql VOLATILE AS $$
    SELECT set_config('fairway.numbers', numbers::text, true) FROM project
$$;

CREATE FUNCTION next_number(counter text) RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (set_config('fairway.numbers', (numbers || jsonb_build_object(counter,
        coalesce((numbers ->> counter)::bigint, 0) + 1))::text, true)::jsonb ->> counter)::bigint
    FROM (SELECT current_setting('fairway.numbers')::jsonb AS numbers) AS counted
$$;

-- The last statement of a write: keeps its numbers, and tells the newest event to those who wait for one.
CREATE FUNCTION end_write() RETURNS void LANGUAGE sql VOLATILE AS $$
    UPDATE project SET numbers = current_setting('fairway.numbers')::jsonb
    WHERE numbers <> current_setting('fairway.numbers')::jsonb;
    SELECT pg_notify('fairway.' || current_schema(), coalesce(current_setting('fairway.numbers')::jsonb ->> 'events', '0'))
$$;

-- Whether a text is JSON.
CREATE FUNCTION json_valid(document text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    PERFORM document::json;
    RETURN true;
EXCEPTION WHEN data_exception THEN
    RETURN false;
END
$$;

-- The text at a key of a JSON object; NULL when it has no such key or is no JSON.
CREATE FUNCTION json_text(document text, key text) RETURNS text LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
    RETURN document::json ->> key;
EXCEPTION WHEN data_exception THEN
    RETURN NULL;
END
$$;

CREATE TABLE lanes (
    name          TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    title         TEXT COLLATE "C",
    role          TEXT COLLATE "C",
    status        TEXT COLLATE "C" NOT NULL CHECK (status IN ('open', 'paused', 'closed')),
    branch        TEXT COLLATE "C",
    base          TEXT COLLATE "C",
    worktree      TEXT COLLATE "C",
    wip_limit     BIGINT           CHECK (wip_limit >= 0),
    provider      TEXT COLLATE "C",
    backend       TEXT COLLATE "C",
    created_at    BIGINT           NOT NULL,
    made_worktree BIGINT           NOT NULL DEFAULT 0 CHECK (made_worktree IN (0, 1)),
    removed_at    BIGINT,
    CHECK (made_worktree = 0 OR (worktree IS NOT NULL AND branch IS NOT NULL))
);

CREATE TABLE tasks (
    id             TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    title          TEXT COLLATE "C" NOT NULL,
    body           TEXT COLLATE "C" NOT NULL DEFAULT '',
    status         TEXT COLLATE "C" NOT NULL
                   CHECK (status IN ('todo', 'in_progress', 'blocked', 'review', 'done', 'cancelled')),
    role           TEXT COLLATE "C",
    lane           TEXT COLLATE "C" REFERENCES lanes (name),
    parent         TEXT COLLATE "C",
    priority       BIGINT           NOT NULL CHECK (priority BETWEEN 0 AND 4),
    review_domains TEXT COLLATE "C" NOT NULL DEFAULT '',
    branch         TEXT COLLATE "C",
    commit_id      TEXT COLLATE "C",
    blocked_reason TEXT COLLATE "C",
    claimant       TEXT COLLATE "C",
    claim_session  TEXT COLLATE "C",
    claim_role     TEXT COLLATE "C",
    epoch          BIGINT           NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    claimed_at     BIGINT,
    lease_until    BIGINT,
    lease_ms       BIGINT,
    open_deps      BIGINT           NOT NULL DEFAULT 0 CHECK (open_deps >= 0),
    created_at     BIGINT           NOT NULL,
    updated_at     BIGINT           NOT NULL,
    closed_at      BIGINT,
    landed_commit  TEXT COLLATE "C",
    CHECK ((status IN ('in_progress', 'blocked', 'review')) = (claimant IS NOT NULL)),
    CHECK ((claimant IS NULL) = (claimed_at IS NULL)),
    CHECK (claimant IS NOT NULL OR (claim_session IS NULL AND claim_role IS NULL AND lease_until IS NULL)),
    CHECK (lease_until IS NULL OR status = 'in_progress'),
    CHECK ((lease_until IS NULL) = (lease_ms IS NULL)),
    CHECK ((status = 'blocked') = (blocked_reason IS NOT NULL)),
    CHECK ((status IN ('done', 'cancelled')) = (closed_at IS NOT NULL))
);
CREATE INDEX tasks_ready ON tasks (priority, created_at, id) WHERE status = 'todo' AND open_deps = 0;
CREATE INDEX tasks_open ON tasks (priority, created_at, id) WHERE closed_at IS NULL;
CREATE INDEX tasks_held ON tasks (lane NULLS FIRST, id) WHERE claimant IS NOT NULL;
CREATE INDEX tasks_number ON tasks (length(id), id);
CREATE INDEX tasks_parent ON tasks (parent) WHERE parent IS NOT NULL;
CREATE INDEX tasks_lane ON tasks (lane) WHERE lane IS NOT NULL;

CREATE TABLE task_deps (
    task_id    TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    depends_on TEXT COLLATE "C" NOT NULL CHECK (depends_on <> task_id),
    PRIMARY KEY (task_id, depends_on)
);
CREATE INDEX task_deps_back ON task_deps (depends_on, task_id);

CREATE TABLE task_labels (
    task_id TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    label   TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (task_id, label)
);
CREATE INDEX task_labels_back ON task_labels (label, task_id);

CREATE TABLE task_paths (
    task_id TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    glob    TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (task_id, glob)
);

CREATE TABLE task_checks (
    task_id TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    name    TEXT COLLATE "C" NOT NULL,
    command TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (task_id, name)
);

CREATE TABLE agent_sessions (
    id                  TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    run_id              TEXT COLLATE "C" NOT NULL UNIQUE,
    role                TEXT COLLATE "C" NOT NULL,
    lane                TEXT COLLATE "C" REFERENCES lanes (name),
    task_id             TEXT COLLATE "C" REFERENCES tasks (id),
    provider            TEXT COLLATE "C",
    backend             TEXT COLLATE "C",
    session_name        TEXT COLLATE "C",
    external_session_id TEXT COLLATE "C",
    status              TEXT COLLATE "C" NOT NULL
                        CHECK (status IN ('starting', 'running', 'stale', 'ended', 'failed')),
    activity            TEXT COLLATE "C" NOT NULL DEFAULT 'unknown'
                        CHECK (activity IN ('unknown', 'idle', 'busy', 'requires_action', 'stopping')),
    waiting_for         TEXT COLLATE "C",
    activity_source     TEXT COLLATE "C",
    activity_at         BIGINT,
    host                TEXT COLLATE "C" NOT NULL,
    pid                 BIGINT,
    pid_started         BIGINT,
    boot_id             TEXT COLLATE "C",
    socket              TEXT COLLATE "C",
    pane                TEXT COLLATE "C",
    transcript          TEXT COLLATE "C",
    worktree            TEXT COLLATE "C",
    branch              TEXT COLLATE "C",
    adapter_script      TEXT COLLATE "C",
    adapter_state       TEXT COLLATE "C",
    started_at          BIGINT           NOT NULL,
    last_heartbeat_at   BIGINT,
    ended_at            BIGINT,
    exit_code           BIGINT,
    reason              TEXT COLLATE "C",
    context_usage       DOUBLE PRECISION CHECK (context_usage BETWEEN 0 AND 1),
    version             BIGINT           NOT NULL DEFAULT 1,
    server_pid          BIGINT,
    server_started      BIGINT,
    host_id             TEXT COLLATE "C",
    last_output_at      BIGINT,
    relaunch_of         TEXT COLLATE "C" REFERENCES agent_sessions (id),
    first_prompt        BIGINT,
    CHECK ((status IN ('ended', 'failed')) = (ended_at IS NOT NULL))
);
CREATE INDEX agent_sessions_live ON agent_sessions (started_at, id) WHERE ended_at IS NULL;
CREATE UNIQUE INDEX agent_sessions_external ON agent_sessions (provider, external_session_id)
    WHERE ended_at IS NULL AND external_session_id IS NOT NULL;

CREATE TABLE checkpoints (
    id         BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('checkpoints'),
    task_id    TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    session_id TEXT COLLATE "C" REFERENCES agent_sessions (id),
    state      TEXT COLLATE "C" NOT NULL
               CHECK (state IN 
                   ('planned', 'active', 'awaiting_input', 'blocked', 'review', 'done', 'parked', 'abandoned')),
    owner      TEXT COLLATE "C",
    summary    TEXT COLLATE "C" NOT NULL,
    artifact   TEXT COLLATE "C",
    due_at     BIGINT,
    created_at BIGINT           NOT NULL,
    origin     TEXT COLLATE "C" CHECK (origin IN ('launch', 'reconcile', 'hook', 'provider'))
);
CREATE INDEX checkpoints_task ON checkpoints (task_id, id);
CREATE INDEX checkpoints_due ON checkpoints (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX checkpoints_written ON checkpoints (task_id, id) WHERE origin IS NULL;

CREATE TABLE evidence (
    id          BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('evidence'),
    task_id     TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    session_id  TEXT COLLATE "C" REFERENCES agent_sessions (id),
    kind        TEXT COLLATE "C" NOT NULL,
    result      TEXT COLLATE "C" NOT NULL CHECK (result IN ('pass', 'fail', 'partial', 'skipped', 'blocked')),
    command     TEXT COLLATE "C",
    check_name  TEXT COLLATE "C",
    exit_code   BIGINT,
    duration_ms BIGINT           CHECK (duration_ms >= 0),
    artifact    TEXT COLLATE "C",
    sha256      TEXT COLLATE "C",
    commit_id   TEXT COLLATE "C",
    summary     TEXT COLLATE "C",
    observed    BIGINT           NOT NULL CHECK (observed IN (0, 1)),
    created_at  BIGINT           NOT NULL
);
CREATE INDEX evidence_task ON evidence (task_id, id);

CREATE TABLE handoffs (
    id          BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('handoffs'),
    task_id     TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    from_role   TEXT COLLATE "C",
    from_actor  TEXT COLLATE "C" NOT NULL,
    to_role     TEXT COLLATE "C",
    to_lane     TEXT COLLATE "C" REFERENCES lanes (name),
    status      TEXT COLLATE "C" NOT NULL CHECK (status IN ('open', 'accepted', 'declined', 'withdrawn')),
    summary     TEXT COLLATE "C" NOT NULL,
    payload     TEXT COLLATE "C",
    epoch       BIGINT           NOT NULL,
    created_at  BIGINT           NOT NULL,
    answered_at BIGINT,
    answered_by TEXT COLLATE "C",
    reason      TEXT COLLATE "C",
    CHECK ((to_role IS NULL) <> (to_lane IS NULL)),
    CHECK ((status = 'open') = (answered_at IS NULL)),
    CHECK ((answered_at IS NULL) = (answered_by IS NULL))
);
CREATE INDEX handoffs_task ON handoffs (task_id, id);
CREATE INDEX handoffs_open ON handoffs (id) WHERE status = 'open';

CREATE TABLE reviews (
    id         BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('reviews'),
    task_id    TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    domain     TEXT COLLATE "C" NOT NULL,
    verdict    TEXT COLLATE "C" CHECK (verdict IN ('approve', 'changes', 'reject')),
    commit_id  TEXT COLLATE "C",
    reviewer   TEXT COLLATE "C",
    actor      TEXT COLLATE "C" NOT NULL,
    notes      TEXT COLLATE "C",
    created_at BIGINT           NOT NULL
);
CREATE INDEX reviews_task ON reviews (task_id, id);

CREATE TABLE messages (
    id            BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('messages'),
    to_session    TEXT COLLATE "C",
    to_lane       TEXT COLLATE "C" REFERENCES lanes (name),
    to_role       TEXT COLLATE "C",
    priority      TEXT COLLATE "C" NOT NULL CHECK (priority IN ('normal', 'urgent', 'system')),
    source        TEXT COLLATE "C" NOT NULL,
    content       TEXT COLLATE "C" NOT NULL,
    metadata      TEXT COLLATE "C",
    status        TEXT COLLATE "C" NOT NULL
                  CHECK (status IN ('queued', 'offered', 'acknowledged', 'expired', 'withdrawn')),
    dedup         TEXT COLLATE "C",
    count         BIGINT           NOT NULL DEFAULT 1 CHECK (count >= 1),
    offered_to    TEXT COLLATE "C",
    offered_until BIGINT,
    expires_at    BIGINT,
    created_at    BIGINT           NOT NULL,
    settled_at    BIGINT,
    channel       TEXT COLLATE "C"
                  CHECK (channel IN 
                      ('stream', 'inbox', 'checkpoint', 'tool', 'turn_end', 'turn_start', 'wake', 'nudge')),
    announced_to  TEXT COLLATE "C",
    CHECK (num_nonnulls(to_session, to_lane, to_role) = 1),
    CHECK ((status = 'offered') = (offered_until IS NOT NULL)),
    CHECK (status <> 'offered' OR offered_to IS NOT NULL),
    CHECK ((status IN ('acknowledged', 'expired', 'withdrawn')) = (settled_at IS NOT NULL))
);
CREATE INDEX messages_session ON messages (to_session, id) WHERE settled_at IS NULL AND to_session IS NOT NULL;
CREATE INDEX messages_lane ON messages (to_lane, id) WHERE settled_at IS NULL AND to_lane IS NOT NULL;
CREATE INDEX messages_role ON messages (to_role, id) WHERE settled_at IS NULL AND to_role IS NOT NULL;
CREATE INDEX messages_expiring ON messages (expires_at) WHERE settled_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX messages_settled ON messages (settled_at) WHERE settled_at IS NOT NULL;
CREATE INDEX messages_dedup ON messages (dedup) WHERE dedup IS NOT NULL;

CREATE TABLE requests (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    words      TEXT COLLATE "C" NOT NULL,
    answer     TEXT COLLATE "C",
    created_at BIGINT           NOT NULL
);
CREATE INDEX requests_age ON requests (created_at);

CREATE TABLE events (
    seq        BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('events'),
    at         BIGINT           NOT NULL,
    kind       TEXT COLLATE "C" NOT NULL,
    task_id    TEXT COLLATE "C",
    session_id TEXT COLLATE "C",
    run_id     TEXT COLLATE "C",
    lane       TEXT COLLATE "C",
    actor      TEXT COLLATE "C" NOT NULL,
    data       TEXT COLLATE "C" NOT NULL
);
CREATE INDEX events_task ON events (task_id, seq) WHERE task_id IS NOT NULL;
CREATE INDEX events_session ON events (session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX events_lane ON events (lane, seq) WHERE lane IS NOT NULL;

CREATE TABLE restores (
    epoch BIGINT NOT NULL PRIMARY KEY,
    at    BIGINT NOT NULL
);

CREATE TABLE exec_runs (
    seq                BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('exec_runs'),
    id                 TEXT COLLATE "C" NOT NULL UNIQUE,
    session_id         TEXT COLLATE "C",
    queue              TEXT COLLATE "C",
    status             TEXT COLLATE "C" NOT NULL
                       CHECK (status IN 
                           ('queued', 'starting', 'running', 'succeeded', 'failed', 'canceled', 'timed_out', 'lost')),
    command            TEXT COLLATE "C" NOT NULL,
    cwd                TEXT COLLATE "C" NOT NULL,
    background         BIGINT           NOT NULL CHECK (background IN (0, 1)),
    pty_rows           BIGINT           CHECK (pty_rows > 0),
    pty_cols           BIGINT           CHECK (pty_cols > 0),
    timeout_ms         BIGINT           CHECK (timeout_ms > 0),
    max_output_bytes   BIGINT           NOT NULL CHECK (max_output_bytes > 0),
    recovery           TEXT COLLATE "C" NOT NULL CHECK (recovery IN ('requeue', 'lost')),
    attempt            BIGINT           NOT NULL DEFAULT 1 CHECK (attempt >= 1),
    host               TEXT COLLATE "C" NOT NULL,
    boot_id            TEXT COLLATE "C" NOT NULL,
    supervisor_pid     BIGINT,
    supervisor_started BIGINT,
    pid                BIGINT,
    pid_started        BIGINT,
    exit_code          BIGINT,
    signal             BIGINT,
    output_bytes       BIGINT           NOT NULL DEFAULT 0,
    truncated          BIGINT           NOT NULL DEFAULT 0 CHECK (truncated IN (0, 1)),
    error_message      TEXT COLLATE "C",
    actor              TEXT COLLATE "C" NOT NULL,
    queued_at          BIGINT           NOT NULL,
    started_at         BIGINT,
    finished_at        BIGINT,
    updated_at         BIGINT           NOT NULL,
    host_id            TEXT COLLATE "C",
    CHECK ((pty_rows IS NULL) = (pty_cols IS NULL)),
    CHECK ((status IN ('succeeded', 'failed', 'canceled', 'timed_out', 'lost')) = (finished_at IS NOT NULL)),
    CHECK ((status IN ('starting', 'running')) = (supervisor_pid IS NOT NULL)),
    CHECK ((supervisor_pid IS NULL) = (supervisor_started IS NULL)),
    CHECK ((pid IS NULL) = (pid_started IS NULL)),
    CHECK (status <> 'running' OR (pid IS NOT NULL AND started_at IS NOT NULL))
);
CREATE INDEX exec_runs_active ON exec_runs (seq) WHERE status IN ('starting', 'running');
CREATE INDEX exec_runs_queued ON exec_runs (seq) WHERE status = 'queued';
CREATE INDEX exec_runs_session ON exec_runs (session_id, seq) WHERE session_id IS NOT NULL;
CREATE INDEX exec_runs_short ON exec_runs (right(id, 8));
CREATE INDEX exec_runs_final ON exec_runs (finished_at) WHERE finished_at IS NOT NULL;

CREATE TABLE session_reports (
    session_id    TEXT COLLATE "C" NOT NULL PRIMARY KEY REFERENCES agent_sessions (id),
    lifecycle_at  BIGINT,
    hooked_at     BIGINT,
    pressure_at   BIGINT,
    error         TEXT COLLATE "C",
    usage_path    TEXT COLLATE "C",
    usage_offset  BIGINT           NOT NULL DEFAULT 0 CHECK (usage_offset >= 0),
    screen_digest TEXT COLLATE "C",
    screen_since  BIGINT,
    open_calls    BIGINT           NOT NULL DEFAULT 0 CHECK (open_calls >= 0)
);

CREATE TABLE usage_turns (
    id                    BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('usage_turns'),
    run_id                TEXT COLLATE "C" NOT NULL,
    session_id            TEXT COLLATE "C" NOT NULL REFERENCES agent_sessions (id),
    role                  TEXT COLLATE "C" NOT NULL,
    lane                  TEXT COLLATE "C",
    task_id               TEXT COLLATE "C",
    at                    BIGINT           NOT NULL,
    digest                TEXT COLLATE "C" NOT NULL,
    model                 TEXT COLLATE "C",
    input_tokens          BIGINT           NOT NULL DEFAULT 0 CHECK (input_tokens >= 0),
    output_tokens         BIGINT           NOT NULL DEFAULT 0 CHECK (output_tokens >= 0),
    cache_read_tokens     BIGINT           NOT NULL DEFAULT 0 CHECK (cache_read_tokens >= 0),
    cache_creation_tokens BIGINT           NOT NULL DEFAULT 0 CHECK (cache_creation_tokens >= 0),
    cost_usd              DOUBLE PRECISION CHECK (cost_usd >= 0),
    UNIQUE (run_id, digest)
);
CREATE INDEX usage_turns_at ON usage_turns (at);
CREATE INDEX usage_turns_session ON usage_turns (session_id, at);

CREATE TABLE tool_calls (
    id          BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('tool_calls'),
    run_id      TEXT COLLATE "C" NOT NULL,
    session_id  TEXT COLLATE "C" NOT NULL REFERENCES agent_sessions (id),
    role        TEXT COLLATE "C" NOT NULL,
    lane        TEXT COLLATE "C",
    task_id     TEXT COLLATE "C",
    at          BIGINT           NOT NULL,
    digest      TEXT COLLATE "C" NOT NULL,
    model       TEXT COLLATE "C",
    name        TEXT COLLATE "C" NOT NULL,
    success     BIGINT           CHECK (success IN (0, 1)),
    duration_ms BIGINT           CHECK (duration_ms >= 0),
    UNIQUE (run_id, digest)
);
CREATE INDEX tool_calls_at ON tool_calls (at);
CREATE INDEX tool_calls_session ON tool_calls (session_id, at);

CREATE TABLE guard_decisions (
    id          BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('guard_decisions'),
    at          BIGINT           NOT NULL,
    entry_point TEXT COLLATE "C" NOT NULL CHECK (entry_point IN ('hook', 'api', 'cli')),
    session_id  TEXT COLLATE "C",
    run_id      TEXT COLLATE "C",
    role        TEXT COLLATE "C",
    tool        TEXT COLLATE "C" NOT NULL,
    input       TEXT COLLATE "C" NOT NULL,
    allowed     BIGINT           NOT NULL CHECK (allowed IN (0, 1)),
    rule        TEXT COLLATE "C",
    reason      TEXT COLLATE "C" NOT NULL,
    context     TEXT COLLATE "C"
);
CREATE INDEX guard_decisions_session ON guard_decisions (session_id, id) WHERE session_id IS NOT NULL;
CREATE INDEX guard_decisions_at ON guard_decisions (at);

CREATE TABLE approvals (
    id          BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('approvals'),
    session_id  TEXT COLLATE "C" NOT NULL REFERENCES agent_sessions (id),
    run_id      TEXT COLLATE "C" NOT NULL,
    provider    TEXT COLLATE "C" NOT NULL,
    tool        TEXT COLLATE "C" NOT NULL,
    input       TEXT COLLATE "C" NOT NULL,
    answerable  BIGINT           NOT NULL CHECK (answerable IN (0, 1)),
    status      TEXT COLLATE "C" NOT NULL CHECK (status IN ('pending', 'allowed', 'denied', 'lapsed')),
    reason      TEXT COLLATE "C",
    asked_at    BIGINT           NOT NULL,
    answered_at BIGINT,
    answered_by TEXT COLLATE "C",
    CHECK ((status = 'pending') = (answered_at IS NULL)),
    CHECK ((status IN ('allowed', 'denied')) = (answered_by IS NOT NULL))
);
CREATE INDEX approvals_pending ON approvals (id) WHERE status = 'pending';
CREATE INDEX approvals_session ON approvals (session_id, id) WHERE status = 'pending';

CREATE TABLE claims (
    task_id       TEXT COLLATE "C" NOT NULL REFERENCES tasks (id),
    epoch         BIGINT           NOT NULL,
    claimant      TEXT COLLATE "C" NOT NULL,
    session_id    TEXT COLLATE "C" REFERENCES agent_sessions (id),
    role          TEXT COLLATE "C",
    claimed_at    BIGINT           NOT NULL,
    ended_at      BIGINT,
    ended_as      TEXT COLLATE "C"
                  CHECK (ended_as IN 
                      ('released', 'done', 'cancelled', 'stolen', 'expired', 'handed_over', 'restored', 'continued')),
    lane          TEXT COLLATE "C" REFERENCES lanes (name),
    worktree      TEXT COLLATE "C",
    assigned_lane BIGINT           NOT NULL DEFAULT 0 CHECK (assigned_lane IN (0, 1)),
    PRIMARY KEY (task_id, epoch),
    CHECK ((ended_at IS NULL) = (ended_as IS NULL)),
    CHECK (assigned_lane = 0 OR lane IS NOT NULL)
);
CREATE UNIQUE INDEX claims_live ON claims (task_id) WHERE ended_at IS NULL;
CREATE INDEX claims_session ON claims (session_id) WHERE session_id IS NOT NULL;

CREATE TABLE removed_tasks (
    id         TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    removed_at BIGINT           NOT NULL
);

CREATE TABLE notifications (
    item     TEXT COLLATE "C" NOT NULL,
    sink     TEXT COLLATE "C" NOT NULL,
    state    TEXT COLLATE "C" NOT NULL CHECK (state IN ('held', 'claimed', 'retry', 'sent', 'failed')),
    attempts BIGINT           NOT NULL DEFAULT 0 CHECK (attempts >= 0),
    at       BIGINT           NOT NULL,
    retry_at BIGINT,
    error    TEXT COLLATE "C",
    PRIMARY KEY (item, sink),
    CHECK ((state IN ('claimed', 'retry')) = (retry_at IS NOT NULL))
);

CREATE TABLE lane_snapshots (
    lane     TEXT COLLATE "C" NOT NULL PRIMARY KEY,
    host     TEXT COLLATE "C" NOT NULL,
    tip      TEXT COLLATE "C",
    base     TEXT COLLATE "C",
    base_tip TEXT COLLATE "C",
    digest   TEXT COLLATE "C" NOT NULL,
    snapshot TEXT COLLATE "C",
    paths    TEXT COLLATE "C" NOT NULL CHECK (json_valid(paths)),
    added    BIGINT           NOT NULL CHECK (added >= 0),
    deleted  BIGINT           NOT NULL CHECK (deleted >= 0),
    taken_at BIGINT           NOT NULL,
    unknown  TEXT COLLATE "C",
    judged   TEXT COLLATE "C"
);

CREATE TABLE "overlaps" (
    lane_a TEXT COLLATE "C" NOT NULL,
    lane_b TEXT COLLATE "C" NOT NULL,
    level  TEXT COLLATE "C" NOT NULL,
    files  TEXT COLLATE "C" NOT NULL CHECK (json_valid(files)),
    why    TEXT COLLATE "C",
    since  BIGINT           NOT NULL,
    told   TEXT COLLATE "C" NOT NULL CHECK (json_valid(told)),
    PRIMARY KEY (lane_a, lane_b)
);

CREATE TABLE landings (
    id          BIGINT           NOT NULL PRIMARY KEY DEFAULT next_number('landings'),
    lane        TEXT COLLATE "C",
    commit_id   TEXT COLLATE "C" NOT NULL,
    style       TEXT COLLATE "C" NOT NULL CHECK (style IN ('merge', 'squash', 'rebase')),
    base        TEXT COLLATE "C" NOT NULL,
    base_before TEXT COLLATE "C" NOT NULL,
    candidate   TEXT COLLATE "C",
    state       TEXT COLLATE "C" NOT NULL CHECK (state IN ('checking', 'moving', 'landed', 'sent_back', 'failed')),
    tasks       TEXT COLLATE "C" NOT NULL,
    error       TEXT COLLATE "C",
    started_at  BIGINT           NOT NULL,
    ended_at    BIGINT
);

INSERT INTO project (schema_version) VALUES (10);
