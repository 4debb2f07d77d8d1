//! Reports of sessions' runtimes as rows, one for each session. The first report creates the row.

use std::collections::{BTreeMap, BTreeSet};

use super::sql::{self, Row};
use super::{ReadTx, StoreError, WriteTx};
use crate::domain::SessionId;
use crate::env::Timestamp;

/// The facts from a session's reports that the session's own row does not hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionReports {
    /// The time of the newest lifecycle report.
    pub lifecycle_at: Option<Timestamp>,
    /// The time of the last call of a provider's hook.
    pub last_hook_at: Option<Timestamp>,
    /// The time since which its context is nearly full.
    pub context_full_since: Option<Timestamp>,
    /// The error of its newest heartbeat.
    pub error: Option<String>,
    /// The path of the provider's transcript.
    pub usage_path: Option<String>,
    /// The offset in bytes up to which the transcript was read.
    pub usage_offset: i64,
    /// How many tool calls have begun and not ended.
    pub open_calls: u32,
    /// Its screen when it was last read; `None` when something has happened in the session since.
    pub screen: Option<SeenScreen>,
    /// The time since which its agent's shell does not find `fairway`.
    pub program_missing_since: Option<Timestamp>,
    /// The agent of a structured session; `None` for any other one.
    pub protocol: Option<ProtocolState>,
    /// The end of the last message of its last turn.
    pub last_message: Option<String>,
}

/// The facts that the agent of a structured session reports about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProtocolState {
    /// Its name and version, and the version of the protocol.
    pub agent: String,
    pub mode: Option<String>,
    /// Why it may run a tool without asking; `None` when it asks.
    pub unguarded: Option<String>,
    /// Whether it takes prompts into its running turn.
    pub can_steer: bool,
}

/// A screen that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenScreen {
    pub digest: String,
    pub since: Timestamp,
}

const ONE: &str = "SELECT lifecycle_at, hooked_at, pressure_at, error, usage_path, usage_offset, open_calls, \
     screen_digest, screen_since, program_missing_at, agent, agent_mode, unguarded, can_steer, last_message \
     FROM session_reports WHERE session_id = $1";
const REPORTING: &str = "SELECT session_id FROM session_reports \
     WHERE (lifecycle_at IS NOT NULL OR hooked_at IS NOT NULL) \
     AND session_id IN (SELECT id FROM agent_sessions INDEXED BY agent_sessions_live WHERE ended_at IS NULL)";
const LIFECYCLE: &str = "INSERT INTO session_reports (session_id, lifecycle_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET lifecycle_at = excluded.lifecycle_at";
const HOOKED: &str = "INSERT INTO session_reports (session_id, hooked_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET hooked_at = excluded.hooked_at";
const SCREEN: &str = "INSERT INTO session_reports (session_id, screen_digest, screen_since) VALUES ($1, $2, $3) \
     ON CONFLICT (session_id) DO UPDATE SET screen_digest = excluded.screen_digest, screen_since = excluded.screen_since";
const TURN: &str = "UPDATE session_reports SET open_calls = 0, screen_digest = NULL, screen_since = NULL, last_message = NULL \
     WHERE session_id = $1 AND (open_calls > 0 OR screen_digest IS NOT NULL OR last_message IS NOT NULL)";
const CALL: &str = "INSERT INTO session_reports (session_id, open_calls) VALUES ($1, CASE WHEN $2 > 0 THEN $2 ELSE 0 END) \
     ON CONFLICT (session_id) DO UPDATE SET open_calls = CASE WHEN session_reports.open_calls + $2 > 0 \
     THEN session_reports.open_calls + $2 ELSE 0 END, screen_digest = NULL, screen_since = NULL";
const PROGRAM_MISSING: &str = "INSERT INTO session_reports (session_id, program_missing_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET program_missing_at = excluded.program_missing_at";
const PROTOCOL: &str = "INSERT INTO session_reports (session_id, agent, agent_mode, unguarded, can_steer) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (session_id) DO UPDATE SET agent = excluded.agent, \
     agent_mode = excluded.agent_mode, unguarded = excluded.unguarded, can_steer = excluded.can_steer";
