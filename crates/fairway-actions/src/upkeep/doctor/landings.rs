//! Landings that were interrupted and not completed yet, and bases that differ from those of the other hosts.

use anyhow::Result;

use crate::core::other_host;
use crate::land::shared_base::{self, BaseAnswers, Diverged, SharedBase};
use crate::{App, land};
use fairway_core::domain::TaskId;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::domain::landing::{Landing, LandingState};
use fairway_core::store::{ReadTx, landings};

/// A finding for each interrupted landing of this host, and for each base that differs from that of the other hosts.
pub(super) fn find(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut findings = of_shared_bases(&shared_base::find(app, tx, &mut BaseAnswers::default())?);
    findings.extend(interrupted(app, tx)?);
    Ok(findings)
}

/// A finding for each landing of another host that is missing here, and for each base that has diverged from its upstream.
fn of_shared_bases(found: &SharedBase) -> Vec<Finding> {
    let missing = found.missing.iter().map(|one| {
        let fix = one.fix.rsplit_once(": ").map_or(one.fix.as_str(), |(_, command)| command);
        let waiting: Vec<&str> = one.waiting.iter().map(TaskId::as_str).collect();
        let (severity, waiting) = match waiting.as_slice() {
            [] => (Severity::Note, String::new()),
            waiting => (Severity::Warning, format!("; for it waits {}", waiting.join(", "))),
        };
        Finding::new("landing_elsewhere", severity, format!("{}{waiting}", one.line)).with_fix(fix)
    });
    let apart =
        |one: &Diverged| Finding::new("base_diverged", Severity::Warning, one.line.clone()).with_fix(one.command());
    missing.chain(found.diverged.iter().map(apart)).collect()
}

fn interrupted(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let mut unfinished = landings::unfinished(tx)?;
    unfinished.retain(|landing| !other_host::has_repository(app, landing.host_id.as_deref()));
    if unfinished.is_empty() || land::is_at_work(app) {
        return Ok(Vec::new());
    }
    Ok(unfinished.iter().map(finding).collect())
}

fn finding(landing: &Landing) -> Finding {
    let Landing { id, base, started_at, .. } = landing;
    let (state, end) = match landing.state {
        LandingState::Landed => ("before its lane ended".to_owned(), "completes it"),
        LandingState::Moving => (format!("while {base} moved"), "completes it"),
        _ => (format!("before {base} moved"), "gives it up and begins anew"),
    };
    let tasks: Vec<&str> = landing.tasks.iter().map(|(task, _)| task.as_str()).collect();
    let what = match (tasks.first(), &landing.lane) {
        (Some(_), _) => tasks.join(", "),
        (None, Some(lane)) => format!("lane {lane}"),
        (None, None) => landing.commit.clone(),
    };
    let name = match (tasks.first(), &landing.lane) {
        (Some(task), _) => (*task).to_owned(),
        (None, Some(lane)) => format!("lane:{lane}"),
        (None, None) => "--all".to_owned(),
    };
    let message =
        format!("landing {id} of {what}, started at {started_at}, was interrupted {state}; the next landing {end}");
    Finding::new("landing_unfinished", Severity::Warning, message).with_fix(format!("fairway land {name}"))
}
