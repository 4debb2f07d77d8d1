//! Sandboxes for programs that Fairway starts for a lane's work, such as checks. Each is separate from that of the lane's
//! session.

use std::ffi::OsString;
use std::path::Path;

use anyhow::Result;

use super::{errors, lookup, sandbox_availability, trust};
use crate::App;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::sandbox::SandboxClass;
use fairway_core::domain::task::Task;
use fairway_core::domain::{LaneName, Refusal, SessionId};
use fairway_core::os::executable;
use fairway_core::store::{ReadTx, StoreError, claims, sessions};

/// The place of work of a program in a sandbox of its own.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Apart<'a> {
    /// The program works in the worktree of this lane.
    Lane(&'a LaneName),
    /// The program works in this checkout, which a landing has made.
    Checkout(&'a Path),
}

/// The sandbox that a lane's work is done in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkSandbox {
    pub lane: LaneName,
    pub class: SandboxClass,
}

/// The sandbox in which a session's program runs. `None` without a session, for a session without a lane, and without a sandbox.
pub(crate) fn of_session(tx: &ReadTx<'_>, session: Option<&SessionId>) -> Result<Option<WorkSandbox>, StoreError> {
    let session = session.map(|id| sessions::find(tx, id)).transpose()?.flatten();
    Ok(session.and_then(|session| {
        let class = session.sandbox.filter(|class| *class != SandboxClass::Off)?;
        Some(WorkSandbox { lane: session.lane?, class })
    }))
}

/// The sandbox for the work on a task: the one that its lane demands, else that of the session that last claimed the task; `None`
/// when neither has one.
pub(crate) fn of_task(tx: &ReadTx<'_>, task: &Task) -> Result<Option<WorkSandbox>, StoreError> {
    let lane = lookup::lane_of(tx, task)?;
    if let Some(lane) = lane.as_ref().and_then(of_lane) {
        return Ok(Some(lane));
    }
    let claim = claims::newest(tx, &task.id)?;
    of_session(tx, claim.and_then(|claim| claim.session).as_ref())
}

/// The sandbox that a lane demands; `None` when it demands none.
pub(crate) fn of_lane(lane: &Lane) -> Option<WorkSandbox> {
    (lane.sandbox != SandboxClass::Off).then(|| WorkSandbox { lane: lane.name.clone(), class: lane.sandbox })
}

/// The arguments to put before a program's own, so that it runs in a sandbox. `env` names the variables that reach it. Fails with
/// `sandbox_unavailable` and `untrusted`; the program must then not run at all.
pub(crate) fn prefix(app: &App, class: SandboxClass, at: Apart<'_>, env: &[String]) -> Result<Vec<OsString>> {
    trust::require(app)?;
    sandbox_availability::require(app, class, app.settings.sandbox.network_of(class))?;
    let own = executable::current_executable().map_err(errors::internal)?;
    let mut words = vec![own.into_os_string(), "--root".into(), app.project.root.clone().into_os_string()];
    words.extend(["sandbox", "apart", "--class", class.as_str()].map(OsString::from));
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

/// Like [`prefix`], with all arguments as UTF-8.
pub(crate) fn prefix_texts(app: &App, class: SandboxClass, at: Apart<'_>, env: &[String]) -> Result<Vec<String>> {
    let text =
        |word: OsString| word.into_string().map_err(|_| Refusal::invalid("the project's root", "is not valid UTF-8"));
    Ok(prefix(app, class, at, env)?.into_iter().map(text).collect::<Result<_, _>>()?)
}
