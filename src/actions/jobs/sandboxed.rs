//! Jobs of a lane with a sandbox.

use std::{ffi::OsString, path::Path};

use anyhow::Result;

use crate::{
    actions::{
        App,
        core::{
            apart_sandbox::{self, Apart},
            lookup,
        },
    },
    domain::{LaneName, Refusal},
    store::lanes,
};

/// The argument vector of a job, in a sandbox where one is demanded: of a session that is in one, and of a directory in the worktree of
/// a lane that demands one.
///
/// # Errors
/// `sandbox_unavailable`, `untrusted`; `invalid_value` for a directory outside of the lane of such a session.
pub(super) fn argv(app: &App, dir: &Path, env: &[String], argv: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(lane) = lane(app, dir)? else { return Ok(argv) };
    Ok([apart_sandbox::prefix(app, Apart::Lane(&lane), env)?, argv].concat())
}

fn lane(app: &App, dir: &Path) -> Result<Option<LaneName>> {
    let (own, demanding) = app.read(|tx| {
        let own = apart_sandbox::of_session(tx, app.actor.session.as_ref())?;
        let own = own.map(|name| lookup::lane(tx, &name)).transpose()?;
        let all = if own.is_some() { Vec::new() } else { lanes::all(tx)? };
        Ok((own, all.into_iter().filter(apart_sandbox::has_class).collect::<Vec<_>>()))
    })?;
    let is_in = |worktree: Option<&String>| {
        let (Some(worktree), Ok(dir)) =
            (worktree.and_then(|dir| Path::new(dir).canonicalize().ok()), dir.canonicalize())
        else {
            return false;
        };
        dir.starts_with(worktree)
    };
    match own {
        Some(lane) if !is_in(lane.worktree.as_ref()) => {
            let why = format!("{} is not in the lane {}, in whose sandbox the job would run", dir.display(), lane.name);
            Err(Refusal::invalid("cwd", why).into())
        }
        Some(lane) => Ok(Some(lane.name)),
        None => Ok(demanding.into_iter().find(|lane| is_in(lane.worktree.as_ref())).map(|lane| lane.name)),
    }
}
