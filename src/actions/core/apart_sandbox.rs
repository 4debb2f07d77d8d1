//! Programs that Fairway starts for the work of a lane with a sandbox, and observes: each has a sandbox of its own, apart from that
//! of the lane's session.

use std::{ffi::OsString, path::Path};

use anyhow::Result;

use super::{errors, sandbox_availability, trust};
use crate::{
    actions::App,
    domain::{LaneName, Refusal, SessionId, lane::Lane, sandbox::SandboxClass, task::Task},
    os::executable,
    store::{ReadTx, StoreError, claims, lanes, sessions},
};

/// Where such a program works.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Apart<'a> {
    /// In the worktree of this lane.
    Lane(&'a LaneName),
    /// In this checkout of a landing.
    Checkout(&'a Path),
}

/// The lane of a session whose program is in a sandbox.
pub(crate) fn of_session(tx: &ReadTx<'_>, session: Option<&SessionId>) -> Result<Option<LaneName>, StoreError> {
    let session = session.map(|id| sessions::find(tx, id)).transpose()?.flatten();
    let is_inside = |class: SandboxClass| class != SandboxClass::Off;
    Ok(session.filter(|session| session.sandbox.is_some_and(is_inside)).and_then(|session| session.lane))
}

/// The lane of a task's work, when it is done in a sandbox: the lane demands one, or the session that last claimed the task has one.
pub(crate) fn of_task(tx: &ReadTx<'_>, task: &Task) -> Result<Option<LaneName>, StoreError> {
    let lane = task.fields.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten();
    if let Some(lane) = lane.filter(has_class) {
        return Ok(Some(lane.name));
    }
    let claim = claims::newest(tx, &task.id)?;
    of_session(tx, claim.and_then(|claim| claim.session).as_ref())
}

/// Whether a lane demands a sandbox.
pub(crate) fn has_class(lane: &Lane) -> bool {
    lane.sandbox != SandboxClass::Off
}

/// The words before a program that put it into a sandbox. `env` are the names of variables that reach it.
///
/// # Errors
/// `sandbox_unavailable`, `untrusted`: it must not run without.
pub(crate) fn prefix(app: &App, at: Apart<'_>, env: &[String]) -> Result<Vec<OsString>> {
    trust::require(app)?;
    sandbox_availability::require(app.env.vars())?;
    let own = executable::current_executable().map_err(errors::internal)?;
    let mut words = vec![own.into_os_string(), "--root".into(), app.project.root.clone().into_os_string()];
    words.extend(["sandbox", "apart"].map(OsString::from));
    match at {
        Apart::Lane(name) => words.extend(["--lane".into(), name.as_str().into()]),
        Apart::Checkout(dir) => words.extend(["--checkout".into(), dir.into()]),
    }
    for name in env {
        words.extend(["--env".into(), name.into()]);
    }
    words.push("--".into());
    Ok(words)
}

/// As [`prefix`], as texts.
pub(crate) fn prefix_texts(app: &App, at: Apart<'_>) -> Result<Vec<String>> {
    let text =
        |word: OsString| word.into_string().map_err(|_| Refusal::invalid("the project's root", "is not valid UTF-8"));
    Ok(prefix(app, at, &[])?.into_iter().map(text).collect::<Result<_, _>>()?)
}
