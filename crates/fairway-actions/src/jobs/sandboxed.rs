//! Jobs of a lane with a sandbox.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use super::find;
use crate::App;
use crate::core::lookup;
use crate::core::work_sandbox::{self, Apart, WorkSandbox};
use fairway_core::domain::{Refusal, RoutingKey};
use fairway_core::store::lanes;

/// The argument vector that runs a job's command: wrapped in a sandbox when the acting session is in one, or when `dir` is in
/// the worktree of a lane that demands one.
///
/// # Errors
/// `sandbox_unavailable`, `untrusted`; `invalid_value` when such a session names a directory outside of its lane.
pub(super) fn argv(app: &App, dir: &Path, env: &[String], argv: Vec<OsString>) -> Result<Vec<OsString>> {
    let Some(WorkSandbox { lane, class }) = sandbox(app, dir)? else { return Ok(argv) };
    Ok([work_sandbox::prefix(app, class, Apart::Lane(&lane), env)?, argv].concat())
}

/// Checks the session and the queue of a new job: a session in a sandbox may spawn jobs only for itself, in its own queue or
/// none.
///
/// # Errors
/// `invalid_value` for another session or queue.
pub(super) fn check_owner(app: &App, session: Option<&RoutingKey>, queue: Option<&str>) -> Result<()> {
    let Some(own) = app.read(|tx| find::own_only(app, tx))? else { return Ok(()) };
    let is_other =
        |what, name: &str| Refusal::invalid(what, format!("'{name}' is not that of {own}, which is in a sandbox"));
    if let Some(other) = session.filter(|session| **session != own) {
        return Err(is_other("notify", other.as_str()).into());
    }
    match queue.filter(|queue| *queue != own.as_str()) {
        Some(other) => Err(is_other("queue", other).into()),
        None => Ok(()),
    }
}

fn sandbox(app: &App, dir: &Path) -> Result<Option<WorkSandbox>> {
    let (own, all) = app.read(|tx| {
        let own = work_sandbox::of_session(tx, app.actor.session.as_ref())?;
        let own = own.map(|own| Ok::<_, anyhow::Error>((lookup::lane(tx, &own.lane)?, own))).transpose()?;
        let all = if own.is_some() { Vec::new() } else { lanes::all(tx)? };
        Ok((own, all))
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
        Some((lane, _)) if !is_in(lane.worktree.as_ref()) => {
            let why = format!("{} is not in the lane {}, in whose sandbox the job would run", dir.display(), lane.name);
            Err(Refusal::invalid("cwd", why).into())
        }
        Some((_, own)) => Ok(Some(own)),
        None => {
            let demanding = all.iter().filter(|lane| work_sandbox::of_lane(lane).is_some());
            let around = demanding.into_iter().find(|lane| is_in(lane.worktree.as_ref()));
            Ok(around.and_then(work_sandbox::of_lane))
        }
    }
}
