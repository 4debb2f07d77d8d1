//! Giving a run that was taken to a supervisor of its own.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::File,
    io,
};

use anyhow::Result;

use super::finish;
use crate::{
    actions::App,
    domain::job::{Job, JobResult, JobStatus},
    env::vars,
    os::{lock::InheritableLock, process::ProcessKey, spawn_detached},
    store::jobs::PidAndStart,
    supervisor::{JobDir, job_dir::StartSpec},
};

/// What marks a process besides [`vars::IDENTITY`]. A supervisor has all of these of the run that it looks after, whoever
/// starts it: else it would be taken for a part of that one's session or run, and end with it.
const TAG_VARS: &[&str] = &[vars::FAIRWAY_LAUNCH, vars::FAIRWAY_SERVER, vars::FAIRWAY_EXEC_RUN];

/// This process, as rows hold it.
///
/// # Errors
/// When the kernel does not tell.
pub(super) fn own_process() -> io::Result<PidAndStart> {
    let own = i32::try_from(std::process::id()).ok().and_then(ProcessKey::of);
    let own = own.ok_or_else(|| io::Error::other("the kernel does not tell when this process was started"))?;
    Ok((i64::from(own.pid), i64::try_from(own.started).map_err(io::Error::other)?))
}

/// Starts the supervisor of a run that this process has taken, and hands the run's lock on to it. When it cannot be started
/// the run has failed, and says why.
///
/// # Errors
/// As the store fails.
pub(super) fn start_supervisor(app: &App, run: &Job, start: &StartSpec, hold: InheritableLock) -> Result<bool> {
    let words = argv(app, &["exec", "supervise", &run.id.to_string()]);
    let marked = |name: &str| start.env.iter().find(|(have, _)| have == name).map(|(_, value)| value.clone());
    // Who waited for its turn wants to know who looks after it from now on.
    JobDir::of(&app.project.jobs_dir(), &run.id).notify_waiters();
    let file = hold.into_file();
    // The lock stays with us until the end is written, should nobody be there to have it.
    let _kept = file.try_clone();
    let Err(error) = launch_detached(app, &words, marked, Some(file)) else { return Ok(true) };
    let why = format!("its supervisor could not be started: {error}");
    let ending = JobResult { status: JobStatus::Failed, exit_code: None, signal: None, error_message: Some(why) };
    finish::finish_unsupervised(app, run, &ending)?;
    Ok(false)
}

/// Starts this program apart from whoever does so, in the same project, with the marks that `marked` gives.
pub(super) fn launch_detached(
    app: &App,
    words: &[OsString],
    marked: impl Fn(&str) -> Option<OsString>,
    handed: Option<File>,
) -> io::Result<()> {
    let mut env: BTreeMap<OsString, OsString> = app.env.vars().clone();
    for name in vars::SESSION_IDENTITY.iter().chain(TAG_VARS) {
        env.remove(OsStr::new(name));
        if let Some(value) = marked(name) {
            env.insert(OsString::from(name), value);
        }
    }
    if app.env.var_os(vars::FAIRWAY_DB).is_some() {
        // It may be meant from where we are; the new process is elsewhere.
        env.insert(OsString::from(vars::FAIRWAY_DB), app.project.store.clone().into_os_string());
    }
    spawn_detached::spawn_self(words, &env, handed)
}

/// The words of a call in the same project.
pub(super) fn argv(app: &App, verb: &[&str]) -> Vec<OsString> {
    let root = [OsString::from("--root"), app.project.root.clone().into_os_string()];
    root.into_iter().chain(verb.iter().map(OsString::from)).collect()
}
