//! Sessions as rows.

use super::{
    ReadTx, StoreError, WriteTx,
    sql::{self, Row, Statement},
};
use crate::{
    domain::{
        LaneName, Role, RunId, SessionId, TaskId,
        id::Label,
        sandbox::SandboxClass,
        session::{Activity, Session, SessionStatus},
    },
    env::Timestamp,
    os::host::HostIdentity,
};

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, run_id, role, lane, task_id, provider, backend, session_name, external_session_id, status, ",
            "activity, waiting_for, activity_source, activity_at, host, pid, pid_started, boot_id, socket, pane, ",
            "transcript, worktree, branch, adapter_script, adapter_state, started_at, last_heartbeat_at, ended_at, ",
            "exit_code, reason, context_usage, version, server_pid, server_started, host_id, last_output_at, ",
            "relaunch_of, first_prompt, questions, sandbox ",
            "FROM agent_sessions ",
            $rest
        )
    };
}

const ONE: &str = select!("WHERE id = $1");
const LIVE: &str = select!("INDEXED BY agent_sessions_live WHERE ended_at IS NULL ORDER BY started_at, id");
const ALL: &str = select!("ORDER BY started_at, id");
const HOLDING_FINAL: &str = select!(
    "WHERE ended_at IS NOT NULL AND id IN \
     (SELECT claim_session FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL) ORDER BY started_at, id"
);
const FAILED_WITH_PROCESS: &str =
    select!("WHERE status = 'failed' AND pid IS NOT NULL AND boot_id = $1 ORDER BY ended_at, id");
const BY_EXTERNAL: &str = select!(
    "WHERE ended_at IS NULL AND external_session_id IS NOT NULL AND provider = $1 AND external_session_id = $2"
);
/// Of those that ended at once, the one that was added last.
const ENDED_BY_EXTERNAL: Statement<'_> = Statement {
    sqlite: select!(
        "WHERE ended_at IS NOT NULL AND provider = $1 AND external_session_id = $2 \
         ORDER BY ended_at DESC, rowid DESC LIMIT 1"
    ),
    postgres: select!(
        "WHERE ended_at IS NOT NULL AND provider = $1 AND external_session_id = $2 \
         ORDER BY ended_at DESC, started_at DESC, run_id DESC LIMIT 1"
    ),
};
const BY_RUN_ID: &str = select!("WHERE run_id = $1");
const BY_ENDPOINT: &str = select!(
    "INDEXED BY agent_sessions_live WHERE ended_at IS NULL \
     AND CASE WHEN host_id IS NULL THEN host = $1 ELSE host_id = $6 END AND backend = $2 \
     AND socket IS NOT DISTINCT FROM $3 AND (pane = $4 OR ($4 IS NULL AND $5 IN (coalesce(session_name, id), id))) \
     ORDER BY started_at, id"
);
const INSERT: &str = "INSERT INTO agent_sessions (id, run_id, role, lane, task_id, provider, backend, session_name, \
     external_session_id, status, activity, waiting_for, activity_source, activity_at, host, pid, pid_started, boot_id, \
     socket, pane, transcript, worktree, branch, adapter_script, adapter_state, started_at, last_heartbeat_at, ended_at, \
     exit_code, reason, context_usage, server_pid, server_started, host_id, relaunch_of, first_prompt, questions, sandbox, \
     version) \
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, \
     $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, 1)";
const UPDATE: &str = "UPDATE agent_sessions SET run_id = $2, role = $3, lane = $4, task_id = $5, provider = $6, \
     backend = $7, session_name = $8, external_session_id = $9, status = $10, activity = $11, waiting_for = $12, \
     activity_source = $13, activity_at = $14, host = $15, pid = $16, pid_started = $17, boot_id = $18, socket = $19, \
     pane = $20, transcript = $21, worktree = $22, branch = $23, adapter_script = $24, adapter_state = $25, \
     started_at = $26, last_heartbeat_at = $27, ended_at = $28, exit_code = $29, reason = $30, context_usage = $31, \
     server_pid = $32, server_started = $33, host_id = $34, relaunch_of = $35, first_prompt = $36, \
     questions = $37, sandbox = $38, last_output_at = CASE WHEN run_id = $2 THEN last_output_at END, version = version + 1 \
     WHERE id = $1 AND version = $39";

