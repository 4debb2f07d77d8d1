//! The one who waits while something is queued, so that the next run begins also when everybody who could begin it was
//! killed.

use std::{ffi::OsString, io, path::PathBuf};

use anyhow::{Context as _, Result};

use super::{launch_supervisor, recover};
use crate::{
    actions::App,
    domain::run::ExecRun,
    env::vars,
    os::{files, host, lock::Hold, notify},
    store::exec_runs,
    supervisor::RunFolder,
};

/// What marks the process that waits: it is a part of no run.
const MARK: &str = "standby";

/// Sees to it that somebody waits, when something of this host is queued: wakes whoever does, or starts one.
///
/// # Errors
/// As the store fails, or the folder of locks.
pub fn ensure(app: &App) -> Result<()> {
    let host = host::identity();
    let waits = app.read(|tx| Ok(exec_runs::first_queued(tx, &host)?.is_some()))?;
    if waits {
        return there_is(app);
    }
    // Who waits for nothing any more may go.
    wake(app);
    Ok(())
}

/// Sees to it that runs of this host that nobody looks after are settled, by somebody else: that may take a while.
///
/// # Errors
/// As the store fails, or the folder of locks.
pub(super) fn settle(app: &App) -> Result<()> {
    let host = host::identity();
    let active = app.read(|tx| Ok(exec_runs::active(tx)?))?;
    let is_left = |run: &ExecRun| {
        let held = || RunFolder::of(&app.project.runs(), &run.id).is_held().unwrap_or(true);
        run.host == host && !held() && !recover::is_kept(run)
    };
    if active.iter().any(is_left) { there_is(app) } else { Ok(()) }
}

fn there_is(app: &App) -> Result<()> {
    if is_there(app).with_context(|| format!("cannot look at {}", lock(app).display()))? {
        notify::wake_all(&folder(app));
        return Ok(());
    }
    let marked = |name: &str| (name == vars::FAIRWAY_EXEC_RUN).then(|| OsString::from(MARK));
    launch_supervisor::launch(app, &launch_supervisor::words(app, &["exec", "worker", "--until-empty"]), marked, None)
        .context("the process that waits for queued runs could not be started")
}

/// Tells whoever waits that something was queued or has ended.
pub fn wake(app: &App) {
    notify::wake_all(&folder(app));
}

/// Whether somebody waits.
pub(super) fn is_there(app: &App) -> io::Result<bool> {
    Hold::is_taken(&lock(app))
}

/// Takes the place of the one who waits; `None` when somebody has it.
pub(super) fn take(app: &App) -> io::Result<Option<Hold>> {
    files::private_dir(&app.project.state)?;
    files::private_dir(&app.project.runtime())?;
    Hold::try_take(&lock(app))
}

/// Where the one who waits is woken.
pub(super) fn folder(app: &App) -> PathBuf {
    app.project.runtime().join("wake-exec")
}

fn lock(app: &App) -> PathBuf {
    app.project.runtime().join("exec-worker.lock")
}
