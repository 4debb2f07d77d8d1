//! The queue waiter: a process that exists while jobs are queued, so that the next one starts even if all supervisors were
//! killed.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use anyhow::{Context as _, Result};

use super::{own_process, supervision};
use crate::App;
use fairway_core::domain::job::Job;
use fairway_core::env::vars;
use fairway_core::os::lock::InheritableLock;
use fairway_core::os::{files, host, notify};
use fairway_core::store::jobs;
use fairway_core::supervisor::JobDir;

/// The environment tag of the queue waiter: it is not part of a job.
const ENV_TAG: &str = "standby";

/// Wakes or starts the queue waiter if a job of this host is queued. Otherwise wakes a running one, which may then exit.
pub fn ensure_running(app: &App) -> Result<()> {
    let host = host::identity();
    let has_queued = app.read(|tx| Ok(jobs::first_queued(tx, &host)?.is_some()))?;
    if has_queued {
        return start_if_missing(app);
    }
    // With an empty queue the waiter can exit.
    wake(app);
    Ok(())
}

/// Wakes or starts the queue waiter if a job of this host has lost its supervisor. The queue waiter then recovers the job,
/// which may take seconds, so that the caller does not have to wait.
pub(super) fn ensure_recovery(app: &App) -> Result<()> {
    let host = host::identity();
    let active = app.read(|tx| Ok(jobs::active(tx)?))?;
    let is_left = |job: &Job| {
        let held = || JobDir::of(&app.project.jobs_dir(), &job.id).is_locked().unwrap_or(true);
        host.owns(&job.host, job.host_id.as_deref()) && !held() && !supervision::supervisor_alive(job)
    };
    if active.iter().any(is_left) { start_if_missing(app) } else { Ok(()) }
}

fn start_if_missing(app: &App) -> Result<()> {
    if is_running(app).with_context(|| format!("cannot test the lock {}", lock_path(app).display()))? {
        notify::notify_all(&wake_dir(app));
        return Ok(());
    }
    let tag = |name: &str| (name == vars::FAIRWAY_EXEC_RUN).then(|| OsString::from(ENV_TAG));
    own_process::launch_detached(app, &own_process::argv(app, &["exec", "worker", "--until-empty"]), tag, None)
        .context("cannot start the queue waiter")
}

/// Wakes the queue waiter: a job was queued or has ended.
pub fn wake(app: &App) {
    notify::notify_all(&wake_dir(app));
}

pub(super) fn is_running(app: &App) -> io::Result<bool> {
    InheritableLock::is_locked(&lock_path(app))
}

/// Acquires the queue waiter's lock; `None` when another process has it.
pub(super) fn try_acquire(app: &App) -> io::Result<Option<InheritableLock>> {
    // The project may have been moved while this process started: then nothing must be created at its old path.
    files::private_subdir(&app.project.state)?;
    files::private_subdir(&app.project.runtime_dir())?;
    InheritableLock::try_acquire(&lock_path(app))
}

pub(super) fn wake_dir(app: &App) -> PathBuf {
    app.project.runtime_dir().join("wake-exec")
}

fn lock_path(app: &App) -> PathBuf {
    app.project.runtime_dir().join("exec-worker.lock")
}
