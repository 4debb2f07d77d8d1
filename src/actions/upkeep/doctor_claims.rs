//! Claims of sessions that are not alive.

use anyhow::Result;

use crate::{
    actions::{
        core::{
            session_overview::{self, SessionScope},
            session_process::RunProcesses,
        },
        queue::claimants,
    },
    domain::{
        finding::{Finding, Severity},
        task::TaskStatus,
    },
    store::{ReadTx, overview},
};

/// A note for each task whose claimant is proven dead, with the command that frees it.
pub(super) fn find(tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
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
            let (session, alive, can) = (&one.session, &one.alive, one.can_relaunch);
            let ways_on = claimants::ways_on(&held.task, held.status, session, alive, can, &mut processes);
            found.push(match ways_on.into_iter().next_back() {
                Some(way) => finding.with_fix(way.command),
                None => finding,
            });
        }
    }
    Ok(found)
}
