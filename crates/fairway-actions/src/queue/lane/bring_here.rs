//! Brings a lane whose worktree is on another host to this one: its branch as the remote has it, in a worktree here.

use std::path::Path;

use anyhow::Result;

use super::edit::here;
use super::worktree;
use crate::App;
use crate::core::{errors, lookup, other_host};
use crate::queue::base_commit;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::{Event, EventKind, LaneName, Refusal};
use fairway_core::os::git::{FastForward, Fetched, Git, Repository, Upstream};
use fairway_core::store::lanes;

/// Fetches a lane's branch and makes its worktree on this host. Returns notes for the person. The worktree of the other host is
/// left alone. A lane whose worktree is here stays as it is.
///
/// # Errors
/// `work_elsewhere` when the remote does not have the branch or does not answer; `no_upstream` when no remote is known;
/// `lane_held` when the branch or the directory here has other work.
pub fn bring_here(app: &App, name: &LaneName) -> Result<Vec<String>> {
    let _held = worktree::lock(app, name)?;
    let lane = app.read(|tx| lookup::lane(tx, name))?;
    if !other_host::has_worktree(app, &lane) {
        return Ok(Vec::new());
    }
    let host = app.read(|tx| Ok(other_host::of_lane(tx, &lane)?))?.name;
    let base = lane.base.clone().unwrap_or_else(|| app.settings.project.base_branch.clone());
    let git = Git::new(app.env.vars(), &app.project.root);
    let repository = Repository::of(git);
    let branch = lane.branch_name();
    let mut notes: Vec<String> = base_commit::fetch(app, &base)?.into_iter().collect();
    let commit = fetch(app, &git, &lane, &base, &branch, &host)?;
    let dir = worktree::default_path(app, name)?;
    let place = Path::new(&dir);
    let alone = worktree::lock_git(app)?;
    if place.symlink_metadata().is_ok() {
        reuse(app, &repository, &lane, place, &branch, &commit)?;
    } else {
        put_branch(&repository, &lane, &branch, &commit)?;
        repository.add_worktree(place, &branch)?;
        Repository::of(Git::new(app.env.vars(), place)).checkout()?;
    }
    drop(alone);
    app.transaction(|tx| {
        let lane = Lane {
            branch: Some(branch.clone()),
            worktree: Some(dir.clone()),
            owns_worktree: true,
            ..lookup::lane(tx, name)?
        };
        lanes::upsert(tx, &here(lane))?;
        tx.record(
            &Event::new(EventKind::LaneEdited)
                .lane(Some(name))
                .with("fields", ["worktree", "host"].map(str::to_owned).to_vec()),
        )?;
        Ok::<_, anyhow::Error>(())
    })?;
    notes.push(format!("the lane {name} is here now, in {dir}; what {host} did not push stays there"));
    Ok(notes)
}

/// The commit of the lane's branch at the remote of its base.
fn fetch(app: &App, git: &Git<'_>, lane: &Lane, base: &str, branch: &str, host: &str) -> Result<String> {
    let no_remote = || Refusal::NoUpstream {
        base: base.to_owned(),
        why: "none is set".to_owned(),
        dir: app.project.root.display().to_string(),
        is_shared: false,
        lane: None,
    };
    let upstream: Upstream = git.upstream(base)?.ok_or_else(no_remote)?;
    let of_lane = upstream.of_branch(branch).ok_or_else(no_remote)?;
    let elsewhere = |why: String| Refusal::WorkElsewhere { lane: lane.name.clone(), host: host.to_owned(), why };
    match git.fetch_upstream(&of_lane, app.settings.land.timeout)? {
        Fetched::Done => {}
        Fetched::NoBranch => {
            return Err(elsewhere(format!("{} has no branch {branch}", of_lane.remote)).into());
        }
        Fetched::Failed(why) => return Err(elsewhere(format!("{} cannot be fetched: {why}", of_lane.name())).into()),
    }
    let commit = git.commit(&of_lane.tracking);
    commit.ok_or_else(|| errors::internal("git does not know what it has fetched"))
}

/// Creates the branch at a commit, or moves an existing one forward to it.
fn put_branch(git: &Repository<'_>, lane: &Lane, branch: &str, commit: &str) -> Result<()> {
    let Some(own) = git.branch_commit(branch)? else { return Ok(git.create_branch(branch, commit)?) };
    let git = git.git();
    if git.is_ancestor(commit, &own) == Some(true) {
        return Ok(());
    }
    if git.is_ancestor(&own, commit) != Some(true) {
        return Err(held(lane, format!("the branch {branch} here has other commits"), branch).into());
    }
    Ok(git.move_ref(&format!("refs/heads/{branch}"), Some(&own), Some(commit))?)
}

/// Brings an existing worktree of this host to a commit.
fn reuse(app: &App, git: &Repository<'_>, lane: &Lane, dir: &Path, branch: &str, commit: &str) -> Result<()> {
    let shown = dir.display();
    let inside = Git::new(app.env.vars(), dir);
    if !git.has_worktree(dir)? || inside.current_branch()?.as_deref() != Some(branch) {
        return Err(held(lane, format!("{shown} is there, and is no worktree of the branch {branch}"), branch).into());
    }
    let own = Repository::of(inside);
    // A command that was killed had not filled it yet.
    if own.is_unfinished()? {
        own.checkout()?;
    }
    if inside.is_ancestor(commit, "HEAD") == Some(true) {
        return Ok(());
    }
    match inside.fast_forward(commit) {
        Ok(FastForward::Done) => Ok(()),
        Ok(FastForward::Refused { files, .. }) => {
            Err(held(lane, format!("{shown} has changes ({})", files.join(", ")), branch).into())
        }
        Err(_) => Err(held(lane, format!("the branch {branch} here has other commits"), branch).into()),
    }
}

fn held(lane: &Lane, why: String, branch: &str) -> Refusal {
    let hint = format!(
        "look at it, and keep it under another name: git branch --move {0} {0}-old",
        shell_words::quote(branch)
    );
    Refusal::LaneHeld { lane: lane.name.clone(), why, hint }
}
