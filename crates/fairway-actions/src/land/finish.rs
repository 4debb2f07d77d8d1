//! The record of a landing, and the steps after work has landed or was sent back: the tasks, the messages and the end.

use anyhow::Result;

use super::base::{Base, full_name};
use super::landed_agents::LandedAgents;
use super::lane_conflicts::Collision;
use super::stack;
use crate::App;
use crate::queue::landing_unit::{Unit, project_git};
use crate::queue::lane::remove_landed::remove_landed;
use crate::queue::review::seen_commits;
use crate::queue::task::transition::{self, Transition};
use fairway_core::domain::landing::{Landing, LandingState, StoppedLanding};
use fairway_core::domain::rules::fencing::TaskWrite;
use fairway_core::domain::task::{Task, TaskStatus};
use fairway_core::domain::{Event, EventKind};
use fairway_core::env::Timestamp;
use fairway_core::os::host;
use fairway_core::store::{WriteTx, landings, tasks};
use fairway_core::wire::LandingView;

#[derive(Debug)]
pub(super) struct Completed {
    pub(super) unit: Unit,
    pub(super) landing: Landing,
    /// Whether the base of this host has the work.
    pub(super) is_in_base: bool,
    /// The lanes that got a message about a conflict.
    pub(super) told: Vec<Collision>,
    pub(super) notes: Vec<String>,
}

pub(super) fn begin(
    app: &App,
    unit: &Unit,
    base: &Base,
    state: LandingState,
    candidate: Option<String>,
    push_to: Option<String>,
) -> Result<Landing> {
    let local = host::identity_to_record();
    let (host, host_id) = local.id.map(|id| (local.name, id)).unzip();
    let landing = Landing {
        id: 0,
        lane: unit.lane_name().cloned(),
        commit: unit.commit.clone(),
        style: app.settings.land.style,
        base: unit.base.clone(),
        base_before: base.commit.clone(),
        candidate,
        state,
        push_to,
        tasks: unit.members.iter().map(|one| (one.task.id.clone(), one.task.epoch)).collect(),
        error: None,
        host,
        host_id,
        started_at: Timestamp::from_millis(0),
        ended_at: None,
    };
    app.transaction(|tx| Ok(landings::insert(tx, landing)?))
}

/// Records that a landing has succeeded, and finishes its tasks. The landing ends later, by [`close`]: until then the next one
/// completes the end of its lane. Returns notes for the person who landed the work.
pub(super) fn landed(app: &App, landing: &mut Landing) -> Result<Vec<String>> {
    let notes = app.transaction(|tx| {
        let notes = finish_tasks(tx, landing)?;
        landing.state = LandingState::Landed;
        landings::update(tx, landing)?;
        Ok::<_, anyhow::Error>(notes)
    })?;
    drop_ref(app, landing);
    seen_commits::forget_closed(app);
    Ok(notes)
}

/// Ends a landing whose lane has ended, or stays.
pub(super) fn close(app: &App, landing: &mut Landing) -> Result<()> {
    app.transaction(|tx| end(tx, landing, LandingState::Landed, None))
}

/// Ends the lane of work that has landed: its idle agent, its worktree and its branch. A failure does not fail the landing: it
/// becomes a note.
pub(super) fn end_lane(app: &App, unit: &Unit, view: &mut LandingView) {
    let Some(name) = unit.lane_name() else { return };
    // They need its branch.
    match stack::move_children(app, unit) {
        Ok(notes) => view.notes.extend(notes),
        Err(error) => {
            view.notes.push(format!("the worktree of the lane {name} stays: {error}"));
            return;
        }
    }
    let tasks = unit.members.iter().map(|member| &member.task.id).collect();
    let agents = LandedAgents::of_landing(app, view.id.unwrap_or_default(), tasks);
    match remove_landed(app, name, &unit.commit, &agents) {
        Ok(lane) => {
            view.removed_worktree = lane.removed;
            view.ended = lane.ended.iter().map(ToString::to_string).collect();
            view.notes.extend(lane.note);
        }
        Err(error) => view.notes.push(format!("the worktree of the lane {name} stays: {error}")),
    }
}