const GUARD: &str = "UPDATE session_reports SET agent_mode = $2, unguarded = $3 WHERE session_id = $1";
const UNGUARDED: &str = "SELECT session_id, unguarded FROM session_reports WHERE unguarded IS NOT NULL \
     AND session_id IN (SELECT id FROM agent_sessions INDEXED BY agent_sessions_live WHERE ended_at IS NULL)";
const ALL_PROGRAM_MISSING: &str = "SELECT session_id, program_missing_at FROM session_reports \
     WHERE program_missing_at IS NOT NULL ORDER BY session_id";
const PRESSURE: &str = "INSERT INTO session_reports (session_id, pressure_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET pressure_at = excluded.pressure_at";
const LAST_MESSAGE: &str = "INSERT INTO session_reports (session_id, last_message) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET last_message = excluded.last_message";
const ERROR: &str = "INSERT INTO session_reports (session_id, error) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET error = excluded.error";
const USAGE: &str = "INSERT INTO session_reports (session_id, usage_path, usage_offset) VALUES ($1, $2, $3) \
     ON CONFLICT (session_id) DO UPDATE SET usage_path = excluded.usage_path, usage_offset = excluded.usage_offset";

fn read(row: &Row<'_>) -> Result<SessionReports, StoreError> {
    Ok(SessionReports {
        lifecycle_at: row.get(0)?,
        last_hook_at: row.get(1)?,
        context_full_since: row.get(2)?,
        error: row.get(3)?,
        usage_path: row.get(4)?,
        usage_offset: row.get(5)?,
        open_calls: row.get(6)?,
        screen: row
            .get::<Option<String>>(7)?
            .zip(row.get::<Option<Timestamp>>(8)?)
            .map(|(digest, since)| SeenScreen { digest, since }),
        program_missing_since: row.get(9)?,
        protocol: match row.get::<Option<String>>(10)? {
            Some(agent) => Some(ProtocolState {
                agent,
                mode: row.get(11)?,
                unguarded: row.get(12)?,
                can_steer: row.get::<Option<i64>>(13)? == Some(1),
            }),
            None => None,
        },
        last_message: row.get(14)?,
    })
}

/// The reports of a session; empty if there are none.
pub fn find(tx: &ReadTx<'_>, session: &SessionId) -> Result<SessionReports, StoreError> {
    Ok(sql::first(tx.conn(), ONE, &[&session], read)?.unwrap_or_default())
}

/// The live sessions about which a hook or a runtime has reported.
pub fn reporting(tx: &ReadTx<'_>) -> Result<BTreeSet<SessionId>, StoreError> {
    let found = sql::rows(tx.conn(), REPORTING, &[], |row| row.get::<SessionId>(0))?;
    Ok(found.into_iter().collect())
}

pub fn set_lifecycle_at(tx: &WriteTx<'_>, session: &SessionId, at: Timestamp) -> Result<(), StoreError> {
    sql::execute(tx.conn(), LIFECYCLE, &[&session, &at])?;
    Ok(())
}

/// Records the present time as that of the provider's newest hook call for the session.
pub fn touch_hook(tx: &WriteTx<'_>, session: &SessionId) -> Result<(), StoreError> {
    sql::execute(tx.conn(), HOOKED, &[&session, &tx.now()])?;
    Ok(())
}

pub fn set_protocol(tx: &WriteTx<'_>, session: &SessionId, state: &ProtocolState) -> Result<(), StoreError> {
    let ProtocolState { agent, mode, unguarded, can_steer } = state;
    sql::execute(tx.conn(), PROTOCOL, &[&session, agent, mode, unguarded, &i64::from(*can_steer)])?;
    Ok(())
}

