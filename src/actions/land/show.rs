//! `land show`: shows the queue of landing.

use anyhow::Result;

use super::{
    lock, pause, report,
    request::{LandRequest, find},
    schedule,
};
use crate::{
    actions::{Answer, App, core::other_host, queue::landing_unit::project_git, queue::lane::checkout},
    domain::landing::Landing,
    env::Timestamp,
    store::{evidence, landings},
    wire::{FlakyCheckView, LandNowView, LandQueueView},
};

/// How many of the newest landings are used to estimate the end.
const MAX_EARLIER: i64 = 20;

/// How many flaky checks are listed.
const MAX_FLAKY: i64 = 10;

/// Shows the running landing, the next ones, whether landing is paused, and which checks are flaky.
pub fn show(app: &App) -> Result<Answer> {
    let git = project_git(app)?;
    let (open, flaky) = app.read(|tx| {
        let mut open = Vec::new();
        for landing in landings::unfinished(tx)? {
            let earlier = landings::landed_in(tx, &landing.base, MAX_EARLIER)?;
            open.push((landing, earlier));
        }
        Ok((open, evidence::flaky(tx, MAX_FLAKY)?))
    })?;
    let is_at_work = lock::is_at_work(app);
    // When no landing works on this host, the next one completes it or gives it up.
    let is_going_on =
        |one: &Landing| !one.is_base_alone() && (is_at_work || other_host::has_repository(app, one.host_id.as_deref()));
    let now: Vec<LandNowView> =
        open.iter().filter(|(one, _)| is_going_on(one)).map(|(one, earlier)| view(one, earlier)).collect();
    let request = LandRequest { all: true, ..LandRequest::default() };
    let found = find(app, &request)?;
    let ordered = checkout::ask_merges(app, &git, |merges| schedule::order(app, &merges, found.units))?;
    let order = ordered.units.iter().map(report::place).collect();
    let flaky = flaky.into_iter().map(|(command, count)| FlakyCheckView { command, count }).collect();
    let shown = LandQueueView { paused: pause::paused(app).map(|one| one.view()), now, order, flaky };
    let answer = Answer::new(&shown, "", report::queue_lines(&shown))?;
    Ok(Answer { notes: found.notes, ..answer })
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
