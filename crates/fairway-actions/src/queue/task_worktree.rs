//! The worktree in which a task is worked on, and commit names in it.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::App;
use crate::core::{lookup, other_host};
use fairway_core::config::project::{is_same_repository, worktree_damage, worktree_top};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::session::Session;
use fairway_core::domain::task::Task;
use fairway_core::domain::{Refusal, TaskId};
use fairway_core::os::git::Git;
use fairway_core::store::{ReadTx, claims, sessions};

const FULL_HASH_DIGITS: usize = 40;

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum WorkDirectory {
    Here(PathBuf),
    /// There is work of the task, but no row says where.
    #[default]
    Unknown,
    /// The worktree of this lane, on another host.
    OfLaneElsewhere(Box<Lane>),
    /// The directory of this session, on another host.
    OfSessionElsewhere(Box<Session>),
}

impl WorkDirectory {
    /// Returns the directory, or `None` when it is unknown or on another host.
    pub(crate) fn here(&self) -> Option<&Path> {
        match self {
            Self::Here(dir) => Some(dir),
            Self::Unknown | Self::OfLaneElsewhere(_) | Self::OfSessionElsewhere(_) => None,
        }
    }

    /// Returns the refusal for a directory on another host, and `None` for one that is here or unknown. `words` are the
    /// arguments of the command that needs the directory.
    pub(crate) fn refusal(&self, app: &App, tx: &ReadTx<'_>, words: &[&str]) -> Result<Option<Refusal>> {
        Ok(match self {
            Self::Here(_) | Self::Unknown => None,
            Self::OfLaneElsewhere(lane) => Some(other_host::lane_refusal(tx, lane, words)?),
            Self::OfSessionElsewhere(session) => Some(other_host::session_refusal(app, tx, session, words)?),
        })
    }
}

/// The directory of a task's work: its lane's worktree, else that of the claiming session, else the one in which the claim was
/// made. It is the working directory for an unclaimed task, and for a person's claim that an earlier version recorded.
pub(crate) fn of_work(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<WorkDirectory> {
    let lane = lookup::lane_of(tx, task)?;
    if let Some(lane) = lane.filter(|lane| lane.worktree.is_some()) {
        if other_host::has_worktree(app, &lane) {
            return Ok(WorkDirectory::OfLaneElsewhere(Box::new(lane)));
        }
        return Ok(lane.worktree.map_or(WorkDirectory::Unknown, |dir| WorkDirectory::Here(dir.into())));
    }
    let is_worked_on = task.state.claim().is_some() || task.state.status().is_closed();
    let Some(claim) = claims::newest(tx, &task.id)?.filter(|_| is_worked_on) else {
        return Ok(WorkDirectory::Here(app.env.cwd.clone()));
    };
    let session = claim.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten();
    let is_person = session.is_none();
    if let Some(session) = &session
        && let Some(dir) = &session.worktree
        && other_host::has_directory(app, session, Path::new(dir))
    {
        return Ok(WorkDirectory::OfSessionElsewhere(Box::new(session.clone())));
    }
    let recorded = session.and_then(|session| session.worktree).or(claim.place.worktree);
    let dir = recorded.map(PathBuf::from).or_else(|| is_person.then(|| app.env.cwd.clone()));
    Ok(dir.map_or(WorkDirectory::Unknown, WorkDirectory::Here))
}

/// Refuses a task whose lane's worktree belongs to no repository or to another one: git would answer about the wrong one. Fails
/// with `lane_damaged`.
pub(crate) fn refuse_damaged(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<()> {
    let lane = lookup::lane_of(tx, task)?;
    let Some(lane) = lane.filter(|lane| !other_host::has_worktree(app, lane)) else { return Ok(()) };
    match lane.worktree.as_deref().and_then(|dir| worktree_damage(&app.project.root, Path::new(dir))) {
        Some(why) => Err(Refusal::LaneDamaged { lane: lane.name, why }.into()),
        None => Ok(()),
    }
}

/// The directory in which a task's commands run: its worktree, or the caller's subdirectory of it. Fails with `lane_damaged`.
pub(crate) fn dir(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<WorkDirectory> {
    refuse_damaged(app, tx, task)?;
    let cwd = &app.env.cwd;
    Ok(match of_work(app, tx, task)? {
        WorkDirectory::Here(dir) if is_named_by_lane(tx, task)? || !is_inside(cwd, &dir) => WorkDirectory::Here(dir),
        WorkDirectory::Here(_) | WorkDirectory::Unknown => WorkDirectory::Here(cwd.clone()),
        elsewhere => elsewhere,
    })
}

fn is_named_by_lane(tx: &ReadTx<'_>, task: &Task) -> Result<bool> {
    Ok(lookup::lane_of(tx, task)?.is_some_and(|lane| lane.worktree.is_some()))
}

/// Whether a directory belongs to a worktree, and not to another one inside of it.
fn is_inside(dir: &Path, worktree: &Path) -> bool {
    dir == worktree || worktree_top(dir).is_some_and(|top| worktree.canonicalize().is_ok_and(|found| found == top))
}

/// The caller's worktree, which a claim records: that of the working directory if it belongs to the project's repository, else
/// that of the root. Returns `None` without git.
pub(crate) fn of_caller(app: &App) -> Option<String> {
    let root = worktree_top(&app.project.root);
    let here =
        worktree_top(&app.env.cwd).filter(|here| root.as_ref().is_none_or(|root| is_same_repository(here, root)));
    here.or(root)?.to_str().map(str::to_owned)
}

/// Returns the full hash of a commit, or the given text when git does not know it. Returns `None` only for `None`.
pub(crate) fn resolve_commit(git: &Git<'_>, commit: Option<&str>) -> Option<String> {
    commit.map(|commit| git.commit(commit).unwrap_or_else(|| commit.to_owned()))
}

/// Like [`resolve_commit`], in the task's worktree. `words` are the arguments of the command without the task, for the hint of
/// a refusal. Fails with `lane_elsewhere` and `session_mismatch` when the worktree is on another host, and the commit is an
/// abbreviated hash that this host's repository does not know.
pub(crate) fn resolve_commit_for(
    app: &App,
    id: &TaskId,
    commit: Option<&str>,
    words: &[&str],
) -> Result<Option<String>> {
    let Some(given) = commit else { return Ok(None) };
    let (dir, refusal) = app.read(|tx| {
        let dir = dir(app, tx, &lookup::task(tx, id)?)?;
        let refusal = dir.refusal(app, tx, &[words, &[id.as_str(), "--commit", given]].concat())?;
        Ok((dir, refusal))
    })?;
    if let Some(dir) = dir.here() {
        return Ok(resolve_commit(&Git::new(app.env.vars(), dir), commit));
    }
    // Its commits may have been fetched into the repository of this host. A full hash needs no repository.
    let is_full = given.len() >= FULL_HASH_DIGITS;
    let known = Git::new(app.env.vars(), &app.project.root).commit(given);
    match (known.or_else(|| is_full.then(|| given.to_owned())), refusal) {
        (None, Some(refusal)) => Err(refusal.into()),
        (known, _) => Ok(known),
    }
}
