//! The environment of scripts: the caller's, without the variables of a surrounding session.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::env::{Env, vars};

/// Variables that only a session's environment has, besides those of [`vars::SESSION_IDENTITY`].
const ADDITIONAL: &[&str] = &[
    vars::FAIRWAY_BIN,
    vars::FAIRWAY_ROOT,
    vars::FAIRWAY_DB,
    vars::FAIRWAY_BACKEND_SOCKET,
    vars::FAIRWAY_ADAPTER_STATE,
    vars::GC_EXEC_STATE_DIR,
];

/// The names of the environment variables that are set only for processes inside a session.
pub fn session_vars() -> impl Iterator<Item = &'static str> {
    vars::SESSION_IDENTITY.iter().chain(ADDITIONAL).copied()
}

pub fn is_session_var(name: &str) -> bool {
    session_vars().any(|one| one == name)
}

/// Returns the environment of this process without the variables that begin with `FAIRWAY_`: they belong to the session in which
/// this process may run. Adds `HOME` when it is missing and known.
pub fn clean_env(env: &Env) -> BTreeMap<OsString, OsString> {
    let is_fairway = |name: &OsStr| name.as_bytes().starts_with(b"FAIRWAY_");
    let mut bare: BTreeMap<_, _> = env
        .vars()
        .iter()
        .filter(|(name, _)| !is_fairway(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // cron sets no `HOME`.
    if let Some(home) = &env.home {
        bare.entry(vars::HOME.into()).or_insert_with(|| home.clone().into());
    }
    bare
}

/// The directory in which backend scripts keep the state of their sessions: `FAIRWAY_ADAPTER_STATE`, else `GC_EXEC_STATE_DIR`,
/// else a directory below Fairway's state directory. Never a temporary directory, because a script is called from inside and from
/// outside of the session and must find its state both times. `None` when there is no home directory.
pub fn state_dir(env: &Env) -> Option<PathBuf> {
    let stated = [vars::FAIRWAY_ADAPTER_STATE, vars::GC_EXEC_STATE_DIR].into_iter().find_map(|name| env.var_os(name));
    match stated {
        Some(dir) => Some(env.cwd.join(dir)),
        None => Some(env.state_dir()?.join("adapters")),
    }
}
