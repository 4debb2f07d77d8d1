//! Sessions as rows.

use super::sql::columns::{columns, text};
use super::sql::{self, Row, Statement};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::id::Label;
use crate::domain::session::Session;
use crate::domain::{RunId, SessionId};
use crate::env::Timestamp;
use crate::os::host::HostIdentity;

columns! {
    Session {
        id, version, last_output_at;
        run_id, role, lane, task = "task_id", provider, backend, session_name, external_session_id, status, activity,
        waiting_for, activity_source, activity_at, host, pid, pid_started, boot_id, socket, pane, transcript, worktree, branch,
        adapter_script, adapter_state, started_at, last_heartbeat_at, ended_at, exit_code, reason, context_usage, server_pid,
        server_started, host_id, relaunch_of, first_prompt, questions, sandbox, parked_until, parked_why,
    }
}

const SELECT: &str = text!("SELECT ", COLUMNS, " FROM agent_sessions ");
const ONE: &str = text!(SELECT, "WHERE id = $1");
const LIVE: &str = text!(SELECT, "INDEXED BY agent_sessions_live WHERE ended_at IS NULL ORDER BY started_at, id");
const ALL: &str = text!(SELECT, "ORDER BY started_at, id");
const HOLDING_FINAL: &str = text!(
    SELECT,
    "WHERE ended_at IS NOT NULL AND id IN \
     (SELECT claim_session FROM tasks INDEXED BY tasks_held WHERE claimant IS NOT NULL) ORDER BY started_at, id"
);
const FAILED_WITH_PROCESS: &str =
    text!(SELECT, "WHERE status = 'failed' AND pid IS NOT NULL AND boot_id = $1 ORDER BY ended_at, id");
const BY_EXTERNAL: &str = text!(
    SELECT,
    "WHERE ended_at IS NULL AND external_session_id IS NOT NULL AND provider = $1 AND external_session_id = $2"
);
/// Of those that ended at once, the one that was added last.
const ENDED_BY_EXTERNAL: Statement<'_> = Statement {
    sqlite: text!(
        SELECT,
        "WHERE ended_at IS NOT NULL AND provider = $1 AND external_session_id = $2 \
         ORDER BY ended_at DESC, rowid DESC LIMIT 1"
    ),
    postgres: text!(
        SELECT,
        "WHERE ended_at IS NOT NULL AND provider = $1 AND external_session_id = $2 \
         ORDER BY ended_at DESC, started_at DESC, run_id DESC LIMIT 1"
    ),
};
const BY_RUN_ID: &str = text!(SELECT, "WHERE run_id = $1");
const BY_ENDPOINT: &str = text!(
    SELECT,
    "INDEXED BY agent_sessions_live WHERE ended_at IS NULL \
     AND CASE WHEN host_id IS NULL THEN host = $1 ELSE host_id = $6 END AND backend = $2 \
     AND socket IS NOT DISTINCT FROM $3 AND (pane = $4 OR ($4 IS NULL AND $5 IN (coalesce(session_name, id), id))) \
     ORDER BY started_at, id"
);
const INSERT: &str =
    text!("INSERT INTO agent_sessions (", WRITTEN, ", id, version) VALUES (", PLACEHOLDERS, ", $40, 1)");
const UPDATE: &str = text!(
    "UPDATE agent_sessions SET (",
    WRITTEN,
    ") = (",
    PLACEHOLDERS,
    "), last_output_at = CASE WHEN run_id = $1 THEN last_output_at END, version = version + 1 \
     WHERE id = $40 AND version = $41"
);

pub fn find(tx: &ReadTx<'_>, id: &SessionId) -> Result<Option<Session>, StoreError> {
    sql::first(tx.conn(), ONE, &[&id], read)
}

/// Every session that is not final, oldest first.
pub fn live(tx: &ReadTx<'_>) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), LIVE, &[], read)
}

/// Every final session that still has a live claim, oldest first.
pub fn holding_final(tx: &ReadTx<'_>) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), HOLDING_FINAL, &[], read)
}

/// Every session, oldest first.
pub fn all(tx: &ReadTx<'_>) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), ALL, &[], read)
}

