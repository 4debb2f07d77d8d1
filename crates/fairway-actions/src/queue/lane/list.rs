//! Lists and shows lanes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::checkout::{self, Presence};
use super::{setup, work, worktree};
use crate::App;
use crate::core::session_overview::{self, SessionScope};
use crate::core::{lane_env, lookup, other_host};
use crate::queue::claimants::Claimants;
use fairway_core::domain::LaneName;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::message::Recipient;
use fairway_core::domain::session_facts::SessionOverview;
use fairway_core::domain::task::Task;
use fairway_core::os::disk_usage::DiskUsage;
use fairway_core::os::git::Git;
use fairway_core::store::tasks::{self, ListScope};
use fairway_core::store::{ReadTx, checkpoints, handoffs, lanes, messages, overview, pull_requests};
use fairway_core::wire::{LaneDetailView, LaneGitView, LaneView, SessionOverviewView, TaskView};

/// Every lane, by name. `with_git` adds the state of each worktree, which takes some calls of git per lane.
pub fn list(app: &App, with_git: bool) -> Result<Vec<LaneView>> {
    let lanes: Vec<(Lane, LaneView)> = app.read(|tx| {
        let all = lanes::all(tx)?;
        let view = |lane: &Lane| with_counts(app, tx, lane, &all).map(|view| (lane.clone(), view));
        all.iter().map(view).collect::<Result<_>>()
    })?;
    let (ports, pulls) = (lane_env::ports(app), app.read(|tx| Ok(pull_requests::newest(tx)?))?);
    let state = |(lane, mut view): (Lane, LaneView)| {
        let git = with_git.then(|| git_view(app, &lane));
        view.add_pull(&pulls, app.env.now());
        LaneView { git, setup: Some(setup::view(app, &lane)), port: Some(port(&ports, &lane)), ..view }
    };
    Ok(lanes.into_iter().map(state).collect())
}

/// Adds how much space the worktrees on this host take.
pub fn add_sizes(lanes: &mut [LaneView]) {
    let mut usage = DiskUsage::default();
    for lane in lanes {
        let dir = lane.worktree.as_ref().filter(|_| lane.other_host.is_none());
        lane.bytes = Some(dir.map(|dir| usage.below(Path::new(dir))));
    }
}

fn port(ports: &BTreeMap<PathBuf, u16>, lane: &Lane) -> Option<u16> {
    lane.worktree.as_ref().and_then(|worktree| ports.get(Path::new(worktree)).copied())
}

fn with_counts(app: &App, tx: &ReadTx<'_>, lane: &Lane, all: &[Lane]) -> Result<LaneView> {
    let other = other_host::has_worktree(app, lane).then(|| other_host::of_lane(tx, lane)).transpose()?;
    let view = LaneView::new(lane, tasks::held_in_lane(tx, &lane.name, None)?);
    let stands_on = lane.parent(all).map(|parent| parent.name.to_string());
    Ok(LaneView { other_host: other.map(|host| host.name), stands_on, ..view })
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
            lane: with_counts(app, tx, &lane, &lanes::all(tx)?)?,
            sessions: sessions.iter().filter(of_lane).map(SessionOverviewView::from).collect(),
            tasks: held.iter().map(&mut task_view).collect::<Result<_>>()?,
            checkpoints: checkpoints::held_in_lane(tx, name)?,
            handoffs: handoffs::open_for_lane(tx, name)?,
            messages: i64::try_from(messages::open_for(tx, &Recipient::Lane(name.clone()))?.len()).unwrap_or(i64::MAX),
        };
        Ok((lane, view))
    })?;
    // Git is asked outside of the snapshot, which would keep the store's log from being truncated.
    let mut git = git_view(app, &lane);
    if let (Some(git), Presence::Present(dir)) = (&mut git, checkout::presence(app, &lane))
        && dir.join(".gitmodules").exists()
    {
        match worktree::uncommitted_work(app, &dir) {
            Ok(work) => git.submodules = work.submodules,
            Err(error) => git.problem = Some(error.to_string()),
        }
    }
    view.lane.git = Some(git);
    view.lane.add_pull(&app.read(|tx| Ok(pull_requests::newest(tx)?))?, app.env.now());
    view.lane.setup = Some(setup::view(app, &lane));
    view.lane.port = Some(port(&lane_env::ports(app), &lane));
    Ok(view)
}

/// The state of a lane's worktree; `None` for a lane without one. Values that git cannot determine are `None`, and `problem`
/// says why.
fn git_view(app: &App, lane: &Lane) -> Option<LaneGitView> {
    let base = checkout::base(app, lane).to_owned();
    let problem = match checkout::presence(app, lane) {
        Presence::None => return None,
        Presence::Present(dir) => return Some(inspect(app, lane, &dir, base)),
        Presence::Elsewhere => format!("the worktree is on the host {}", checkout::host_name(app, lane)),
        Presence::Damaged(_, why) => format!("the lane is damaged: {why}"),
        Presence::Missing(_) => "the worktree is gone".to_owned(),
    };
    let worktree = lane.worktree.clone().unwrap_or_default();
    Some(LaneGitView { worktree, base, problem: Some(problem), ..LaneGitView::default() })
}

fn inspect(app: &App, lane: &Lane, dir: &Path, base: String) -> LaneGitView {
    let git = Git::new(app.env.vars(), dir);
    let mut problem = None;
    let mut note = |error: anyhow::Error| {
        problem.get_or_insert_with(|| error.to_string());
    };
    let work = work::of_lane(app, lane, &[]).map_err(&mut note).unwrap_or_default();
    let changed_files = git.count_changed_files().map_err(|error| note(error.into())).ok();
    let commit = work.commit();
    let apart = match (commit, git.commit(&base)) {
        (Some(commit), Some(base)) => git.count_apart(commit, &base).map_err(|error| note(error.into())).ok(),
        (_, None) => {
            problem.get_or_insert_with(|| format!("there is no base branch '{base}'"));
            None
        }
        (None, _) => None,
    };
    LaneGitView {
        worktree: dir.display().to_string(),
        branch: work.on().map(str::to_owned),
        work: work.state().clause(),
        base,
        commit: commit.map(str::to_owned),
        ahead: apart.map(|(ahead, _)| ahead),
        behind: apart.map(|(_, behind)| behind),
        dirty: changed_files.map(|files| files > 0),
        changed_files,
        submodules: Vec::new(),
        problem,
    }
}
