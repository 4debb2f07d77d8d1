//! Lanes, sessions and jobs of another host, and the refusals that name the host and the command to type there.

use std::path::Path;

use anyhow::Result;

use super::app::App;
use super::last_heard::LastHeard;
use fairway_core::domain::Refusal;
use fairway_core::domain::job::Job;
use fairway_core::domain::lane::Lane;
use fairway_core::domain::other_host::OtherHost;
use fairway_core::domain::session::Session;
use fairway_core::env::Timestamp;
use fairway_core::os::host;
use fairway_core::store::{ReadTx, StoreError, hosts};

/// Whether a lane's worktree is on another host. `false` when the lane has no worktree or no recorded host. With a store in a
/// file it is also `false` when the worktree exists here, or when the recorded host is another container of this machine; with a
/// store on a server, only when both hold.
pub fn has_worktree(app: &App, lane: &Lane) -> bool {
    let (Some(id), Some(dir)) = (&lane.host_id, &lane.worktree) else { return false };
    let dir = Path::new(dir);
    let is_there = || dir.is_dir() && (!lane.owns_worktree || dir.join(".git").exists());
    if !app.settings.store.is_on_server() && is_there() {
        return false;
    }
    let local = host::identity();
    let shares_machine = local.is_of_machine(id) && (!app.settings.store.is_on_server() || is_there());
    local.id.as_ref() != Some(id) && !shares_machine
}

/// Whether `dir`, in which a session works, is on another host. `false` when no host is recorded and, with a store in a file,
/// when `dir` exists here or the recorded host is another container of this machine.
pub fn has_directory(app: &App, session: &Session, dir: &Path) -> bool {
    let Some(id) = &session.host_id else { return false };
    let local = host::identity();
    let is_shared = !app.settings.store.is_on_server() && (local.is_of_machine(id) || dir.is_dir());
    local.id.as_ref() != Some(id) && !is_shared
}

/// Whether the host with this id works in another clone of the repository: with a store on a server, every host but this one
/// does. `false` without an id, and for a store in a file.
pub fn has_repository(app: &App, host_id: Option<&str>) -> bool {
    app.settings.store.is_on_server() && host_id.is_some_and(|id| host::identity().id.as_deref() != Some(id))
}

/// Describes the host that a row of the store names as `recorded`, with the id `id`. A host that was renamed since gets its
/// present name.
pub fn find(tx: &ReadTx<'_>, recorded: &str, id: Option<&str>) -> Result<OtherHost, StoreError> {
    let known = id.map(|id| hosts::find(tx, id)).transpose()?.flatten();
    // A renamed host is reached under its new name. A store in a file has only what each row recorded.
    let known = known.filter(|known| known.root.is_some());
    let (name, root) = known.map_or((None, None), |known| (Some(known.name), known.root));
    Ok(OtherHost::new(name.as_deref().unwrap_or(recorded), &host::name(), root))
}

/// The host of a session; `None` when that is this host.
pub fn of_session(tx: &ReadTx<'_>, session: &Session) -> Result<Option<OtherHost>, StoreError> {
    if host::identity().owns(&session.host, session.host_id.as_deref()) {
        return Ok(None);
    }
    find(tx, &session.host, session.host_id.as_deref()).map(Some)
}

pub fn of_lane(tx: &ReadTx<'_>, lane: &Lane) -> Result<OtherHost, StoreError> {
    find(tx, lane.host.as_deref().unwrap_or_default(), lane.host_id.as_deref())
}

/// The refusal of a command that needs a lane's worktree, for a lane whose worktree is on another host. `words` are the arguments
/// of the command that the hint suggests to run there.
pub fn lane_refusal(tx: &ReadTx<'_>, lane: &Lane, words: &[&str]) -> Result<Refusal> {
    let host = of_lane(tx, lane)?;
    Ok(Refusal::LaneElsewhere { lane: lane.name.clone(), command: host.command(words), host: host.name })
}

/// Refuses a command that needs a lane's worktree when the worktree is on another host. `words` are the arguments of the command
/// that the hint suggests to run there.
///
/// # Errors
/// `lane_elsewhere`.
pub fn refuse_lane(app: &App, lane: &Lane, words: &[&str]) -> Result<()> {
    if has_worktree(app, lane) { Err(app.read(|tx| lane_refusal(tx, lane, words))?.into()) } else { Ok(()) }
}

/// The refusal of a command that needs a session's process or directory, for a session of another host. `words` are the arguments
/// of the command that the hint suggests to run there.
pub fn session_refusal(app: &App, tx: &ReadTx<'_>, session: &Session, words: &[&str]) -> Result<Refusal> {
    let host = find(tx, &session.host, session.host_id.as_deref())?;
    let is_silent = !LastHeard::of_session(tx, session, now(app)?)?.is_recent(app);
    let command = host.command(words);
    Ok(Refusal::SessionElsewhere { session: session.id.clone(), command, host: host.name, is_silent })
}

/// The refusal of a command that needs a job's process or output, for a job of another host. `words` are the arguments of the
/// command that the hint suggests to run there, without the job's id.
pub fn job_refusal(app: &App, tx: &ReadTx<'_>, job: &Job, words: &[&str]) -> Result<Refusal> {
    let host = find(tx, &job.host, job.host_id.as_deref())?;
    let id = job.id.to_string();
    let command = host.command(&[words, &[id.as_str()]].concat());
    let is_silent = !LastHeard::of_job(tx, job, now(app)?)?.is_recent(app);
    Ok(Refusal::JobElsewhere { run: id, host: host.name, command, is_silent })
}

/// The time of the clock that writes the rows of hosts: for a store on a server, the server's.
fn now(app: &App) -> Result<Timestamp> {
    Ok(app.store_for_reading()?.time(app.env.now())?)
}
