//! Findings of `doctor` about agents whose shell does not find `fairway`.

use anyhow::Result;

use crate::{
    domain::finding::{Finding, Severity},
    os::executable,
    store::{ReadTx, session_reports, sessions},
};

/// A finding for each open session whose agent called `fairway` by its name, which its shell did not find.
pub(super) fn find(tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (id, _) in session_reports::program_missing(tx)? {
        if sessions::find(tx, &id)?.is_none_or(|session| session.status.is_final()) {
            continue;
        }
        let message = format!(
            "the shell of the session {id} does not find fairway: its directory is not in the PATH of that shell, which \
             may be a login shell with a PATH of its own"
        );
        let finding = Finding::new("program_missing", Severity::Warning, message);
        let own = executable::current_executable().ok();
        findings.push(match own.as_deref().and_then(|own| own.to_str()) {
            Some(own) => finding.with_fix(format!("sudo ln -s {} /usr/local/bin/fairway", shell_words::quote(own))),
            None => finding,
        });
    }
    Ok(findings)
}