fn read(row: &Row<'_>) -> Result<Session, StoreError> {
    let at = |column: usize| -> Result<Option<Timestamp>, StoreError> {
        Ok(row.get::<Option<i64>>(column)?.map(Timestamp::from_millis))
    };
    let sandbox: Option<String> = row.get(39)?;
    Ok(Session {
        id: sql::parse_id("a session id", &row.get::<String>(0)?, SessionId::parse)?,
        run_id: RunId::from(row.get::<String>(1)?),
        role: sql::parse_id("a role", &row.get::<String>(2)?, Role::parse)?,
        lane: sql::parse_optional_id("a lane", row.get(3)?, LaneName::parse)?,
        task: sql::parse_optional_id("a task id", row.get(4)?, TaskId::parse)?,
        provider: sql::parse_optional_id("a provider", row.get(5)?, Label::parse)?,
        backend: row.get(6)?,
        session_name: row.get(7)?,
        external_session_id: row.get(8)?,
        status: sql::parse_value("a session's status", &row.get::<String>(9)?, SessionStatus::parse)?,
        activity: sql::parse_value("an activity", &row.get::<String>(10)?, Activity::parse)?,
        waiting_for: row.get(11)?,
        activity_source: row.get(12)?,
        activity_at: at(13)?,
        host: row.get(14)?,
        pid: row.get(15)?,
        pid_started: row.get(16)?,
        boot_id: row.get(17)?,
        socket: row.get(18)?,
        pane: row.get(19)?,
        transcript: row.get(20)?,
        worktree: row.get(21)?,
        branch: row.get(22)?,
        adapter_script: row.get(23)?,
        adapter_state: row.get(24)?,
        started_at: Timestamp::from_millis(row.get(25)?),
        last_heartbeat_at: at(26)?,
        ended_at: at(27)?,
        exit_code: row.get(28)?,
        reason: row.get(29)?,
        context_usage: row.get(30)?,
        version: row.get(31)?,
        server_pid: row.get(32)?,
        server_started: row.get(33)?,
        host_id: row.get(34)?,
        last_output_at: at(35)?,
        relaunch_of: sql::parse_optional_id("a session id", row.get(36)?, SessionId::parse)?,
        first_prompt: row.get(37)?,
        questions: row.get(38)?,
        sandbox: sandbox.map(|class| sql::parse_value("a sandbox", &class, SandboxClass::parse)).transpose()?,
    })
}

/// The session of this id.
pub fn find(tx: &ReadTx<'_>, id: &SessionId) -> Result<Option<Session>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id.as_str()], read)
}

/// Every session that is not final, oldest first.
pub fn live(tx: &ReadTx<'_>) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), LIVE, &[], read)
}

/// Every final session that still has a claim, oldest first.
pub fn holding_final(tx: &ReadTx<'_>) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), HOLDING_FINAL, &[], read)
}

/// Every session, oldest first.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], read)
}

/// The sessions that were recorded as failed and whose process was started in this boot, oldest first.
pub fn failed_with_process(tx: &ReadTx<'_>, boot_id: &str) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), FAILED_WITH_PROCESS, &[&boot_id], read)
}

/// The live session with a provider's own session id.
pub fn by_external(tx: &ReadTx<'_>, provider: &Label, external: &str) -> Result<Option<Session>, StoreError> {
    sql::first(tx.conn(), BY_EXTERNAL, &[&provider.as_str(), &external], read)
}

/// The last ended session with a provider's own session id.
pub fn ended_by_external(tx: &ReadTx<'_>, provider: &Label, external: &str) -> Result<Option<Session>, StoreError> {
    sql::first(tx.conn(), ENDED_BY_EXTERNAL, &[&provider.as_str(), &external], read)
}

/// The endpoint of a session in its backend.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a> {
    pub host: &'a HostIdentity,
    pub backend: &'a str,
    /// The multiplexer's socket.
    pub socket: Option<&'a str>,
    /// The pane; it has precedence over the name.
    pub pane: Option<&'a str>,
    /// The name in the backend.
    pub name: Option<&'a str>,
}

