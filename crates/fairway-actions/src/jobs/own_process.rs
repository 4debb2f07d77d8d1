//! This program as a process: its identity in rows, starting more processes of it, and noticing that the project was moved
//! meanwhile.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;

use anyhow::Result;

use super::finish;
use crate::App;
use fairway_core::config::Project;
use fairway_core::domain::job::{Job, JobStatus};
use fairway_core::env::vars;
use fairway_core::os::executable;
use fairway_core::os::lock::InheritableLock;
use fairway_core::os::opened_dir::OpenedDir;
use fairway_core::os::process::ProcessKey;
use fairway_core::store::jobs::PidAndStart;
use fairway_core::supervisor::JobDir;
use fairway_core::supervisor::job_dir::StartSpec;

/// Environment tags of a process tree, besides [`vars::SESSION_IDENTITY`]. A supervisor gets them from its own job and not
/// from the process that starts it: otherwise it would count as part of that process's session or job and end with it.
const TAG_VARS: &[&str] = &[vars::FAIRWAY_LAUNCH, vars::FAIRWAY_SERVER, vars::FAIRWAY_EXEC_RUN];

/// The pid and start time of this process, as stored in rows.
pub(super) fn own_process() -> io::Result<PidAndStart> {
    let own = i32::try_from(std::process::id()).ok().and_then(ProcessKey::of);
    let own = own.ok_or_else(|| io::Error::other("cannot read the start time of this process"))?;
    Ok((i64::from(own.pid), i64::try_from(own.started).map_err(io::Error::other)?))
}

/// Starts this program detached from the caller, in the same project. `tag` returns the value of each environment tag by which
/// the processes of a session or job are found; `stdin` is passed as standard input.
pub(super) fn launch_detached(
    app: &App,
    args: &[OsString],
    tag: impl Fn(&str) -> Option<OsString>,
    stdin: Option<File>,
) -> io::Result<()> {
    let mut env: BTreeMap<OsString, OsString> = app.env.vars().clone();
    for name in vars::SESSION_IDENTITY.iter().chain(TAG_VARS) {
        env.remove(OsStr::new(name));
        if let Some(value) = tag(name) {
            env.insert(OsString::from(name), value);
        }
    }
    if app.env.var_os(vars::FAIRWAY_DB).is_some() {
        // A relative path would be wrong: the new process has another working directory.
        env.insert(OsString::from(vars::FAIRWAY_DB), app.project.store.clone().into_os_string());
    }
    executable::spawn_self(args, &env, stdin)
}

/// The arguments with which this program runs `verb` in the same project.
pub(super) fn argv(app: &App, verb: &[&str]) -> Vec<OsString> {
    let root = [OsString::from("--root"), app.project.root.clone().into_os_string()];
    root.into_iter().chain(verb.iter().map(OsString::from)).collect()
}

/// Starts the supervisor of a job that this process marked as starting, and passes the job's lock to it. If the supervisor
/// cannot be started, the job fails with the reason, and the result is `false`.
pub(super) fn start_supervisor(app: &App, job: &Job, start: &StartSpec, hold: InheritableLock) -> Result<bool> {
    let args = argv(app, &["exec", "supervise", &job.id.to_string()]);
    let marked = |name: &str| start.env.iter().find(|(have, _)| have == name).map(|(_, value)| value.clone());
    // Waiters must follow the supervisor from now on.
    JobDir::of(&app.project.jobs_dir(), &job.id).notify_waiters();
    let file = hold.into_file();
    // If the start fails, this copy keeps the lock until the failure is recorded.
    let _kept = file.try_clone();
    let Err(error) = launch_detached(app, &args, marked, Some(file)) else { return Ok(true) };
    let why = format!("cannot start its supervisor: {error}");
    finish::finish_without_exit(app, job, JobStatus::Failed, why)?;
    Ok(false)
}

/// The root of a project, kept open so that a move of the project is noticed.
#[derive(Debug)]
pub(super) struct KeptRoot {
    /// The open directory; `None` when it cannot be opened: a move is then not noticed.
    root: Option<OpenedDir>,
}

impl KeptRoot {
    pub(super) fn of(app: &App) -> Self {
        Self { root: OpenedDir::open(&app.project.root).ok() }
    }

    /// The project at its new path, with no store open yet. Returns `None` while it is at the path of `app`, and when its root
    /// was removed.
    pub(super) fn moved(&self, app: &App) -> Option<App> {
        let root = self.root.as_ref()?.current_path().filter(|path| *path != app.project.root)?;
        Some(app.with_project(Project::at(root, &app.env)))
    }
}
