//! Lists and shows lanes.

use anyhow::Result;

use super::checkout;
use crate::{
    actions::{
        App,
        core::{
            lookup, other_host,
            session_overview::{self, SessionScope},
        },
        queue::claimants::Claimants,
    },
    domain::{LaneName, lane::Lane, message::Recipient, session_facts::SessionOverview, task::Task},
    store::{
        ReadTx, checkpoints, handoffs, lanes, messages, overview,
        tasks::{self, ListScope},
    },
    wire::{LaneDetailView, LaneView, SessionOverviewView, TaskView},
};

/// Every lane, by name. `with_git` adds the state of each worktree, which takes some calls of git per lane.
pub fn list(app: &App, with_git: bool) -> Result<Vec<LaneView>> {
    let lanes: Vec<(Lane, LaneView)> = app.read(|tx| {
        let all = lanes::all(tx)?;
        let view = |lane: Lane| with_counts(app, tx, &lane).map(|view| (lane, view));
        all.into_iter().map(view).collect::<Result<_>>()
    })?;
    let state = |(lane, view): (Lane, LaneView)| {
        let git = with_git.then(|| checkout::git_view(app, &lane));
        LaneView { git, ..view }
    };
    Ok(lanes.into_iter().map(state).collect())
}

fn with_counts(app: &App, tx: &ReadTx<'_>, lane: &Lane) -> Result<LaneView> {
    let other = other_host::has_worktree(app, lane).then(|| other_host::of_lane(tx, lane)).transpose()?;
    let view = LaneView::new(lane, tasks::held_in_lane(tx, &lane.name, None)?);
    Ok(LaneView { other_host: other.map(|host| host.name), ..view })
}

/// A lane with its worktree's state, sessions, claimed tasks, newest checkpoints and open handoffs.
pub fn show(app: &App, name: &LaneName) -> Result<LaneDetailView> {
    let (lane, mut view) = app.read(|tx| {
        let lane = lookup::lane(tx, name)?;
        let mut held = Vec::new();
        tasks::for_each(tx, ListScope::Claimed, |task| {
            if task.fields.lane.as_ref() == Some(name) {
                held.push(task);
            }
            Ok(true)
        })?;
        let of_lane = |one: &&SessionOverview| one.session.lane.as_ref() == Some(name);
        let sessions = session_overview::read(tx, SessionScope::LiveAndHolding, &overview::held(tx)?)?;
        let mut claimants = Claimants::new();
        let mut task_view = |task: &Task| -> Result<TaskView> {
            let mut view = lookup::view(tx, task)?;
            claimants.describe(tx, task, &mut view)?;
            Ok(view)
        };
        let view = LaneDetailView {
            lane: with_counts(app, tx, &lane)?,
            sessions: sessions.iter().filter(of_lane).map(SessionOverviewView::from).collect(),
            tasks: held.iter().map(&mut task_view).collect::<Result<_>>()?,
            checkpoints: checkpoints::held_in_lane(tx, name)?,
            handoffs: handoffs::open_for_lane(tx, name)?,
            messages: i64::try_from(messages::open_for(tx, &Recipient::Lane(name.clone()))?.len()).unwrap_or(i64::MAX),
        };
        Ok((lane, view))
    })?;
    // Git is asked outside of the snapshot, which would keep the store's log from being truncated.
    view.lane.git = Some(checkout::git_view(app, &lane));
    Ok(view)
}
