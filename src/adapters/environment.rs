//! The environment of scripts: the caller's, without anything of the surrounding session.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::PathBuf,
};

use crate::env::{Env, vars};

/// The names that a session's environment holds besides those of [`vars::IDENTITY`], and that no other program sets.
const ADDITIONAL: &[&str] = &[
    vars::FAIRWAY_BIN,
    vars::FAIRWAY_ROOT,
    vars::FAIRWAY_DB,
    vars::FAIRWAY_BACKEND_SOCKET,
    vars::FAIRWAY_ADAPTER_STATE,
    vars::GC_EXEC_STATE_DIR,
];

/// The names that a session's environment holds and that no other program sets.
pub fn session_vars() -> impl Iterator<Item = &'static str> {
    vars::SESSION_IDENTITY.iter().chain(ADDITIONAL).copied()
}

/// Whether a variable is one of a session's own.
pub fn is_session_var(name: &str) -> bool {
    session_vars().any(|one| one == name)
}

/// The environment of this process without anything of Fairway's: what surrounds a session is not its own.
pub fn clean_env(env: &Env) -> BTreeMap<OsString, OsString> {
    let is_fairway = |name: &OsStr| name.as_bytes().starts_with(b"FAIRWAY_");
    let mut bare: BTreeMap<_, _> = env
        .vars()
        .iter()
        .filter(|(name, _)| !is_fairway(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    // cron gives none.
    if let Some(home) = &env.home {
        bare.entry(vars::HOME.into()).or_insert_with(|| home.clone().into());
    }
    bare
}

/// Where adapters keep their state: `FAIRWAY_ADAPTER_STATE`, else `GC_EXEC_STATE_DIR`, else below the state directory. Never a
/// temporary directory: the same script is called from inside and outside the session. `None` when there is no home.
pub fn state_dir(env: &Env) -> Option<PathBuf> {
    let stated = [vars::FAIRWAY_ADAPTER_STATE, vars::GC_EXEC_STATE_DIR].into_iter().find_map(|name| env.var_os(name));
    match stated {
        Some(dir) => Some(env.cwd.join(dir)),
        None => Some(env.state_dir()?.join("adapters")),
    }
}