/// Sets the mode of a structured session's agent, and the reason why it may run a tool without asking; `None` when it always
/// asks.
pub fn set_guard(
    tx: &WriteTx<'_>,
    session: &SessionId,
    mode: Option<&str>,
    unguarded: Option<&str>,
) -> Result<(), StoreError> {
    sql::execute(tx.conn(), GUARD, &[&session, &mode, &unguarded])?;
    Ok(())
}

/// The live structured sessions whose agents may run a tool without asking, with the reasons.
pub fn unguarded(tx: &ReadTx<'_>) -> Result<BTreeMap<SessionId, String>, StoreError> {
    let found = sql::rows(tx.conn(), UNGUARDED, &[], |row| Ok((row.get::<SessionId>(0)?, row.get(1)?)))?;
    Ok(found.into_iter().collect())
}

pub fn set_screen(tx: &WriteTx<'_>, session: &SessionId, screen: &SeenScreen) -> Result<(), StoreError> {
    sql::execute(tx.conn(), SCREEN, &[&session, &screen.digest, &screen.since])?;
    Ok(())
}

/// Sets the time since which the shell of a session's agent does not find `fairway`; `None` if it does.
pub fn set_program_missing_since(
    tx: &WriteTx<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
) -> Result<(), StoreError> {
    sql::execute(tx.conn(), PROGRAM_MISSING, &[&session, &since])?;
    Ok(())
}

/// The sessions in which the agent's shell does not find `fairway`, each with the time since which that is so.
pub fn program_missing(tx: &ReadTx<'_>) -> Result<Vec<(SessionId, Timestamp)>, StoreError> {
    sql::rows(tx.conn(), ALL_PROGRAM_MISSING, &[], |row| {
        let id = row.get::<SessionId>(0)?;
        Ok((id, row.get::<Timestamp>(1)?))
    })
}

/// Resets the count of open tool calls, the last message and what is known of the screen, because a turn has begun or ended.
pub fn reset_turn(tx: &WriteTx<'_>, session: &SessionId) -> Result<(), StoreError> {
    sql::execute(tx.conn(), TURN, &[&session])?;
    Ok(())
}

/// Adds one to a session's open tool calls when a call begins, and subtracts one when a call has ended, but never below 0.
pub fn count_call(tx: &WriteTx<'_>, session: &SessionId, begins: bool) -> Result<(), StoreError> {
    let change: i64 = if begins { 1 } else { -1 };
    sql::execute(tx.conn(), CALL, &[&session, &change])?;
    Ok(())
}

/// Sets the time since which a session's context is nearly full; `None` if it no longer is.
pub fn set_context_full_since(
    tx: &WriteTx<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
) -> Result<(), StoreError> {
    sql::execute(tx.conn(), PRESSURE, &[&session, &since])?;
    Ok(())
}

/// Sets the end of the last message of a session's turn.
pub fn set_last_message(tx: &WriteTx<'_>, session: &SessionId, text: &str) -> Result<(), StoreError> {
    sql::execute(tx.conn(), LAST_MESSAGE, &[&session, &text])?;
    Ok(())
}

/// Sets the error that a session reports; `None` for no error.
pub fn set_error(tx: &WriteTx<'_>, session: &SessionId, error: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), ERROR, &[&session, &error])?;
    Ok(())
}

/// Names the transcript from which usage is read. Another one than before is read from its start.
pub fn set_usage_path(tx: &WriteTx<'_>, session: &SessionId, path: &str) -> Result<(), StoreError> {
    const SET: &str = "UPDATE session_reports SET usage_path = $2, usage_offset = 0 \
         WHERE session_id = $1 AND usage_path IS DISTINCT FROM $2";
    sql::execute(tx.conn(), SET, &[&session, &path]).map(drop)
}

/// Sets the transcript and the offset in bytes up to which it was read. The caller must do this in the transaction that stores
/// the rows which it read there, so that none is lost or counted twice.
pub fn set_usage_offset(tx: &WriteTx<'_>, session: &SessionId, path: &str, offset: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), USAGE, &[&session, &path, &offset])?;
    Ok(())
}
