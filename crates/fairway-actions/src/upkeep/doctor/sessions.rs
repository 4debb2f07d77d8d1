//! Findings of `doctor` about sessions: dead ones with claims, failed ones whose program works on, and ones whose shell does not
//! find `fairway`.

use anyhow::Result;

use crate::core::session_overview::{self, SessionScope};
use crate::core::session_process::{self, RunProcesses};
use crate::queue::claimants;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::domain::rules::staleness::ProcessObservation;
use fairway_core::domain::task::TaskStatus;
use fairway_core::os::{executable, host};
use fairway_core::store::{ReadTx, overview, session_reports, sessions};

/// A finding for each session of this host whose process is alive although another host or a person has recorded it as failed.
pub(super) fn failed_and_alive(tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
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

/// A note for each task whose claimant is proven dead, with the command that frees it.
pub(super) fn dead_claimants(tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    let mut processes = RunProcesses::default();
    for one in session_overview::read(tx, SessionScope::LiveAndHolding, &overview::held(tx)?)? {
        if !one.is_over() {
            continue;
        }
        // A submitted task waits for its reviewer.
        for held in one.holds.iter().filter(|held| held.status != TaskStatus::Review) {
            let message =
                format!("{} is claimed by {}, which works no more: {}", held.task, one.session.id, one.alive.reason);
            let finding = Finding::new("claimant_dead", Severity::Note, message);
            let ways_on = claimants::ways_on(tx, &held.task, held.status, &one.session, &one.alive, &mut processes)?;
            let fix = ways_on.into_iter().next_back().map(|way| way.command);
            found.push(Finding { fix, ..finding });
        }
    }
    Ok(found)
}

/// A finding for each open session whose agent called `fairway` by its name, which its shell did not find.
pub(super) fn without_program(tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for (id, _) in session_reports::program_missing(tx)? {
        if sessions::find(tx, &id)?.is_none_or(|session| session.status.is_final()) {
            continue;
        }
        let message = format!(
            "the shell of the session {id} does not find fairway: its directory is not in the PATH of that shell, which \
             may be a login shell with a PATH of its own; once it is found, launch the session again, because the agent \
             keeps its PATH"
        );
        let finding = Finding::new("program_missing", Severity::Warning, message);
        let own = executable::current_executable().ok().and_then(|own| own.to_str().map(str::to_owned));
        let fix = own.map(|own| format!("sudo ln -s {} /usr/local/bin/fairway", shell_words::quote(&own)));
        findings.push(Finding { fix, ..finding });
    }
    Ok(findings)
}
