//! List and show lanes.

use anyhow::Result;

use crate::{
    actions::{
        App,
        core::{
            claimants::Claimants,
            lookup,
            session_overview::{self, SessionScope},
        },
    },
    domain::{LaneName, lane::Lane, message::Recipient, session_facts::SessionOverview, task::Task},
    store::{
        ReadTx, checkpoints, handoffs, lanes, messages, overview,
        tasks::{self, ListScope},
    },
    wire::{CheckpointView, HandoffView, LaneDetailView, LaneView, SessionOverviewView, TaskView},
};

/// Every lane, by name.
///
/// # Errors
/// As the store fails.
pub fn list(app: &App) -> Result<Vec<LaneView>> {
    app.read(|tx| lanes::all(tx)?.iter().map(|lane| with_counts(tx, lane)).collect())
}

fn with_counts(tx: &ReadTx<'_>, lane: &Lane) -> Result<LaneView> {
    Ok(LaneView::new(lane, tasks::held_in_lane(tx, &lane.name, None)?))
}

/// A lane with its sessions, claimed tasks, newest checkpoints and open handoffs.
///
/// # Errors
/// `not_found`.
pub fn show(app: &App, name: &LaneName) -> Result<LaneDetailView> {
    app.read(|tx| {
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
            let mut view = TaskView::new(task, &lookup::not_ready_reasons(tx, task)?);
            claimants.describe(tx, task, &mut view)?;
            Ok(view)
        };
        Ok(LaneDetailView {
            lane: with_counts(tx, &lane)?,
            sessions: sessions.iter().filter(of_lane).map(SessionOverviewView::from).collect(),
            tasks: held.iter().map(&mut task_view).collect::<Result<_>>()?,
            checkpoints: checkpoints::held_in_lane(tx, name)?.iter().map(CheckpointView::from).collect(),
            handoffs: handoffs::open_for_lane(tx, name)?.iter().map(HandoffView::from).collect(),
            messages: i64::try_from(messages::open_for(tx, &Recipient::Lane(name.clone()))?.len()).unwrap_or(i64::MAX),
        })
    })
}
