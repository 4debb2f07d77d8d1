//! The commit that a base would get.

use anyhow::Result;

use super::unit::Unit;
use crate::{
    actions::App,
    domain::{Refusal, landing::LandStyle},
    os::git::{CandidateMaker, Committer, Git, GitError, Integration, MergeRepository},
};

/// The longest title in a commit's subject, in characters.
const MAX_TITLE_CHARS: usize = 200;

/// A repository for merges that reads no configuration of the project.
///
/// # Errors
/// When git fails or is too old.
pub(super) fn open_merges(app: &App, git: &Git<'_>) -> Result<MergeRepository, GitError> {
    MergeRepository::open(git, &app.project.state.join("land"))
}

/// Refuses when git does not know who commits.
///
/// # Errors
/// `no_identity`, `git_failed`.
pub(super) fn check_identity(git: &Git<'_>) -> Result<()> {
    match git.committer()? {
        Committer::Known => Ok(()),
        Committer::Unknown(why) => Err(Refusal::NoIdentity { why }.into()),
    }
}

/// Makes the candidate.
///
/// # Errors
/// `merge_commits` for a rebase of a lane with merges; `no_common_commit`, `git_failed`.
pub(super) fn make(app: &App, maker: &CandidateMaker<'_>, unit: &Unit, base: &str) -> Result<Integration> {
    make_in_style(app, maker, unit, base).map_err(|error| {
        let is_apart = error.is::<GitError>() && matches!(maker.project.merge_base(base, &unit.commit), Ok(None));
        if is_apart { Refusal::NoCommonCommit { of: unit.label(), base: unit.base.clone() }.into() } else { error }
    })
}

fn make_in_style(app: &App, maker: &CandidateMaker<'_>, unit: &Unit, base: &str) -> Result<Integration> {
    Ok(match app.settings.land.style {
        LandStyle::Merge => maker.merge(base, &unit.commit, &message(unit))?,
        LandStyle::Squash => maker.squash(base, &unit.commit, &message(unit))?,
        LandStyle::Rebase => {
            if maker.project.has_merges(base, &unit.commit)? {
                return Err(Refusal::CannotRebase { of: unit.label() }.into());
            }
            maker.rebase(base, &unit.commit, &trailers(unit))?
        }
    })
}

/// The message: the task and its title, the other tasks, and the trailers.
fn message(unit: &Unit) -> String {
    let title = |title: &str| title.chars().take(MAX_TITLE_CHARS).collect::<String>();
    let mut lines = unit.members.iter().map(|one| format!("{}: {}", one.task.id, title(&one.task.fields.title)));
    let subject = lines.next().unwrap_or_else(|| format!("Land {}", unit.label()));
    let others: Vec<String> = lines.collect();
    let body = if others.is_empty() { String::new() } else { format!("\n{}\n", others.join("\n")) };
    format!("{subject}\n{body}\n{}\n", trailers(unit).join("\n"))
}

fn trailers(unit: &Unit) -> Vec<String> {
    let tasks = unit.members.iter().map(|one| format!("Fairway-Task: {}", one.task.id));
    let lane = unit.lane_name().map(|lane| format!("Fairway-Lane: {lane}"));
    tasks.chain(lane).collect()
}
