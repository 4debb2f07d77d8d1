//! Landings that were interrupted and that no command has completed yet.

use anyhow::Result;

use crate::{
    actions::{App, core::other_host, queue::land},
    domain::{
        finding::{Finding, Severity},
        landing::{Landing, LandingState},
    },
    store::{ReadTx, landings},
};

/// A finding for each landing of this host that is not over while no landing is at work.
pub(super) fn find(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
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