/// The live sessions at an endpoint: those in its pane, or without a pane those of its name.
pub fn by_endpoint(tx: &ReadTx<'_>, at: &Endpoint<'_>) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), BY_ENDPOINT, &[&at.host.name, &at.backend, &at.socket, &at.pane, &at.name, &at.host.id], read)
}

/// The session of a session run, final or not.
pub fn by_run_id(tx: &ReadTx<'_>, run_id: &RunId) -> Result<Option<Session>, StoreError> {
    sql::first(tx.conn(), BY_RUN_ID, &[&run_id.as_str()], read)
}

/// Adds a session.
///
/// # Errors
/// As the store fails, also when its id, run or external id is taken.
pub fn insert(tx: &WriteTx<'_>, session: &Session) -> Result<(), StoreError> {
    write(tx, INSERT, session)?;
    Ok(())
}

/// Writes all columns of a session if its row still has the version that was read. Returns whether it had; otherwise the
/// caller must read it again.
pub fn update(tx: &WriteTx<'_>, session: &Session) -> Result<bool, StoreError> {
    Ok(write(tx, UPDATE, session)? == 1)
}

fn write(tx: &WriteTx<'_>, statement: &str, session: &Session) -> Result<usize, StoreError> {
    let millis = |at: Option<Timestamp>| at.map(Timestamp::millis);
    sql::execute(
        tx.conn(),
        statement,
        &[
            &session.id.as_str(),
            &session.run_id.as_str(),
            &session.role.as_str(),
            &session.lane.as_ref().map(LaneName::as_str),
            &session.task.as_ref().map(TaskId::as_str),
            &session.provider.as_ref().map(Label::as_str),
            &session.backend,
            &session.session_name,
            &session.external_session_id,
            &session.status.as_str(),
            &session.activity.as_str(),
            &session.waiting_for,
            &session.activity_source,
            &millis(session.activity_at),
            &session.host,
            &session.pid,
            &session.pid_started,
            &session.boot_id,
            &session.socket,
            &session.pane,
            &session.transcript,
            &session.worktree,
            &session.branch,
            &session.adapter_script,
            &session.adapter_state,
            &session.started_at.millis(),
            &millis(session.last_heartbeat_at),
            &millis(session.ended_at),
            &session.exit_code,
            &session.reason,
            &session.context_usage,
            &session.server_pid,
            &session.server_started,
            &session.host_id,
            &session.relaunch_of.as_ref().map(SessionId::as_str),
            &session.first_prompt,
            &session.questions,
            &session.sandbox.map(SandboxClass::as_str),
            &session.version,
        ],
    )
}

/// Records a heartbeat of a live session.
pub fn touch(tx: &WriteTx<'_>, id: &SessionId) -> Result<(), StoreError> {
    const TOUCH: &str = "UPDATE agent_sessions SET last_heartbeat_at = $2, version = version + 1 \
         WHERE id = $1 AND ended_at IS NULL";
    sql::execute(tx.conn(), TOUCH, &[&id.as_str(), &tx.now().millis()])?;
    Ok(())
}

/// Records when the backend of a session run last saw output of it. No other column changes, the version neither.
pub fn set_last_output(tx: &WriteTx<'_>, session: &Session, at: Timestamp) -> Result<(), StoreError> {
    const SET: &str =
        "UPDATE agent_sessions SET last_output_at = $3 WHERE id = $1 AND run_id = $2 AND ended_at IS NULL";
    sql::execute(tx.conn(), SET, &[&session.id.as_str(), &session.run_id.as_str(), &at.millis()])?;
    Ok(())
}

/// Ids similar to an unknown one: those with the same first characters.
pub fn similar_ids(tx: &ReadTx<'_>, id: &str) -> Result<Vec<String>, StoreError> {
    let beginning: String = id.chars().take(2).collect();
    sql::rows(tx.conn(), "SELECT id FROM agent_sessions WHERE id >= $1 ORDER BY id LIMIT 200", &[&beginning], |row| {
        row.get(0)
    })
}
