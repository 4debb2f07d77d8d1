//! Worktrees of lanes that are gone or incomplete.

use std::path::Path;

use anyhow::Result;

use crate::App;
use crate::core::other_host;
use crate::queue::lane::checkout::{self, Presence};
use crate::queue::lane::gaps::{self, Gap};
use crate::queue::lane::{walkers, worktree};
use fairway_core::config::project::STATE_DIR;
use fairway_core::domain::finding::{Finding, Severity};
use fairway_core::domain::lane::{Lane, LaneStatus};
use fairway_core::os::disk_usage::DiskUsage;
use fairway_core::os::git::{Git, GitError, OLDEST_GIT, Repository};
use fairway_core::store::{ReadTx, lanes};

/// A finding for each lane that takes claims and whose worktree cannot be used, and one when git is too old to compare
/// worktrees.
pub(super) fn find(app: &App, tx: &ReadTx<'_>) -> Result<Vec<Finding>> {
    let open = lanes::all(tx)?.into_iter().filter(|lane| lane.status != LaneStatus::Closed);
    let open: Vec<Lane> = open.collect();
    let has_worktree = open.iter().any(|lane| matches!(checkout::presence(app, lane), Presence::Present(_)));
    let too_old = has_worktree.then(|| git_too_old(app)).flatten();
    let found = open.iter().filter_map(|lane| inspect(app, tx, lane)).chain(too_old);
    Ok(found
        .chain(open.iter().flat_map(|lane| absent(app, lane)))
        .chain(walked_in(app, &open))
        .chain(low_space(app, &open))
        .collect())
}

/// A finding for each part of the repository that the worktree of a lane lacks.
fn absent(app: &App, lane: &Lane) -> Vec<Finding> {
    let Presence::Present(dir) = checkout::presence(app, lane) else { return Vec::new() };
    let finding = |gap: Gap| {
        let message = format!("the worktree of lane {} {}", lane.name, gap.what);
        Finding::new(gap.code, Severity::Warning, message).with_fix(gap.fix)
    };
    gaps::find(app, &dir).unwrap_or_default().into_iter().map(finding).collect()
}

/// A finding when there is no space for twice the largest lane.
fn low_space(app: &App, open: &[Lane]) -> Option<Finding> {
    let mut usage = DiskUsage::default();
    let sizes = open.iter().filter_map(|lane| match checkout::presence(app, lane) {
        Presence::Present(dir) => Some(usage.below(&dir)),
        _ => None,
    });
    let wanted = sizes.max().unwrap_or_default().saturating_mul(2);
    let finding = Finding::new("lanes_space_low", Severity::Warning, worktree::low_space(app, wanted)?);
    Some(finding.with_fix("fairway lane trim"))
}

/// A finding for each tool that would look at the files of lanes below the project.
fn walked_in(app: &App, open: &[Lane]) -> Vec<Finding> {
    let is_below = |dir: &String| Path::new(dir).starts_with(&app.project.state);
    if !open.iter().any(|lane| lane.worktree.as_ref().is_some_and(is_below)) {
        return Vec::new();
    }
    let finding = |walker: &walkers::Walker| {
        let message = format!("{} looks at the files of lanes below {STATE_DIR}: {}", walker.name, walker.mend);
        Finding::new("walks_into_lanes", Severity::Warning, message)
    };
    walkers::find(&app.project.root).map(finding).collect()
}

/// A finding when git is too old to judge overlap.
fn git_too_old(app: &App) -> Option<Finding> {
    match Git::new(app.env.vars(), &app.project.root).require_version(OLDEST_GIT) {
        Err(error @ GitError::TooOld { .. }) => {
            let message = format!("{error}; fairway overlap tells planned overlap only");
            Some(Finding::new("git_too_old", Severity::Warning, message))
        }
        _ => None,
    }
}

/// A finding for a worktree that stayed here when its lane went to another host.
fn left_here(app: &App, tx: &ReadTx<'_>, lane: &Lane) -> Option<Finding> {
    let dir = worktree::default_path(app, &lane.name).ok()?;
    if !app.settings.store.is_on_server() || !Path::new(&dir).join(".git").exists() {
        return None;
    }
    let host = other_host::of_lane(tx, lane).ok()?.name;
    let message = format!("the lane {} is on {host} now, and its worktree {dir} is still here", lane.name);
    let fix = format!("git worktree remove {}", shell_words::quote(&dir));
    Some(Finding::new("worktree_left", Severity::Note, message).with_fix(fix))
}

fn inspect(app: &App, tx: &ReadTx<'_>, lane: &Lane) -> Option<Finding> {
    let repair = format!("fairway lane repair {}", lane.name);
    let found = |why: &str, dir: &Path, fix: String| {
        let message = format!("the worktree of lane {} {why}: {}", lane.name, dir.display());
        Some(Finding::new("worktree_missing", Severity::Error, message).with_fix(fix))
    };
    match checkout::presence(app, lane) {
        Presence::Elsewhere => left_here(app, tx, lane),
        Presence::None => None,
        Presence::Missing(dir) if dir.is_dir() && dir.read_dir().is_ok_and(|mut entries| entries.next().is_some()) => {
            found("is no worktree any more", &dir, repair)
        }
        Presence::Missing(dir) => found("is gone", &dir, repair),
        Presence::Damaged(_, why) => {
            let message = format!("lane {} is damaged: {why}", lane.name);
            Some(Finding::new("lane_damaged", Severity::Error, message).with_fix(repair))
        }
        Presence::Present(dir) if lane.owns_worktree => {
            let inside = Repository::around(Git::new(app.env.vars(), &dir)).ok()?;
            if inside.is_unfinished().ok()? { found("was never checked out", &dir, repair) } else { None }
        }
        Presence::Present(_) => None,
    }
}
