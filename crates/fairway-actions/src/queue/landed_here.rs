//! Whether this host's repository has what other hosts have landed. A dependency that landed on another host is met here once
//! the base, as it was last fetched, has its commit.
//! No git runs inside a write: a landing about which nothing is known counts as missing there, and [`look`] looks it up before
//! the write is tried again.

use anyhow::Result;

use crate::core::app::App;
use crate::core::{lookup, other_host};
use fairway_core::config::project::worktree_top;
use fairway_core::domain::task::{NotReadyReason, Task};
use fairway_core::domain::{TaskId, commit_id};
use fairway_core::os::git::Git;
use fairway_core::os::host;
use fairway_core::store::landings::{self, LandedDependency};
use fairway_core::store::{ReadTx, tasks};

/// How many ready tasks are looked up together before a write is tried again.
const MAX_LOOKED_AT: usize = 100;

/// Looks up in git the landings that a write could not judge, together with those of the next ready tasks. Returns `false`
/// when there was nothing to look up; otherwise the caller should try the write again.
pub fn look(app: &App) -> Result<bool> {
    if !app.landed_here.has_unknown() {
        return Ok(false);
    }
    let others = app.read(|tx| {
        let mut ready = Vec::new();
        tasks::for_each_ready(tx, None, None, MAX_LOOKED_AT, |task| {
            ready.push(task.id);
            Ok(ready.len() < MAX_LOOKED_AT)
        })?;
        of_other_hosts(tx, &ready.iter().collect::<Vec<_>>())
    })?;
    for one in others {
        app.landed_here.has(&(one.base, one.commit));
    }
    app.landed_here.look_up(&Git::new(app.env.vars(), &app.project.root))?;
    Ok(true)
}

/// Why a task is not ready on this host: its open dependencies, and the finished ones whose landed commit this host's
/// repository lacks. A landing that was not looked up yet counts as missing.
pub fn not_ready_reasons(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Vec<NotReadyReason>> {
    let mut reasons = lookup::not_ready_reasons(tx, task)?;
    if concerns(app, task) {
        reasons.extend(missing(app, tx, &[&task.id])?.into_iter().map(|(_, reason)| reason));
    }
    Ok(reasons)
}

/// Like [`not_ready_reasons`], but looks up unknown landings with git first. Only for transactions that do not write, because
/// git takes time.
pub fn not_ready_reasons_now(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Vec<NotReadyReason>> {
    if concerns(app, task) {
        missing_now(app, tx, &[&task.id])?;
    }
    not_ready_reasons(app, tx, task)
}

/// The dependencies of these tasks that another host has landed and whose commit this host's repository lacks, each with its
/// task. Empty for a store in a file, and without a repository. Asks git, so only for transactions that do not write.
pub fn missing_now(app: &App, tx: &ReadTx<'_>, tasks: &[&TaskId]) -> Result<Vec<(TaskId, NotReadyReason)>> {
    if tasks.is_empty() || !is_judged(app) {
        return Ok(Vec::new());
    }
    app.landed_here.forget_missing();
    let found = missing(app, tx, tasks)?;
    if !app.landed_here.has_unknown() {
        return Ok(found);
    }
    app.landed_here.look_up(&Git::new(app.env.vars(), &app.project.root))?;
    missing(app, tx, tasks)
}

/// Whether landings of other hosts can matter to a task.
fn concerns(app: &App, task: &Task) -> bool {
    !task.fields.depends_on.is_empty() && !task.state.status().is_closed() && is_judged(app)
}

/// Whether this host has a repository of its own, apart from those of other hosts.
fn is_judged(app: &App) -> bool {
    app.settings.store.is_on_server() && worktree_top(&app.project.root).is_some()
}

fn missing(app: &App, tx: &ReadTx<'_>, tasks: &[&TaskId]) -> Result<Vec<(TaskId, NotReadyReason)>> {
    let mut found: Vec<(TaskId, NotReadyReason)> = Vec::new();
    for one in of_other_hosts(tx, tasks)? {
        if app.landed_here.has(&(one.base.clone(), one.commit.clone())) {
            continue;
        }
        found.push((one.task.clone(), reason(tx, one)?));
    }
    Ok(found)
}

/// The dependencies of these tasks that other hosts have landed and that `commit` does not contain. Empty for a store in a
/// file, and without a repository.
pub fn missing_in(app: &App, tasks: &[&TaskId], commit: &str) -> Result<Vec<NotReadyReason>> {
    if tasks.is_empty() || !is_judged(app) {
        return Ok(Vec::new());
    }
    let git = Git::new(app.env.vars(), &app.project.root);
    app.read(|tx| {
        let mut found = of_other_hosts(tx, tasks)?;
        found.retain(|one| git.is_ancestor(&one.commit, commit) != Some(true));
        found.into_iter().map(|one| reason(tx, one)).collect()
    })
}

fn reason(tx: &ReadTx<'_>, one: LandedDependency) -> Result<NotReadyReason> {
    let host = other_host::find(tx, one.host.as_deref().unwrap_or_default(), one.host_id.as_deref())?;
    let fix = fix(&one.base, one.push_to.as_deref());
    Ok(NotReadyReason::landed_elsewhere(one.depends_on, &host.name, commit_id::short(&one.commit), fix))
}

/// Returns the advice for a landing of another host that is missing here, as `purpose: command`. `push_to` is the upstream to
/// which the landing was pushed, such as `origin/main`; without it the advice is to push on that host first.
pub fn fix(base: &str, push_to: Option<&str>) -> String {
    match push_to.and_then(|upstream| upstream.split_once('/')) {
        Some((remote, _)) => format!("fetch it: git fetch {}", shell_words::quote(remote)),
        None => format!("push {} there, then fetch it: git fetch", shell_words::quote(base)),
    }
}

/// The dependencies of these tasks that other hosts have landed.
fn of_other_hosts(tx: &ReadTx<'_>, tasks: &[&TaskId]) -> Result<Vec<LandedDependency>> {
    let Some(own) = host::identity().id else { return Ok(Vec::new()) };
    let all = landings::of_dependencies(tx, tasks)?;
    let is_other = |one: &LandedDependency| one.host_id.as_ref().is_some_and(|id| *id != own);
    let is_of_own = |commit: &str| all.iter().any(|one| one.commit == commit && !is_other(one));
    let mut others: Vec<LandedDependency> =
        all.iter().filter(|one| is_other(one) && !is_of_own(&one.commit)).cloned().collect();
    others.dedup_by(|one, other| (&one.task, &one.depends_on) == (&other.task, &other.depends_on));
    Ok(others)
}
