//! Whether an agent's shell finds `fairway`. An agent that cannot call it cannot report its work.

use anyhow::Result;

use fairway_core::domain::SessionId;
use fairway_core::os::executable;
use fairway_core::store::{WriteTx, session_reports};

/// Records whether a call showed that the agent's shell finds `fairway`; `None` when it showed neither. The time of the first
/// failure is kept until a call succeeds. Returns whether this is the first failure.
pub(crate) fn record(tx: &WriteTx<'_>, session: &SessionId, is_found: Option<bool>) -> Result<bool> {
    let Some(is_found) = is_found else { return Ok(false) };
    let is_known = session_reports::find(tx, session)?.program_missing_since.is_some();
    if is_found == is_known {
        session_reports::set_program_missing_since(tx, session, (!is_found).then(|| tx.now()))?;
    }
    Ok(!is_found && !is_known)
}

/// The advice for an agent whose shell does not find `fairway`: to call it by its full path. `None` when that path is unknown.
pub(crate) fn way_out() -> Option<String> {
    let own = executable::current_executable().ok()?;
    let path = shell_words::quote(own.to_str()?).into_owned();
    Some(format!("Your shell does not find `fairway` in its PATH. Call it as {path}: {path} prime"))
}
