//! The commit that a base would get: its merge, and the submodules that it points to.

use std::path::Path;

use anyhow::Result;

use super::base::Base;
use crate::actions::App;
use crate::actions::queue::landing_unit::Unit;
use crate::domain::Refusal;
use crate::domain::landing::LandStyle;
use crate::os::git::{CandidateMaker, Committer, Git, GitError, Integration, MergeRepository, SubmoduleRefs};

const MAX_TITLE_CHARS: usize = 200;
const MAX_DESCRIPTION_BYTES: usize = 2_000;

/// Opens a throw-away repository for merges, which reads no configuration of the project.
pub(super) fn open_merges(app: &App, git: &Git<'_>) -> Result<MergeRepository, GitError> {
    MergeRepository::open(git, &app.project.state.join("land"))
}

/// Refuses with `no_identity` when git has no configured author.
pub(super) fn check_identity(git: &Git<'_>) -> Result<()> {
    match git.committer()? {
        Committer::Known => Ok(()),
        Committer::Unknown(why) => Err(Refusal::NoIdentity { why }.into()),
    }
}

/// Merges, squashes or rebases a unit onto the commit `base`, as `land.style` says. Returns the commit that the base branch
/// would get, or the conflict. Fails with `merge_commits` for a rebase of a lane with merges; `no_common_commit`.
pub(super) fn make(app: &App, maker: &CandidateMaker<'_>, unit: &Unit, base: &str) -> Result<Integration> {
    make_in_style(app, maker, unit, base).map_err(|error| {
        let is_apart = error.is::<GitError>() && matches!(maker.project.merge_base(base, &unit.commit), Ok(None));
        if is_apart { Refusal::NoCommonCommit { of: unit.label(), base: unit.base.clone() }.into() } else { error }
    })
}

fn make_in_style(app: &App, maker: &CandidateMaker<'_>, unit: &Unit, base: &str) -> Result<Integration> {
    Ok(match app.settings.land.style {
        LandStyle::Merge => maker.merge(base, &unit.commit, &message(unit))?,
        LandStyle::Squash => maker.squash(base, &unit.commit, &described(unit), &trailers(unit))?,
        LandStyle::Rebase => {
            if maker.project.has_merges(base, &unit.commit)? {
                return Err(Refusal::CannotRebase { of: unit.label(), next: unit.bring_in_by_hand(app) }.into());
            }
            maker.rebase(base, &unit.commit, &trailers(unit))?
        }
    })
}

/// The message of a merge: the tasks with their titles, and the trailers.
fn message(unit: &Unit) -> String {
    format!("{}\n{}\n", subject(unit), trailers(unit).join("\n"))
}

/// The tasks with their titles.
fn subject(unit: &Unit) -> String {
    let title = |title: &str| title.chars().take(MAX_TITLE_CHARS).collect::<String>();
    let mut lines = unit.members.iter().map(|one| format!("{}: {}", one.task.id, title(&one.task.fields.title)));
    let subject = lines.next().unwrap_or_else(|| format!("Land {}", unit.label()));
    let others: Vec<String> = lines.collect();
    let body = if others.is_empty() { String::new() } else { format!("\n{}\n", others.join("\n")) };
    format!("{subject}\n{body}")
}

/// The subject of one commit for several, and what it is for, unless that is a long text for an agent.
fn described(unit: &Unit) -> String {
    let bodies = unit.members.iter().map(|one| one.task.fields.body.trim());
    let bodies = bodies.filter(|body| !body.is_empty() && body.len() <= MAX_DESCRIPTION_BYTES);
    [subject(unit).trim()].into_iter().chain(bodies).collect::<Vec<_>>().join("\n\n")
}

pub(super) fn trailers(unit: &Unit) -> Vec<String> {
    let tasks = unit.members.iter().map(|one| format!("Fairway-Task: {}", one.task.id));
    let lane = unit.lane_name().map(|lane| format!("Fairway-Lane: {lane}"));
    tasks.chain(lane).collect()
}

/// Refuses a candidate that points to a commit of a submodule which others cannot get: neither the base's checkout nor a remote
/// of the lane's submodule has it. `git` must have the candidate. Fails with `submodule_commit_missing`.
pub(super) fn check_submodules(app: &App, git: &Git<'_>, unit: &Unit, base: &Base, candidate: &str) -> Result<()> {
    let checkout = base.checkout.as_deref().unwrap_or(&app.project.root);
    let lane_dir = unit.dir(app);
    for pointer in git.new_submodule_pointers(&base.commit, candidate)? {
        let has = |dir: &Path, refs| Git::new(app.env.vars(), dir).submodule_has(&pointer, refs);
        let is_pushed = || lane_dir.as_deref().map_or(Ok(false), |dir| has(dir, SubmoduleRefs::Remotes));
        if has(checkout, SubmoduleRefs::All)? || is_pushed()? {
            continue;
        }
        let in_lane = lane_dir.as_deref().zip(unit.lane_name());
        let (of, base, path, commit) = (unit.label(), base.name.clone(), pointer.path.clone(), pointer.commit.clone());
        let place = |dir: &Path| shell_words::quote(&dir.join(&path).to_string_lossy()).into_owned();
        let command = match in_lane {
            Some((dir, lane)) => format!("git -C {} push origin {commit}:refs/heads/{lane}", place(dir)),
            None => format!("git -C {} fetch", place(checkout)),
        };
        let is_in_lane = in_lane.is_some();
        return Err(Refusal::SubmoduleCommitMissing { of, base, path, commit, command, is_in_lane }.into());
    }
    Ok(())
}
