//! A lane's branch and worktree. The intent is written to the store, git creates both, then the lane is recorded. After a
//! crash the intent remains, and the next attempt removes the leftovers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::{checkout, copies};
use crate::core::{errors, lookup, other_host, trust};
use crate::{Answer, App};
use fairway_core::config::project::normalize;
use fairway_core::domain::{LaneName, Refusal, bytes};
use fairway_core::os::git::{Git, GitError, ListedWorktree, Repository, UncommittedWork};
use fairway_core::os::lock::FileLock;
use fairway_core::os::{file_system, files};
use fairway_core::store::{ReadTx, StoreError, WriteTx, idempotency_keys};

/// How long a command waits for another one that creates or removes the same worktree.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// The branch and worktree to create. Stored as JSON in the intent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreePlan {
    pub branch: String,
    /// Whether the branch was there before the lane, and stays without it.
    #[serde(default)]
    pub takes_branch: bool,
    /// The commit at which the branch starts, or is.
    pub commit: String,
    pub worktree: String,
    /// The name of the host that creates them; `None` in an intent of an earlier version.
    #[serde(default)]
    pub host: Option<String>,
    #[serde(default)]
    pub host_id: Option<String>,
}

impl WorktreePlan {
    /// Whether the branch and worktree are created on another host.
    pub fn is_elsewhere(&self, app: &App) -> bool {
        other_host::has_repository(app, self.host_id.as_deref())
    }
}

fn lanes_dir(app: &App) -> PathBuf {
    let dir = app.settings.lanes.dir.replace("{project}", &app.project.dir_name());
    normalize(&app.project.root.join(dir))
}

/// The default directory of a worktree, as `[lanes] dir` says: in the state directory, which git ignores, or elsewhere.
pub fn default_path(app: &App, name: &LaneName) -> Result<String> {
    let dir = lanes_dir(app).join(name.as_str());
    let text =
        dir.to_str().ok_or_else(|| Refusal::invalid("worktree", "lies below a directory whose name is not UTF-8"))?;
    Ok(text.to_owned())
}

/// The directory of a new worktree for which none is named.
///
/// # Errors
/// `untrusted`; `usage` when it lies among the files of the repository.
pub fn new_path(app: &App, git: &Git<'_>, name: &LaneName) -> Result<String> {
    let path = default_path(app, name)?;
    let dir = Path::new(&path);
    if dir.starts_with(&app.project.state) {
        return Ok(path);
    }
    trust::require(app)?;
    if dir.starts_with(&app.project.root) && !git.is_ignored(dir)? {
        let why = format!("lanes.dir leads to {path}, among the files of the repository, and git does not ignore it");
        let hint = "put lanes beside the project, with dir = '../{project}.lanes': fairway config edit".to_owned();
        return Err(Refusal::ArgumentMissing { why, hint }.into());
    }
    Ok(path)
}

/// A sentence for a person when the file system of the lanes has little space left, or less than `wanted`.
pub fn low_space(app: &App, wanted: u64) -> Option<String> {
    let free = file_system::low_space(lanes_dir(app).ancestors().find(|dir| dir.exists())?, wanted)?;
    Some(format!("only {} are free for lanes: see fairway lane list --size, and fairway lane trim", bytes::show(free)))
}

/// Locks this lane's worktree against other commands until the lock is dropped.
pub fn lock(app: &App, name: &LaneName) -> Result<FileLock> {
    let runtime = app.project.runtime_dir();
    files::private_dir(&app.project.state).and_then(|()| files::private_dir(&runtime)).map_err(StoreError::from)?;
    let held =
        FileLock::acquire_within(&runtime.join(format!("lane-{name}.lock")), LOCK_TIMEOUT).map_err(StoreError::from)?;
    held.ok_or_else(|| {
        let by = "another command creates or removes its worktree".to_owned();
        Refusal::InUse { noun: "lane", id: name.to_string(), by }.into()
    })
}

/// Refuses an unknown acting session before anything outside of the store is changed.
pub(crate) fn check_actor(app: &App) -> Result<()> {
    match &app.actor.session {
        Some(session) => app.read(|tx| lookup::session(tx, session).map(drop)),
        None => Ok(()),
    }
}

/// Locks all worktrees of this project: while git creates a worktree it reads the others, and fails at an incomplete
/// one.
pub fn lock_git(app: &App) -> Result<FileLock> {
    let held = FileLock::acquire_within(&app.project.runtime_dir().join("worktrees.lock"), LOCK_TIMEOUT)
        .map_err(StoreError::from)?;
    held.ok_or_else(|| {
        let by = "other commands create or remove worktrees; try again".to_owned();
        Refusal::InUse { noun: "repository", id: app.project.root.display().to_string(), by }.into()
    })
}

