//! The directory of a lane's worktree, and what git knows about it.

use std::path::PathBuf;

use anyhow::Result;

use crate::App;
use crate::core::other_host;
use fairway_core::config::project::worktree_damage;
use fairway_core::domain::Refusal;
use fairway_core::domain::lane::Lane;
use fairway_core::env::vars;
use fairway_core::os::git::{Git, GitError, MergeRepository, Scratch};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Presence {
    None,
    Present(PathBuf),
    /// The directory is gone, or has lost its `.git` file.
    Missing(PathBuf),
    /// The directory is no worktree of the project's repository, for this reason.
    Damaged(PathBuf, String),
    /// The directory is on another host, and its state there is unknown.
    Elsewhere,
}

/// Where a lane's worktree is and whether it can be used. A worktree that Fairway made counts as missing when its `.git` file
/// is gone, because git would then work on the main checkout instead.
pub fn presence(app: &App, lane: &Lane) -> Presence {
    let Some(dir) = lane.worktree.as_ref().map(PathBuf::from) else { return Presence::None };
    if other_host::has_worktree(app, lane) {
        return Presence::Elsewhere;
    }
    let is_present = dir.is_dir() && (!lane.owns_worktree || dir.join(".git").exists());
    match worktree_damage(&app.project.root, &dir) {
        Some(why) if is_present => Presence::Damaged(dir, why),
        _ if is_present => Presence::Present(dir),
        _ => Presence::Missing(dir),
    }
}

pub fn refuse_damaged(app: &App, lane: &Lane) -> Result<(), Refusal> {
    match presence(app, lane) {
        Presence::Damaged(_, why) => Err(Refusal::LaneDamaged { lane: lane.name.clone(), why }),
        _ => Ok(()),
    }
}

/// The directory of a lane's worktree. `words` are the arguments of the command that needs it, for the hint of a refusal.
///
/// # Errors
/// `no_worktree`; `not_found` when it is gone; `lane_damaged`; `lane_elsewhere`.
pub fn dir(app: &App, lane: &Lane, words: &[&str]) -> Result<PathBuf> {
    match presence(app, lane) {
        Presence::Present(dir) => Ok(dir),
        Presence::None => Err(Refusal::LaneWithoutWorktree { lane: lane.name.clone() }.into()),
        Presence::Missing(dir) => {
            Err(Refusal::WorktreeMissing { lane: lane.name.clone(), dir: dir.display().to_string() }.into())
        }
        Presence::Damaged(_, why) => Err(Refusal::LaneDamaged { lane: lane.name.clone(), why }.into()),
        Presence::Elsewhere => Err(app.read(|tx| other_host::lane_refusal(tx, lane, words))?.into()),
    }
}

/// The name of a lane's base branch, by default the project's.
pub fn base<'a>(app: &'a App, lane: &'a Lane) -> &'a str {
    lane.base.as_deref().unwrap_or(&app.settings.project.base_branch)
}

/// The git command that brings the base into a lane's worktree, for a person or an agent who resolves conflicts; `None` without a
/// worktree.
pub fn bring_in_by_hand(app: &App, lane: &Lane) -> Option<String> {
    lane.bring_in_by_hand(base(app, lane), app.settings.land.style)
}

/// Temporary objects and a temporary index, which git needs to answer a question without writing to the repository.
pub fn scratch(app: &App, git: &Git<'_>) -> Result<Scratch, GitError> {
    Scratch::create(git, &temp_dir(app))
}

/// Answers a question about merges in a throw-away repository, which runs no programs of the project's git
/// configuration.
pub fn ask_merges<T>(app: &App, git: &Git<'_>, question: impl FnOnce(MergeRepository) -> Result<T>) -> Result<T> {
    let parent = temp_dir(app).join(format!("fairway-merges-{}", std::process::id()));
    let answer = question(MergeRepository::open(git, &parent)?);
    let _ = std::fs::remove_dir(parent);
    answer
}

pub fn temp_dir(app: &App) -> PathBuf {
    app.env.cwd.join(app.env.var_os(vars::TMPDIR).map_or_else(|| PathBuf::from("/tmp"), PathBuf::from))
}

pub fn host_name(app: &App, lane: &Lane) -> String {
    let known = app.read(|tx| Ok(other_host::of_lane(tx, lane)?));
    known.map_or_else(|_| lane.host.clone().unwrap_or_default(), |host| host.name)
}
