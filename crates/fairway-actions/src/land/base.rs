//! The base of a landing: where it is, whether it may move, and its move.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::App;
use crate::queue::landing_unit::project_git;
use fairway_core::domain::Refusal;
use fairway_core::os::git::{FastForward, Git, InterruptedCheckout, MoveState, Repository};
use fairway_core::os::lock::FileLock;

/// The base of a landing, which may move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) name: String,
    pub(super) commit: String,
    /// The directory in which the base is checked out; `None` when it is checked out nowhere.
    pub(super) checkout: Option<PathBuf>,
}

/// The name of a branch's ref, such as `refs/heads/main`.
pub(super) fn full_name(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

pub(super) fn commit(app: &App, name: &str) -> Result<String> {
    let found = Repository::of(project_git(app)?).branch_commit(name)?;
    Ok(found.ok_or_else(|| Refusal::NoBase { base: name.to_owned() })?)
}

/// The directory in which a base is checked out, if any. Fails with `base_checked_out` when there are several.
pub(super) fn checkout(app: &App, name: &str) -> Result<Option<PathBuf>> {
    let listed = Repository::of(project_git(app)?).worktrees()?;
    let dirs = listed.into_iter().filter(|one| one.branch.as_deref() == Some(name)).map(|one| one.path);
    let mut dirs: Vec<PathBuf> = dirs.filter(|dir| dir.is_dir()).collect();
    if dirs.len() > 1 {
        let dirs = dirs.iter().map(|dir| dir.display().to_string()).collect();
        return Err(Refusal::BaseInSeveral { base: name.to_owned(), dirs }.into());
    }
    Ok(dirs.pop())
}

/// The base, if it may move: it is not behind its upstream, it is not part of an unfinished rebase or bisect, and its checkout
/// is clean. Fails with `base_behind`, `base_checked_out`, `operation_unfinished`, `checkout_changed`, `base_locked`.
pub(super) fn check(app: &App, name: &str) -> Result<Base> {
    if let Some(behind) = behind(app, name)? {
        return Err(behind.refusal(app, name)?.into());
    }
    movable(app, name)
}

/// The base as a landing would find it, for `land --dry-run`. With shared bases, a base that only lacks commits of its
/// upstream is taken at the upstream's commit as it was last fetched.
///
/// # Errors
/// The errors of [`check`].
pub(super) fn planned(app: &App, name: &str) -> Result<Base> {
    match behind(app, name)? {
        Some(behind) if app.settings.shares_base() && behind.ahead == 0 => {
            Ok(Base { commit: behind.theirs, ..movable(app, name)? })
        }
        _ => check(app, name),
    }
}

#[derive(Debug)]
pub(super) struct Behind {
    /// The full name of the upstream's ref.
    upstream: String,
    /// The upstream's commit.
    pub(super) theirs: String,
    /// How many commits of the base the upstream lacks.
    pub(super) ahead: u64,
    /// How many commits of the upstream the base lacks.
    pub(super) missing: u64,
}

impl Behind {
    pub(super) fn refusal(self, app: &App, base: &str) -> Result<Refusal> {
        let dir = checkout(app, base)?.unwrap_or_else(|| app.project.root.clone());
        let upstream = self.upstream.trim_start_matches("refs/remotes/").to_owned();
        let (base, dir) = (base.to_owned(), dir.display().to_string());
        Ok(Refusal::BaseBehind { base, upstream, ahead: self.ahead, behind: self.missing, dir })
    }
}

/// How far a base is behind its upstream as it was last fetched; `None` when it lacks nothing.
pub(super) fn behind(app: &App, name: &str) -> Result<Option<Behind>> {
    let git = project_git(app)?;
    let commit = commit(app, name)?;
    let Some(upstream) = git.upstream_ref(name)? else { return Ok(None) };
    let Some(theirs) = git.commit(&upstream) else { return Ok(None) };
    let (ahead, missing) = git.count_apart(&commit, &theirs)?;
    Ok((missing > 0).then_some(Behind { upstream, theirs, ahead, missing }))
}

/// Like [`check`], but does not refuse a base that is behind its upstream.
pub(super) fn movable(app: &App, name: &str) -> Result<Base> {
    let git = project_git(app)?;
    let commit = commit(app, name)?;
    let of = || format!("the base {name}");
    if let Some(operation) = git.operation_on(name)? {
        let dir = app.project.root.display().to_string();
        return Err(Refusal::OperationUnfinished { of: of(), operation, dir }.into());
    }
    let checkout = checkout(app, name)?;
    if let Some(dir) = &checkout {
        let inside = Git::new(app.env.vars(), dir);
        if let Some(operation) = inside.unfinished_operation()? {
            let dir = dir.display().to_string();
            return Err(Refusal::OperationUnfinished { of: of(), operation, dir }.into());
        }
        refuse_changes(name, dir, inside.tracked_changes()?)?;
    }
    let branch = full_name(name);
    let lock = match &checkout {
        Some(dir) => Git::new(app.env.vars(), dir).lasting_lock(&[&branch, "index", "HEAD"])?,
        None => git.lasting_lock(&[&branch])?,
    };
    if let Some(lock) = lock {
        return Err(Refusal::BaseLocked { base: name.to_owned(), lock: lock.display().to_string() }.into());
    }
    Ok(Base { name: name.to_owned(), commit, checkout })
}

/// Refuses with `checkout_changed` unless `files`, the changed files of the checkout, is empty.
pub(super) fn refuse_changes(base: &str, dir: &Path, files: Vec<String>) -> Result<(), Refusal> {
    if files.is_empty() {
        return Ok(());
    }
    Err(Refusal::CheckoutChanged { base: base.to_owned(), dir: dir.display().to_string(), files })
}

/// Whether a base has moved from `old` to `new`. When an interrupted move has already updated part of the base's checkout,
/// this completes the checkout and then moves the base. Fails with `checkout_changed` when the checkout has other changes.
pub(super) fn is_moved(app: &App, base: &str, old: &str, new: &str) -> Result<bool> {
    let git = project_git(app)?;
    git.remove_stale_ref_lock(&full_name(base))?;
    let Some(now) = git.commit(&full_name(base)) else { return Ok(false) };
    if git.is_ancestor(new, &now) == Some(true) {
        return Ok(true);
    }
    if now != old {
        return Ok(false);
    }
    let Some(dir) = checkout(app, base)? else { return Ok(false) };
    let inside = Git::new(app.env.vars(), &dir);
    let checkout = InterruptedCheckout::new(inside, old, new);
    checkout.remove_stale_locks()?;
    match checkout.inspect()? {
        MoveState::NotStarted => Ok(false),
        MoveState::Foreign(files) => {
            let (base, dir) = (base.to_owned(), dir.display().to_string());
            Err(Refusal::CheckoutChanged { base, dir, files }.into())
        }
        MoveState::Partial => {
            checkout.finish_files()?;
            git.move_ref(&full_name(base), Some(old), Some(new))?;
            Ok(true)
        }
    }
}

impl Base {
    /// Refuses with `checkout_changed` when the commit would overwrite files of the checkout that git does not track. `git` must
    /// have the commit.
    pub(super) fn refuse_files_in_the_way(&self, git: &Git<'_>, commit: &str) -> Result<()> {
        let Some(dir) = &self.checkout else { return Ok(()) };
        // Git itself looks into directories that become files.
        let is_there = |path: &String| dir.join(path).symlink_metadata().is_ok_and(|found| !found.is_dir());
        let files: Vec<String> = git.added_paths(&self.commit, commit)?.into_iter().filter(is_there).collect();
        if files.is_empty() { Ok(()) } else { Err(self.in_the_way(dir, files).into()) }
    }

    fn in_the_way(&self, dir: &Path, files: Vec<String>) -> Refusal {
        Refusal::FilesInTheWay { base: self.name.clone(), dir: dir.display().to_string(), files }
    }

    /// Moves the base with its checkout to a commit. Git inherits `lock`, so that a git process which outlives this one keeps
    /// it. Nothing has moved when the call fails. Fails with `base_moved` when another command moved the base;
    /// `checkout_changed` when the move would overwrite a changed or untracked file of the checkout.
    pub(super) fn move_to(&self, app: &App, lock: &FileLock, to: &str) -> Result<()> {
        let git = project_git(app)?;
        let moved = match &self.checkout {
            Some(dir) => {
                let inside = Git::new(app.env.vars(), dir);
                lock.shared_with_children(|| inside.fast_forward(to))?.map(|done| (done, dir.as_path()))
            }
            None => git
                .move_ref(&full_name(&self.name), Some(&self.commit), Some(to))
                .map(|()| (FastForward::Done, app.project.root.as_path())),
        };
        let now = commit(app, &self.name)?;
        match moved {
            _ if now == to => Ok(()),
            Ok((FastForward::Refused { files, is_untracked: true }, dir)) => {
                let inside = Git::new(app.env.vars(), dir);
                Err(self.in_the_way(dir, inside.untracked_at(&files)?).into())
            }
            Ok((FastForward::Refused { files, .. }, dir)) => Ok(refuse_changes(&self.name, dir, files)?),
            Err(error) if now == self.commit => Err(error.into()),
            _ => Err(Refusal::BaseMoved { base: self.name.clone() }.into()),
        }
    }
}
