//! What runtimes report about their sessions: nothing is scraped and nothing is guessed. No report claims, finishes, approves
//! or merges anything.

pub mod context;
pub mod health;
pub mod lifecycle;

use anyhow::Result;

use crate::{
    actions::{core::keepalive, sessions::prompt},
    domain::session::Session,
    store::{WriteTx, tasks},
};

pub(in crate::actions) use crate::actions::sessions::find_by_run::unknown_run;
pub use crate::actions::sessions::{
    find_by_run::{normalize_run_id, session_of_run},
    report::{activity::report_activity, context_threshold::report_context_usage},
};

/// A sign of life of a session: a suspicion is over, and the leases of what it holds are renewed. One that has ended gives
/// none any more.
///
/// # Errors
/// As the store fails.
pub fn touch(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    prompt::confirm_typed(tx, session)?;
    touch_started(tx, session)
}

/// A session begins, which is a sign of life as well, but no proof that what was typed into it arrived.
///
/// # Errors
/// As the store fails.
pub fn touch_started(tx: &WriteTx<'_>, session: &Session) -> Result<()> {
    if session.status.is_final() {
        return Ok(());
    }
    keepalive::mark_running(tx, session)?;
    tasks::renew_leases(tx, session.id.as_str(), None)?;
    Ok(())
}
