//! Looking at the lanes and judging what has changed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::merge_pairs::PairJudge;
use super::record::{self, Found};
use super::worktree_snapshots::{SnapshotTaker, local_host};
use crate::App;
use crate::core::errors;
use crate::queue::lane::checkout::{self, Presence};
use fairway_core::domain::LaneName;
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::domain::overlap::{LaneOverlap, LaneSnapshot};
use fairway_core::os::files;
use fairway_core::os::git::{Git, RepositoryFacts};
use fairway_core::os::lock::FileLock;
use fairway_core::store::{lanes, overlaps};

/// The name of the directory below the state directory.
const DIR: &str = "overlap";
/// The file of the lock, so that only one process at a time takes snapshots.
const LOCK: &str = "overlap.lock";
/// The file with cached facts about the repository.
const FACTS: &str = "overlap.facts";
/// How old a recorded snapshot may become while its lane does not change.
const MAX_RECORDED_AGE: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope<'a> {
    /// Every lane with a worktree on this host.
    All,
    /// Like `All`, but without judging pairs.
    Snapshots,
    /// One lane, judged against the last snapshots of the others.
    Lane {
        name: &'a LaneName,
        /// Absolute paths that may have changed; empty for the whole worktree.
        files: &'a [PathBuf],
    },
}

/// The directory with the git objects of a lane's snapshots.
pub fn objects(app: &App, lane: &LaneName) -> PathBuf {
    app.project.state.join(DIR).join(lane.as_str()).join("objects")
}

/// The state of overlap.
#[derive(Debug, Clone, Default)]
pub struct Refreshed {
    pub snapshots: Vec<LaneSnapshot>,
    pub overlaps: Vec<LaneOverlap>,
    /// Why not every lane was looked at.
    pub problem: Option<String>,
}

/// Takes snapshots of the lanes in `scope` and judges whether the changed ones overlap with others or with their base, within
/// `limit`. With [`Scope::Snapshots`] it judges nothing. The next call does what is left over. When the time runs out, git fails
/// or another process is doing the same, the result is what the store holds, and its `problem` says why.
pub fn refresh(app: &App, scope: Scope<'_>, limit: Duration) -> Result<Refreshed> {
    let deadline = Instant::now() + limit;
    let dir = app.project.state.join(DIR);
    let lanes = app.read(|tx| Ok(lanes::all(tx)?))?;
    let live: Vec<(Lane, PathBuf)> = lanes.into_iter().filter_map(|lane| with_worktree(app, lane)).collect();
    // A pair needs another lane, but a single lane can still be behind its base.
    if live.is_empty() {
        return recorded(app, None);
    }
    files::private_dir(&dir).map_err(errors::internal)?;
    let locked = FileLock::acquire_within(&app.project.state.join(LOCK), limit).map_err(errors::internal)?;
    let Some(_lock) = locked else { return recorded(app, Some("another process is looking at the lanes".into())) };
    let root = repository_dir(app, &live);
    let facts = match RepositoryFacts::read_cached(&Git::new(app.env.vars(), root), &app.project.state.join(FACTS)) {
        Ok(facts) => facts,
        Err(error) => return recorded(app, Some(error.to_string())),
    };
    let (before, known) = app.read(|tx| Ok((overlaps::snapshots(tx)?, overlaps::all_with_gone(tx)?)))?;
    let taker = SnapshotTaker { app, facts: &facts, dir: &dir, deadline };
    let mut found = Found { live: live.iter().map(|(lane, _)| lane.name.clone()).collect(), ..Found::default() };
    let mut problem = None;
    for (lane, worktree) in &live {
        let old = before.iter().find(|one| one.lane == lane.name);
        let (is_asked, files): (bool, &[PathBuf]) = match scope {
            Scope::All | Scope::Snapshots => (true, &[]),
            Scope::Lane { name, files } => (*name == lane.name, files),
        };
        let new = if is_asked { taker.look(lane, worktree, old, files) } else { old.cloned() };
        problem = problem.or((is_asked && new.is_none()).then(|| "not every lane could be looked at in time".into()));
        found.snapshots.extend(new.or_else(|| old.cloned()).filter(|one| one.host == local_host()));
    }
    let only = match scope {
        Scope::All | Scope::Snapshots => None,
        Scope::Lane { name, .. } => Some(name),
    };
    let judge_of_pairs =
        PairJudge { app, facts: &facts, dir: &dir, deadline, snapshots: &found.snapshots, recorded: &known };
    let verdicts = if scope == Scope::Snapshots { Ok(None) } else { judge_of_pairs.judge(only) };
    match verdicts {
        Ok(Some(verdicts)) => {
            found.verdicts = verdicts;
            for one in found.snapshots.iter_mut().filter(|one| only.is_none_or(|only| *only == one.lane)) {
                one.judged = Some(one.digest.clone());
            }
        }
        Ok(None) if scope == Scope::Snapshots => {}
        Ok(None) => problem = problem.or_else(|| Some("not every pair could be judged in time".into())),
        Err(error) => problem = Some(error.to_string()),
    }
    found.removes_others = scope == Scope::All;
    if record::needs_write(&found, &before, &known, MAX_RECORDED_AGE) {
        app.transaction(|tx| record::record(app, tx, &found, &before))?;
    }
    if scope == Scope::All {
        remove_directories(&dir, &found.live);
    }
    recorded(app, problem)
}

/// The overlaps and snapshots in the store.
fn recorded(app: &App, problem: Option<String>) -> Result<Refreshed> {
    app.read(|tx| Ok(Refreshed { snapshots: overlaps::snapshots(tx)?, overlaps: overlaps::all(tx)?, problem }))
}

/// A lane that is not closed and whose worktree is on this host. A worktree that is gone counts while the lane has a
/// branch.
fn with_worktree(app: &App, lane: Lane) -> Option<(Lane, PathBuf)> {
    match checkout::presence(app, &lane) {
        _ if lane.status == LaneStatus::Closed => None,
        Presence::Present(dir) | Presence::Damaged(dir, _) => Some((lane, dir)),
        // Such a worktree cannot be read, but the branch has work all the same.
        Presence::Missing(dir) if dir.is_dir() || lane.branch.is_some() => Some((lane, dir)),
        Presence::Missing(_) | Presence::None | Presence::Elsewhere => None,
    }
}

/// A directory in the repository: the project's root, or a worktree when the root is outside of it.
fn repository_dir<'a>(app: &'a App, live: &'a [(Lane, PathBuf)]) -> &'a Path {
    let there = live.iter().map(|(_, dir)| dir.as_path()).find(|dir| dir.is_dir());
    let first = there.unwrap_or(app.project.root.as_path());
    let is_inside = app.project.root.ancestors().any(|dir| dir.join(".git").exists());
    if is_inside { &app.project.root } else { first }
}

/// Removes the directories of lanes that are gone.
fn remove_directories(dir: &Path, live: &BTreeSet<LaneName>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let lane = name.to_str().and_then(|name| LaneName::parse(name).ok());
        let is_merge = name.to_str().is_some_and(|name| name.starts_with("merge-"));
        if lane.is_some_and(|lane| !live.contains(&lane)) && !is_merge {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}
