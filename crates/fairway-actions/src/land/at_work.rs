//! The landings at work, and what they run.

use anyhow::Result;

use super::{check_log, lock};
use crate::App;
use crate::core::other_host;
use fairway_core::domain::landing::{Landing, LandingState};
use fairway_core::env::Timestamp;
use fairway_core::store::{ReadTx, landings};
use fairway_core::wire::{LandAtWorkView, LandNowView};

/// How many of the newest landings are used to estimate the end.
const MAX_EARLIER: i64 = 20;

/// Finds the landings at work. A landing of this host that was interrupted is none: the next one completes it or gives it up.
pub(crate) fn find(app: &App, tx: &ReadTx<'_>) -> Result<LandAtWorkView> {
    let mut open = landings::unfinished(tx)?;
    open.retain(|one| !one.is_base_alone() && one.state != LandingState::Landed);
    if open.is_empty() {
        return Ok(LandAtWorkView::default());
    }
    let is_at_work = lock::is_at_work(app);
    open.retain(|one| is_at_work || other_host::has_repository(app, one.host_id.as_deref()));
    let mut found = LandAtWorkView::default();
    for landing in &open {
        found.now.push(view(landing, &landings::landed_in(tx, &landing.base, MAX_EARLIER)?));
    }
    if is_at_work {
        found.running = check_log::running(app);
    }
    Ok(found)
}

fn view(landing: &Landing, earlier: &[Landing]) -> LandNowView {
    let expected = usual_duration(earlier).map(|millis| landing.started_at.millis().saturating_add(millis));
    LandNowView {
        id: landing.id,
        state: landing.state.as_str(),
        lane: landing.lane.as_ref().map(ToString::to_string),
        tasks: landing.tasks.iter().map(|(task, _)| task.to_string()).collect(),
        base: landing.base.clone(),
        candidate: landing.candidate.clone(),
        host: landing.host.clone(),
        since: landing.started_at.to_string(),
        expected_end: expected.map(|millis| Timestamp::from_millis(millis).to_string()),
    }
}

/// The usual duration of a landing, in milliseconds.
fn usual_duration(earlier: &[Landing]) -> Option<i64> {
    let duration = |one: &Landing| Some(one.ended_at?.millis().saturating_sub(one.started_at.millis()));
    let mut known: Vec<i64> = earlier.iter().filter(|one| !one.is_base_alone()).filter_map(duration).collect();
    known.sort_unstable();
    known.get(known.len() / 2).copied()
}
