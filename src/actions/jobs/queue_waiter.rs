//! The one who waits while something is queued, so that the next run begins also when everybody who could begin it was
//! killed.

use std::{ffi::OsString, io, path::PathBuf};

use anyhow::{Context as _, Result};

use super::{own_process, supervision};
use crate::{
    actions::App,
    domain::job::Job,
    env::vars,
    os::{files, host, lock::InheritableLock, notify},
    store::jobs,
    supervisor::JobDir,
};

/// What marks the process that waits: it is a part of no run.
const ENV_TAG: &str = "standby";

/// Sees to it that somebody waits, when something of this host is queued: wakes whoever does, or starts one.
///
/// # Errors
/// As the store fails, or the directory of locks.
pub fn ensure_running(app: &App) -> Result<()> {
    let host = host::identity();
    let waits = app.read(|tx| Ok(jobs::first_queued(tx, &host)?.is_some()))?;
    if waits {
        return start_if_missing(app);
    }
    // Who waits for nothing any more may go.
    wake(app);
    Ok(())
}

/// Sees to it that runs of this host that nobody looks after are settled, by somebody else: that may take a while.
///
/// # Errors
/// As the store fails, or the directory of locks.
pub(super) fn ensure_recovery(app: &App) -> Result<()> {
    let host = host::identity();
    let active = app.read(|tx| Ok(jobs::active(tx)?))?;
    let is_left = |job: &Job| {
        let held = || JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(true);
        job.host == host && !held() && !supervision::supervisor_alive(job)
    };
    if active.iter().any(is_left) { start_if_missing(app) } else { Ok(()) }
}

fn start_if_missing(app: &App) -> Result<()> {
    if is_running(app).with_context(|| format!("cannot look at {}", lock_path(app).display()))? {
        notify::notify_all(&wake_dir(app));
        return Ok(());
    }
    let marked = |name: &str| (name == vars::FAIRWAY_EXEC_RUN).then(|| OsString::from(ENV_TAG));
    own_process::launch_detached(app, &own_process::argv(app, &["exec", "worker", "--until-empty"]), marked, None)
        .context("the process that waits for queued runs could not be started")
}

/// Tells whoever waits that something was queued or has ended.
pub fn wake(app: &App) {
    notify::notify_all(&wake_dir(app));
}

/// Whether somebody waits.
pub(super) fn is_running(app: &App) -> io::Result<bool> {
    InheritableLock::is_locked(&lock_path(app))
}

/// Takes the place of the one who waits; `None` when somebody has it.
pub(super) fn try_acquire(app: &App) -> io::Result<Option<InheritableLock>> {
    files::private_dir(&app.project.state)?;
    files::private_dir(&app.project.runtime_dir())?;
    InheritableLock::try_acquire(&lock_path(app))
}

/// Where the one who waits is woken.
pub(super) fn wake_dir(app: &App) -> PathBuf {
    app.project.runtime_dir().join("wake-exec")
}

fn lock_path(app: &App) -> PathBuf {
    app.project.runtime_dir().join("exec-worker.lock")
}