/// The sessions that are recorded as failed and whose process was started in this boot, oldest first.
pub fn failed_with_process(tx: &ReadTx<'_>, boot_id: &str) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), FAILED_WITH_PROCESS, &[&boot_id], read)
}

/// The live session to which the provider gave the id `external`; `None` when there is none.
pub fn by_external(tx: &ReadTx<'_>, provider: &Label, external: &str) -> Result<Option<Session>, StoreError> {
    sql::first(tx.conn(), BY_EXTERNAL, &[&provider, &external], read)
}

/// The session that ended last of those to which the provider gave the id `external`; `None` when there is none.
pub fn ended_by_external(tx: &ReadTx<'_>, provider: &Label, external: &str) -> Result<Option<Session>, StoreError> {
    sql::first(tx.conn(), ENDED_BY_EXTERNAL, &[&provider, &external], read)
}

/// The endpoint of a session in its backend.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a> {
    pub host: &'a HostIdentity,
    pub backend: &'a str,
    pub socket: Option<&'a str>,
    /// The pane; it has precedence over the name.
    pub pane: Option<&'a str>,
    /// The name in the backend.
    pub name: Option<&'a str>,
}

/// The live sessions at an endpoint: those in its pane or, when it names no pane, those with its name.
pub fn by_endpoint(tx: &ReadTx<'_>, at: &Endpoint<'_>) -> Result<Vec<Session>, StoreError> {
    sql::rows(tx.conn(), BY_ENDPOINT, &[&at.host.name, &at.backend, &at.socket, &at.pane, &at.name, &at.host.id], read)
}

/// The session that has this session run, whether or not the session is final.
pub fn by_run_id(tx: &ReadTx<'_>, run_id: &RunId) -> Result<Option<Session>, StoreError> {
    sql::first(tx.conn(), BY_RUN_ID, &[&run_id], read)
}

/// Adds a session.
/// Fails when its id, run or external id is taken.
pub fn insert(tx: &WriteTx<'_>, session: &Session) -> Result<(), StoreError> {
    let mut values = values(session);
    values.push(&session.id);
    sql::execute(tx.conn(), INSERT, &values)?;
    Ok(())
}

/// Writes all columns of a session if its row still has the version that was read. Returns `false` when it has not: then the
/// caller must read the session again.
pub fn update(tx: &WriteTx<'_>, session: &Session) -> Result<bool, StoreError> {
    let mut values = values(session);
    values.extend([&session.id as &dyn sql::ToValue, &session.version]);
    Ok(sql::execute(tx.conn(), UPDATE, &values)? == 1)
}

/// Records a heartbeat of a session if its row still has the version that was read. Returns `false` when it has not.
pub fn touch(tx: &WriteTx<'_>, session: &Session) -> Result<bool, StoreError> {
    const TOUCH: &str =
        "UPDATE agent_sessions SET last_heartbeat_at = $3, version = version + 1 WHERE id = $1 AND version = $2";
    Ok(sql::execute(tx.conn(), TOUCH, &[&session.id, &session.version, &tx.now()])? == 1)
}

/// Records when the backend of a session run last saw output of it. All other columns stay as they are, including the version.
pub fn set_last_output(tx: &WriteTx<'_>, session: &Session, at: Timestamp) -> Result<(), StoreError> {
    const SET: &str =
        "UPDATE agent_sessions SET last_output_at = $3 WHERE id = $1 AND run_id = $2 AND ended_at IS NULL";
    sql::execute(tx.conn(), SET, &[&session.id, &session.run_id, &at])?;
    Ok(())
}

/// Candidates for ids that are similar to an unknown one: up to 200 ids in alphabetical order, from its first two characters on.
pub fn similar_ids(tx: &ReadTx<'_>, id: &str) -> Result<Vec<String>, StoreError> {
    let beginning: String = id.chars().take(2).collect();
    sql::rows(tx.conn(), "SELECT id FROM agent_sessions WHERE id >= $1 ORDER BY id LIMIT 200", &[&beginning], |row| {
        row.get(0)
    })
}
