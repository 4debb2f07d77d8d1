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
    os::{executable, process::ProcessKey},
    store::jobs::PidAndStart,
};

/// Environment tags of a process tree, besides [`vars::SESSION_IDENTITY`]. A supervisor gets them from its own job and not
/// from the process that starts it: otherwise it would count as part of that process's session or job and end with it.
const TAG_VARS: &[&str] = &[vars::FAIRWAY_LAUNCH, vars::FAIRWAY_SERVER, vars::FAIRWAY_EXEC_RUN];

/// The pid and start time of this process, as stored in rows.
pub(super) fn own_process() -> io::Result<PidAndStart> {
    let own = i32::try_from(std::process::id()).ok().and_then(ProcessKey::of);
    let own = own.ok_or_else(|| io::Error::other("cannot read the start time of this process"))?;
    Ok((i64::from(own.pid), i64::try_from(own.started).map_err(io::Error::other)?))
}

/// Starts this program detached, in the same project. `tag` gives the values of the environment tags; `stdin` is passed as
/// standard input.
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

/// The arguments of a call in the same project.
pub(super) fn argv(app: &App, verb: &[&str]) -> Vec<OsString> {
    let root = [OsString::from("--root"), app.project.root.clone().into_os_string()];
    root.into_iter().chain(verb.iter().map(OsString::from)).collect()
}
