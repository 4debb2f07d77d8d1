//! Reports of sessions' runtimes as rows, one for each session. The first report creates the row.

use rusqlite::Row;

use super::{ReadTx, StoreError, WriteTx, sql};
use crate::{domain::SessionId, env::Timestamp};

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
    /// Its open tool calls, or what was last seen of its screen.
    pub screen: ScreenReport,
}

/// Whether a session's screen may say that a turn is over, and what it has shown so far. The two share their columns: a
/// screen is looked at only while no tool call runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ScreenReport {
    /// It was not looked at, and no tool call is open.
    #[default]
    NotSeen,
    /// So many tool calls have begun and not ended.
    OpenCalls(u32),
    /// The digest of the screen that was last looked at, and the time since which it is that.
    Seen(String, Timestamp),
}

/// The start of the digest's column while tool calls are open.
const OPEN_CALLS: &str = "open-calls:";

const ONE: &str = "SELECT lifecycle_at, hooked_at, pressure_at, error, usage_path, usage_offset, screen_digest, \
     screen_since FROM session_reports WHERE session_id = $1";
const LIFECYCLE: &str = "INSERT INTO session_reports (session_id, lifecycle_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET lifecycle_at = excluded.lifecycle_at";
const HOOKED: &str = "INSERT INTO session_reports (session_id, hooked_at) VALUES ($1, $2) \
     ON CONFLICT (session_id) DO UPDATE SET hooked_at = excluded.hooked_at";
const SCREEN: &str = "INSERT INTO session_reports (session_id, screen_digest, screen_since) VALUES ($1, $2, $3) \
     ON CONFLICT (session_id) DO UPDATE SET screen_digest = excluded.screen_digest, screen_since = excluded.screen_since";
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
        screen: screen_report(row.get(6)?, at(7)?),
    })
}

fn screen_report(digest: Option<String>, since: Option<Timestamp>) -> ScreenReport {
    let open_calls = |digest: &String| digest.strip_prefix(OPEN_CALLS)?.parse().ok();
    match (digest, since) {
        (Some(digest), _) if let Some(calls) = open_calls(&digest) => ScreenReport::OpenCalls(calls),
        (Some(digest), Some(since)) => ScreenReport::Seen(digest, since),
        _ => ScreenReport::NotSeen,
    }
}

/// The reports of a session; empty if there are none.
///
/// # Errors
/// As the store fails.
pub fn find(tx: &ReadTx<'_>, session: &SessionId) -> Result<SessionReports, StoreError> {
    Ok(sql::first(tx.conn(), ONE, &[&session.as_str()], read)?.unwrap_or_default())
}

/// Sets the time of the newest lifecycle report.
///
/// # Errors
/// As the store fails.
pub fn set_lifecycle_at(tx: &WriteTx<'_>, session: &SessionId, at: Timestamp) -> Result<(), StoreError> {
    sql::execute(tx.conn(), LIFECYCLE, &[&session.as_str(), &at.millis()])?;
    Ok(())
}

/// Records a call of the provider's hook now.
///
/// # Errors
/// As the store fails.
pub fn touch_hook(tx: &WriteTx<'_>, session: &SessionId) -> Result<(), StoreError> {
    sql::execute(tx.conn(), HOOKED, &[&session.as_str(), &tx.now().millis()])?;
    Ok(())
}

/// Sets what is known of a session's screen.
///
/// # Errors
/// As the store fails.
pub fn set_screen(tx: &WriteTx<'_>, session: &SessionId, screen: &ScreenReport) -> Result<(), StoreError> {
    let (digest, since) = match screen {
        ScreenReport::NotSeen | ScreenReport::OpenCalls(0) => (None, None),
        ScreenReport::OpenCalls(calls) => (Some(format!("{OPEN_CALLS}{calls}")), None),
        ScreenReport::Seen(digest, since) => (Some(digest.clone()), Some(since.millis())),
    };
    sql::execute(tx.conn(), SCREEN, &[&session.as_str(), &digest, &since])?;
    Ok(())
}

/// Counts a tool call of a session that begins or ends.
///
/// # Errors
/// As the store fails.
pub fn count_call(tx: &WriteTx<'_>, session: &SessionId, begins: bool) -> Result<(), StoreError> {
    let open = match find(tx, session)?.screen {
        ScreenReport::OpenCalls(calls) => calls,
        ScreenReport::NotSeen | ScreenReport::Seen(..) => 0,
    };
    let open = if begins { open.saturating_add(1) } else { open.saturating_sub(1) };
    set_screen(tx, session, &ScreenReport::OpenCalls(open))
}

/// Sets the time since which a session's context is nearly full; `None` if it no longer is.
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

/// Sets the error that a session reports; `None` for no error.
///
/// # Errors
/// As the store fails.
pub fn set_error(tx: &WriteTx<'_>, session: &SessionId, error: Option<&str>) -> Result<(), StoreError> {
    sql::execute(tx.conn(), ERROR, &[&session.as_str(), &error])?;
    Ok(())
}

/// Sets the transcript and the offset in bytes up to which it was read. To be written in the transaction of the rows from
/// there, so that none is lost or counted twice.
///
/// # Errors
/// As the store fails.
pub fn set_usage_offset(tx: &WriteTx<'_>, session: &SessionId, path: &str, offset: i64) -> Result<(), StoreError> {
    sql::execute(tx.conn(), USAGE, &[&session.as_str(), &path, &offset])?;
    Ok(())
}
