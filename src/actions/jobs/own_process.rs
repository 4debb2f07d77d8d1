//! This program as a process: its identity in rows, and starting another one of it.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fs::File,
    io,
};

use crate::{
    actions::App,
    env::vars,
    os::{process::ProcessKey, spawn_detached},
    store::jobs::PidAndStart,
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
