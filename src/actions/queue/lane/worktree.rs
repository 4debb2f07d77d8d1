//! A lane's branch and worktree: intended in the store, made by git, then recorded. A crash in between leaves the intention,
//! and the next attempt takes away what it left.

use std::{path::Path, time::Duration};

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::{
    actions::{
        Answer, App,
        core::{app::stored_response, errors, lookup},
    },
    domain::{LaneName, Refusal},
    os::{
        files,
        git::{Git, Repository},
        lock::FileLock,
    },
    store::{ReadTx, StoreError, WriteTx, requests},
};

/// How long to wait for another command that makes or removes the same lane's worktree.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// What is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorktreePlan {
    /// The branch.
    pub branch: String,
    /// Where it begins.
    pub commit: String,
    /// The directory.
    pub worktree: String,
}

/// The directory of a worktree that nobody named one for: in the state directory, which git does not look into.
pub fn default_path(app: &App, name: &LaneName) -> Result<String> {
    let dir = app.project.state.join("worktrees").join(name.as_str());
    let text =
        dir.to_str().ok_or_else(|| Refusal::invalid("worktree", "lies below a directory whose name is not UTF-8"))?;
    Ok(text.to_owned())
}

/// Keeps other commands away from this lane's worktree until it is dropped.
pub fn lock(app: &App, name: &LaneName) -> Result<FileLock> {
    let runtime = app.project.runtime_dir();
    files::private_dir(&app.project.state).and_then(|()| files::private_dir(&runtime)).map_err(StoreError::from)?;
    let held =
        FileLock::acquire_within(&runtime.join(format!("lane-{name}.lock")), LOCK_TIMEOUT).map_err(StoreError::from)?;
    held.ok_or_else(|| {
        let by = "another command makes or removes its worktree".to_owned();
        Refusal::InUse { noun: "lane", id: name.to_string(), by }.into()
    })
}

/// Keeps other commands from making or removing worktrees of this project at the same time: git reads the others' while it
/// makes one, and falls over one that is half made.
pub fn lock_git(app: &App) -> Result<FileLock> {
    let held = FileLock::acquire_within(&app.project.runtime_dir().join("worktrees.lock"), LOCK_TIMEOUT)
        .map_err(StoreError::from)?;
    held.ok_or_else(|| {
        let by = "other commands make or remove worktrees; try again".to_owned();
        Refusal::InUse { noun: "repository", id: app.project.root.display().to_string(), by }.into()
    })
}

/// How an intention's id begins: no `--request-id` has a space in it.
const INTENT_PREFIX: &str = "lane ";

fn intent_key(name: &LaneName) -> String {
    format!("{INTENT_PREFIX}{name}")
}

/// The lane whose worktree an open request intends, when it is such a request.
pub fn lane_of_intent(id: &str) -> Option<LaneName> {
    id.strip_prefix(INTENT_PREFIX).and_then(|name| LaneName::parse(name).ok())
}

/// What an intention's words plan.
pub fn parse_plan(words: &str) -> Result<WorktreePlan> {
    serde_json::from_str(words).map_err(errors::internal)
}

/// Looks whether the same request was answered before, whether `check` passes, and whether an earlier attempt was cut off;
/// what that one left is taken away.
pub fn prepare(
    app: &App,
    git: &Repository<'_>,
    name: &LaneName,
    check: impl FnOnce(&ReadTx<'_>) -> Result<()>,
) -> Result<Option<Answer>> {
    let (answer, left) = app.read(|tx| {
        if let Some(request) = &app.idempotency_key
            && let Some(answer) = stored_response(tx, request)?
        {
            return Ok((Some(answer), None));
        }
        if let Some(session) = &app.actor.session {
            lookup::session(tx, session)?;
        }
        check(tx)?;
        Ok((None, requests::find(tx, &intent_key(name))?))
    })?;
    if let Some(left) = left.filter(|left| left.answer.is_none()) {
        let plan = parse_plan(&left.fingerprint)?;
        // Nobody was ever told of it, but somebody may have found it: git refuses to remove what holds changes.
        let dir = Path::new(&plan.worktree);
        let half = dir.exists()
            && Repository::around(Git::new(app.env.vars(), dir))
                .and_then(|inside| inside.is_partial_checkout())
                .unwrap_or(false);
        undo(app, git, &plan, CreatedWorktree { branch: true, worktree: true, force: half })?;
        app.transaction(|tx| clear_intent(tx, name))?;
    }
    Ok(answer)
}

/// Notes that an intention has come to its end; in the transaction that records what came of it.
pub fn clear_intent(tx: &WriteTx<'_>, name: &LaneName) -> Result<()> {
    Ok(requests::delete_open(tx, &intent_key(name))?)
}

/// Writes the intention, makes branch and worktree, and has them recorded; takes back what it made when a step fails.
pub fn create(
    app: &App,
    git: &Repository<'_>,
    name: &LaneName,
    plan: &WorktreePlan,
    record: impl FnOnce() -> Result<Answer>,
) -> Result<Answer> {
    if git.branch_commit(&plan.branch)?.is_some() {
        return Err(Refusal::AlreadyExists { noun: "branch", id: plan.branch.clone() }.into());
    }
    if Path::new(&plan.worktree).symlink_metadata().is_ok() {
        return Err(Refusal::AlreadyExists { noun: "directory", id: plan.worktree.clone() }.into());
    }
    let words = serde_json::to_string(plan).map_err(errors::internal)?;
    app.transaction(|tx| {
        requests::upsert(tx, &intent_key(name), &words, None)?;
        if let Some(request) = &app.idempotency_key {
            requests::upsert(tx, &request.id, &request.fingerprint, None)?;
        }
        Ok::<_, anyhow::Error>(())
    })?;
    // Nobody has been told of the directory, so what is in it while this command runs is this command's.
    let mut made = CreatedWorktree { branch: false, worktree: false, force: true };
    let steps = || -> Result<Answer> {
        let dir = Path::new(&plan.worktree);
        let alone = lock_git(app)?;
        git.create_branch(&plan.branch, &plan.commit)?;
        made.branch = true;
        git.add_worktree(dir, &plan.branch)?;
        made.worktree = true;
        drop(alone);
        Repository::around(Git::new(app.env.vars(), dir))?.checkout()?;
        record()
    };
    steps().inspect_err(|_| {
        // The first failure is what the caller needs to know; an intention that stays behind is settled next time.
        if undo(app, git, plan, made).is_ok() {
            let _ = app.transaction(|tx| {
                clear_intent(tx, name)?;
                if let Some(request) = &app.idempotency_key {
                    requests::delete_open(tx, &request.id)?;
                }
                Ok::<_, anyhow::Error>(())
            });
        }
    })
}

/// What has been made.
#[derive(Debug, Clone, Copy)]
struct CreatedWorktree {
    branch: bool,
    worktree: bool,
    /// Whether what the worktree holds is known to be nobody's work.
    force: bool,
}

/// Takes away what was made: the branch only while it is where it began.
fn undo(app: &App, git: &Repository<'_>, plan: &WorktreePlan, made: CreatedWorktree) -> Result<()> {
    let dir = Path::new(&plan.worktree);
    let _alone = lock_git(app)?;
    if made.worktree && dir.exists() && git.has_worktree(dir)? {
        git.remove_worktree(dir, made.force)?;
    }
    if made.branch && git.branch_commit(&plan.branch)?.as_ref() == Some(&plan.commit) {
        git.delete_branch(&plan.branch, &plan.commit)?;
    }
    Ok(())
}