/// Finishes the tasks of a landing. A task that was claimed anew since stays as it is.
fn finish_tasks(tx: &WriteTx<'_>, landing: &Landing) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for (id, epoch) in &landing.tasks {
        let Some(task) = tasks::find(tx, id)? else { continue };
        let candidate = landing.candidate.as_deref();
        if task.epoch != *epoch {
            notes.push(format!("{id} was claimed anew while its work landed; it stays {}", task.state.status()));
        } else if task.state.status() == TaskStatus::Done {
            tx.record(&described(Event::new(EventKind::TaskLanded).task(id), &task, landing))?;
        } else if let Ok(done) = task.done(tx.now()) {
            let verb = Transition::new(EventKind::TaskLanded, TaskWrite::Override, "landed");
            if task.commit.is_none() {
                tasks::set_work(tx, id, task.branch.as_deref(), Some(&landing.commit))?;
            }
            transition::apply_with(tx, &task, &done, &verb, |event| described(event, &task, landing))?;
        } else {
            notes.push(format!("{id} is {} by now; it stays so", task.state.status()));
        }
        landings::set_landed_commit(tx, id, candidate)?;
    }
    Ok(notes)
}

fn described(event: Event, task: &Task, landing: &Landing) -> Event {
    let holder = task.state.claim().map(|claim| claim.claimant.clone());
    event
        .lane(task.fields.lane.as_ref())
        .with("landing", landing.id)
        .with("holder", holder)
        .with("base", landing.base.as_str())
        .with("style", landing.style.as_str())
        .with("commit", landing.commit.as_str())
        .with("candidate", landing.candidate.as_deref())
}

/// Sends a unit back: its tasks in review are in progress again. `tell` leaves the messages about the landing. A task that was
/// submitted anew meanwhile stays in review.
pub(super) fn sent_back(
    app: &App,
    unit: &Unit,
    landing: &mut Landing,
    error: &str,
    tell: impl FnOnce(&WriteTx<'_>, i64) -> Result<()>,
) -> Result<()> {
    app.transaction(|tx| {
        for member in &unit.members {
            let Some(task) = tasks::find(tx, &member.task.id)? else { continue };
            tx.record(
                &described(Event::new(EventKind::TaskSentBack).task(&task.id), &task, landing).with("error", error),
            )?;
            if task.epoch == member.task.epoch && task.commit == member.task.commit {
                transition::send_back(tx, &task, &format!("landing {} was sent back", landing.id))?;
            }
        }
        tell(tx, landing.id)?;
        end(tx, landing, LandingState::SentBack, Some(error.to_owned()))
    })?;
    drop_ref(app, landing);
    Ok(())
}

/// Records that a landing stopped for another reason than its work. When the reason stops every landing in the base, a second
/// record, without lane and tasks, shows that until the next landing begins.
pub(super) fn stopped(app: &App, landing: &mut Landing, stopped: &StoppedLanding) -> Result<()> {
    app.transaction(|tx| {
        end(tx, landing, LandingState::Failed, Some(stopped.to_string()))?;
        if !stopped.stops_all {
            return Ok::<_, anyhow::Error>(());
        }
        let (commit, error) =
            (landing.base_before.clone(), Some(format!("{stopped}; its output is in {}", stopped.output)));
        let own = Landing { lane: None, commit, candidate: None, tasks: Vec::new(), error, ..landing.clone() };
        let own = landings::insert(tx, own)?;
        let event = Event::new(EventKind::LandingStopped)
            .with("landing", own.id)
            .with("base", own.base.as_str())
            .with("base_commit", own.commit.as_str())
            .with("command", stopped.command.as_str())
            .with("how", stopped.how.as_str())
            .with("output", stopped.output.as_str());
        tx.record(&event)?;
        Ok(())
    })?;
    drop_ref(app, landing);
    Ok(())
}

/// Records that a landing failed, and drops the ref that kept its candidate.
pub(super) fn failed(app: &App, landing: &mut Landing, error: &str) -> Result<()> {
    app.transaction(|tx| end(tx, landing, LandingState::Failed, Some(error.to_owned())))?;
    drop_ref(app, landing);
    Ok(())
}

fn end(tx: &WriteTx<'_>, landing: &mut Landing, state: LandingState, error: Option<String>) -> Result<()> {
    landing.state = state;
    landing.error = error;
    landing.ended_at = Some(tx.now());
    Ok(landings::update(tx, landing)?)
}

/// Removes the ref that kept the candidate. A ref that stays does no harm.
pub(super) fn drop_ref(app: &App, landing: &Landing) {
    if let Ok(git) = project_git(app) {
        let _ = git.move_ref(&landing.ref_name(), None, None);
    }
}

/// Protects the candidate from git's garbage collection with a ref.
pub(super) fn hold(app: &App, landing: &Landing, candidate: &str) -> Result<()> {
    debug_assert!(landing.ref_name() != full_name(&landing.base));
    let git = project_git(app)?;
    // A store that was restored from a backup uses numbers again.
    let before = git.commit(&landing.ref_name());
    Ok(git.move_ref(&landing.ref_name(), before.as_deref(), Some(candidate))?)
}
