//! Whether an agent's shell finds `fairway`: an agent that cannot call it does no work that counts.

use anyhow::Result;

use crate::{
    domain::SessionId,
    os::executable,
    store::{WriteTx, session_reports},
};

/// Records what a call has shown; `None` shows nothing. The time of the first failure stays. Returns whether that is the first one.
pub(in crate::actions) fn record(tx: &WriteTx<'_>, session: &SessionId, is_found: Option<bool>) -> Result<bool> {
    let Some(is_found) = is_found else { return Ok(false) };
    let is_known = session_reports::find(tx, session)?.program_missing_since.is_some();
    if is_found == is_known {
        session_reports::set_program_missing_since(tx, session, (!is_found).then(|| tx.now()))?;
    }
    Ok(!is_found && !is_known)
}

/// What the agent is told: the way that works in its shell. `None` when this program's own path is not known.
pub(in crate::actions) fn way_out() -> Option<String> {
    let own = executable::current_executable().ok()?;
    let path = shell_words::quote(own.to_str()?).into_owned();
    Some(format!("Your shell does not find `fairway` in its PATH. Call it as {path}: {path} prime"))
}