/// The space makes the id of an intent different from every `--request-id`.
const INTENT_PREFIX: &str = "lane ";

fn intent_key(name: &LaneName) -> String {
    format!("{INTENT_PREFIX}{name}")
}

/// The lane of a worktree intent; `None` for any other request id.
pub fn lane_of_intent(id: &str) -> Option<LaneName> {
    id.strip_prefix(INTENT_PREFIX).and_then(|name| LaneName::parse(name).ok())
}

/// Parses the plan that an intent stores as its fingerprint.
pub fn parse_plan(fingerprint: &str) -> Result<WorktreePlan> {
    serde_json::from_str(fingerprint).map_err(errors::internal)
}

/// Prepares the creation of a worktree. Returns the stored answer when the request is repeated. Otherwise runs `check`,
/// removes the leftovers of an interrupted attempt, and returns `None`.
pub fn prepare(
    app: &App,
    git: &Repository<'_>,
    name: &LaneName,
    check: impl FnOnce(&ReadTx<'_>) -> Result<()>,
) -> Result<Option<Answer>> {
    let (answer, left) = app.read(|tx| {
        if let Some(key) = &app.idempotency_key
            && let Some(answer) = key.stored_response(tx)?
        {
            return Ok((Some(answer), None));
        }
        if let Some(session) = &app.actor.session {
            lookup::session(tx, session)?;
        }
        check(tx)?;
        Ok((None, idempotency_keys::find(tx, &intent_key(name))?))
    })?;
    if let Some(left) = left.filter(|left| left.answer.is_none()) {
        let plan = parse_plan(&left.fingerprint)?;
        if plan.is_elsewhere(app) {
            return Err(being_made_elsewhere(app, name, &plan));
        }
        // The leftover worktree may be in use: without `force` git refuses to remove one with changes.
        let dir = Path::new(&plan.worktree);
        let is_partial = dir.exists()
            && Repository::around(Git::new(app.env.vars(), dir))
                .and_then(|inside| inside.is_partial_checkout())
                .unwrap_or(false);
        let created = CreatedWorktree { branch: !plan.takes_branch, worktree: true, force: is_partial };
        undo(app, git, &plan, created)?;
        app.transaction(|tx| clear_intent(tx, name))?;
    }
    Ok(answer)
}

/// The refusal of a lane whose worktree another host is making, or was making when it was interrupted.
fn being_made_elsewhere(app: &App, name: &LaneName, plan: &WorktreePlan) -> anyhow::Error {
    let host =
        app.read(|tx| Ok(other_host::find(tx, plan.host.as_deref().unwrap_or_default(), plan.host_id.as_deref())?));
    host.map_or_else(
        |error| error,
        |host| {
            let command = host.command(&["lane", "add", name.as_str(), "--create-worktree"]);
            let (why, hint) = (format!("the host {} makes its worktree", host.name), "if it was interrupted there");
            Refusal::LaneHeld { lane: name.clone(), why, hint: format!("{hint}, complete it: {command}") }.into()
        },
    )
}

/// Deletes the intent, in the transaction that records its result.
pub fn clear_intent(tx: &WriteTx<'_>, name: &LaneName) -> Result<()> {
    Ok(idempotency_keys::delete_open(tx, &intent_key(name))?)
}

/// Writes the intent, creates branch and worktree, and calls `record`. Undoes all of it if a step fails.
pub fn create(
    app: &App,
    git: &Repository<'_>,
    name: &LaneName,
    plan: &WorktreePlan,
    record: impl FnOnce() -> Result<Answer>,
) -> Result<Answer> {
    if plan.takes_branch {
        let has_it = |one: &ListedWorktree| one.branch.as_ref() == Some(&plan.branch);
        if let Some(other) = git.worktrees()?.into_iter().find(has_it) {
            let by = format!("it is checked out in {}", other.path.display());
            return Err(Refusal::InUse { noun: "branch", id: plan.branch.clone(), by }.into());
        }
    } else {
        if git.branch_commit(&plan.branch)?.is_some() {
            return Err(Refusal::BranchExists { lane: name.clone(), branch: plan.branch.clone() }.into());
        }
        if let Some(other) = git.branch_in_the_way(&plan.branch)? {
            return Err(Refusal::BranchInTheWay { lane: name.clone(), branch: plan.branch.clone(), other }.into());
        }
    }
    if Path::new(&plan.worktree).symlink_metadata().is_ok() {
        return Err(Refusal::AlreadyExists { noun: "directory", id: plan.worktree.clone() }.into());
    }
    if let Some(note) = low_space(app, 0) {
        app.progress.note(&note);
    }
    let text = serde_json::to_string(plan).map_err(errors::internal)?;
    app.transaction(|tx| {
        idempotency_keys::upsert(tx, &intent_key(name), &text, None)?;
        if let Some(request) = &app.idempotency_key {
            idempotency_keys::upsert(tx, &request.id, &request.fingerprint, None)?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    // No other command knows the directory yet, so all of its content is from this command.
    let mut created = CreatedWorktree { branch: false, worktree: false, force: true };
    let steps = || -> Result<Answer> {
        let dir = Path::new(&plan.worktree);
        let alone = lock_git(app)?;
        if !plan.takes_branch {
            git.create_branch(&plan.branch, &plan.commit)?;
            created.branch = true;
        }
        git.add_worktree(dir, &plan.branch)?;
        created.worktree = true;
        refuse_other_place(app, git, dir)?;
        drop(alone);
        let inside = Git::new(app.env.vars(), dir);
        Repository::of(inside).checkout().map_err(|error| without_filter(&inside, error))?;
        let copied = copies::copy_missing(app, dir)?;
        Ok(record()?.with_notes(copied))
    };
    steps().inspect_err(|_| {
        // The first failure is the one to report. An intent that remains is handled by the next attempt.
        if undo(app, git, plan, created).is_ok() {
            let _ = app.transaction(|tx| {
                clear_intent(tx, name)?;
                app.idempotency_key.as_ref().map_or(Ok(()), |key| key.discard_intent(tx))
            });
        }
    })
}

/// The refusal of a checkout that lacks a filter, because only the repository's configuration names it; else the error itself.
fn without_filter(git: &Git<'_>, error: GitError) -> anyhow::Error {
    let filters: Vec<String> = git.filters_of_repository().unwrap_or_default().into_iter().collect();
    let why = error.to_string();
    if filters.iter().any(|filter| why.contains(filter.as_str())) {
        return Refusal::FilterNotOwn { filters, why }.into();
    }
    error.into()
}

/// Refuses a new worktree in which git works on the files of another directory, as the repository's configuration says.
fn refuse_other_place(app: &App, git: &Repository<'_>, dir: &Path) -> Result<()> {
    let top = Git::new(app.env.vars(), dir).top()?;
    if top.canonicalize().ok() == dir.canonicalize().ok() {
        return Ok(());
    }
    let (root, top) = (app.project.root.display().to_string(), top.display().to_string());
    Err(Refusal::WorktreeMisled { root, top, setting: git.git().core_worktree()? }.into())
}

/// The parts that [`create`] has made so far.
#[derive(Debug, Clone, Copy)]
struct CreatedWorktree {
    branch: bool,
    worktree: bool,
    /// Whether no user can have changed the worktree yet.
    force: bool,
}

/// Removes what was created. The branch goes only if it is still at its first commit.
fn undo(app: &App, git: &Repository<'_>, plan: &WorktreePlan, created: CreatedWorktree) -> Result<()> {
    let dir = Path::new(&plan.worktree);
    let _alone = lock_git(app)?;
    if created.worktree && dir.exists() && git.has_worktree(dir)? {
        let checkout = if created.force { Checkout::Interrupted } else { Checkout::Complete };
        remove_worktree(app, git, dir, checkout)?;
    }
    if created.branch && git.branch_commit(&plan.branch)?.as_ref() == Some(&plan.commit) {
        git.delete_branch(&plan.branch, &plan.commit)?;
    }
    Ok(())
}

/// Whether missing and changed files count as work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Checkout {
    /// They count: the worktree was in use.
    Complete,
    /// They do not count: the checkout was interrupted before any command could use the worktree.
    Interrupted,
}

/// Removes a worktree without work in it, or git's record of one whose directory is gone. Fails with `git_failed`, also when the
/// worktree has work.
pub(super) fn remove_worktree(app: &App, git: &Repository<'_>, dir: &Path, checkout: Checkout) -> Result<()> {
    if dir.join(".git").exists() {
        let mut work = uncommitted_work(app, dir)?;
        if checkout == Checkout::Interrupted {
            work = UncommittedWork { operation: None, changes: Vec::new(), copies: Vec::new(), ..work };
        }
        if let Some(text) = work.text() {
            return Err(GitError::Failed { step: "worktree remove", why: format!("the worktree {text}") }.into());
        }
    }
    Ok(git.remove_worktree(dir, checkout == Checkout::Interrupted)?)
}

/// The work in a worktree that no commit contains, copies of ignored files that were changed included.
pub(super) fn uncommitted_work(app: &App, dir: &Path) -> Result<UncommittedWork, GitError> {
    let work = Git::new(app.env.vars(), dir).uncommitted_work(&checkout::temp_dir(app))?;
    Ok(UncommittedWork { copies: copies::changed(dir), ..work })
}
