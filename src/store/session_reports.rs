//! What the runtimes of sessions have reported so far, as rows. A session's row is made with its first report.

use rusqlite::Row;

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::{domain::SessionId, env::Timestamp};

/// What is known from a session's reports, beside what the session itself shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionReports {
    /// The moment of the newest lifecycle report.
    pub lifecycle_at: Option<Timestamp>,
    /// When a hook of its provider last called.
    pub last_hook_at: Option<Timestamp>,
    /// Since when it is known that its context is nearly full.
    pub context_full_since: Option<Timestamp>,
    /// What its newest heartbeat says is wrong.
    pub error: Option<String>,
    /// The provider's own record of the session.
    pub usage_path: Option<String>,
    /// How much of that was read for usage, in bytes.
    pub usage_offset: i64,
}

const ONE: &str = "SELECT lifecycle_at, hooked_at, pressure_at, error, usage_path, usage_offset FROM session_reports \
     WHERE session_id = $1";
const LIFECYCLE: &str = "INSERT INTO session_reports (session_id, lifecycle_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET lifecycle_at = excluded.lifecycle_at";
const HOOKED: &str = "INSERT INTO session_reports (session_id, hooked_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET hooked_at = excluded.hooked_at";
const PRESSURE: &str = "INSERT INTO session_reports (session_id, pressure_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET pressure_at = excluded.pressure_at";
const ERROR: &str = "INSERT INTO session_reports (session_id, error) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET error = excluded.error";
const USAGE: &str = "INSERT INTO session_reports (session_id, usage_path, usage_offset) VALUES ($1, $2, $3) \
     ON CONFLICT (session_id) DO UPDATE SET usage_path = excluded.usage_path, usage_offset = excluded.usage_offset";

fn read(row: &Row<'_>) -> Result<SessionReports, StoreError> {
    let at = |column: usize| row.get::<_, Option<i64>>(column).map(|millis| millis.map(Timestamp::from_millis));
    Ok(SessionReports {
        lifecycle_at: at(0)?,
        last_hook_at: at(1)?,
        context_full_since: at(2)?,
        error: row.get(3)?,
        usage_path: row.get(4)?,
        usage_offset: row.get(5)?,
    })
}

/// What a session has reported; nothing when it has not.
///
/// # Errors
/// As the store fails.
pub fn find(tx: &ReadTx<'_>, session: &SessionId) -> Result<SessionReports, StoreError> {
    Ok(sql::first(tx.conn(), ONE, &[&session.as_str()], read)?.unwrap_or_default())
}

/// Notes the moment of the newest lifecycle report.
///
/// # Errors
/// As the store fails.
pub fn set_lifecycle_at(tx: &WriteTx<'_>, session: &SessionId, at: Timestamp) -> Result<(), StoreError> {
    sql::execute(tx.conn(), LIFECYCLE, &[&session.as_str(), &at.millis()])?;
    Ok(())
}

/// Notes that a hook of the session's provider calls now.
///
/// # Errors
/// As the store fails.
pub fn touch_hook(tx: &WriteTx<'_>, session: &SessionId) -> Result<(), StoreError> {
    sql::execute(tx.conn(), HOOKED, &[&session.as_str(), &tx.now().millis()])?;
    Ok(())
}

/// Notes since when a session's context is nearly full; `None` when it is not any more.
///
/// # Errors
/// As the store fails.
pub fn set_context_full_since(
    tx: &WriteTx<'_>,
    session: &SessionId,
    since: Option<Timestamp>,
) -> Result<(), StoreError> {
    sql::execute(tx.conn(), PRESSURE, &[&session.as_str(), &since.map(Timestamp::millis)])?;
    Ok(())
}

/// Notes what a session says is wrong with it; `None` when nothing is.
///
/// # Errors
/// As the store fails.
pub fn set_error(tx: &WriteTx<'_>, session: &SessionId, words: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), ERROR, &[&session.as_str(), &words])?;
    Ok(())
}

/// Notes how much of the provider's own record of a session was read for usage, in bytes. Written in the transaction of the
/// rows that came from there, so that none is lost or counted twice.
///
/// # Errors
/// As the store fails.
pub fn set_usage_offset(tx: &WriteTx<'_>, session: &SessionId, path: &str, offset: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), USAGE, &[&session.as_str(), &path, &offset])?;
    Ok(())
}
