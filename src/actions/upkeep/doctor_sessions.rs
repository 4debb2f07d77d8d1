//! Findings of `doctor` about programs of this host that work on although their session was recorded as failed.

use anyhow::Result;

use crate::{
    actions::core::session_process,
    domain::{
        finding::{Finding, Severity},
        rules::liveness::ProcessObservation,
    },
    os::host,
    store::{ReadTx, sessions},
};

/// A finding for each session of this host that has failed, by the word of another host or of a person, and whose process is alive.
pub(super) fn find(tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for session in sessions::failed_with_process(tx, &host::boot_id())? {
        let is_alive = || {
            matches!(
                session_process::process_state(&session),
                ProcessObservation::Alive | ProcessObservation::Orphaned(_)
            )
        };
        if !session_process::is_local(&session) || !is_alive() {
            continue;
        }
        let id = &session.id;
        let process = session_process::living_process(&session).unwrap_or_default();
        let why = session.reason.as_deref().unwrap_or("without a reason");
        let message =
            format!("the program of the session {id} works on (process {process}), and the session has failed: {why}");
        let finding = Finding::new("session_failed_alive", Severity::Warning, message);
        findings.push(finding.with_fix(format!("fairway session stop {id}")));
    }
    Ok(findings)
}
