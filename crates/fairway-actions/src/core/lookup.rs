//! Lookups by id, with similar ids in the error; permission to write to a task.

use anyhow::Result;

use super::session_process::{self, RunProcesses};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::rules::fencing::{self, TaskWrite};
use fairway_core::domain::session::Session;
use fairway_core::domain::task::{NotReadyReason, Task};
use fairway_core::domain::{Actor, LaneName, Refusal, Role, RoutingKey, RunId, SessionId, TaskId};
use fairway_core::store::{ReadTx, StoreError, claims, jobs, lanes, messages, removed_tasks, sessions, tasks};
use fairway_core::wire::TaskView;

pub fn task(tx: &ReadTx<'_>, id: &TaskId) -> Result<Task> {
    match tasks::find(tx, id)? {
        Some(task) => Ok(task),
        None => match removed_tasks::find(tx, id)? {
            Some(at) => Err(Refusal::TaskRemoved { task: id.clone(), at }.into()),
            None => Err(unknown_task(tx, id)?),
        },
    }
}

fn unknown_task(tx: &ReadTx<'_>, id: &TaskId) -> Result<anyhow::Error> {
    let near = tasks::ids_spelled_alike(tx, id.as_str())?;
    if near.is_empty() {
        return Ok(not_found("task", id.as_str(), tasks::similar_ids(tx, id.as_str())?));
    }
    Ok(Refusal::NotFound { noun: "task", id: id.to_string(), near }.into())
}

pub fn lane(tx: &ReadTx<'_>, name: &LaneName) -> Result<Lane> {
    match lanes::find(tx, name)? {
        Some(lane) => Ok(lane),
        None => {
            let names = lanes::all(tx)?.into_iter().map(|lane| lane.name.to_string()).collect();
            Err(not_found("lane", name.as_str(), names))
        }
    }
}

pub fn session(tx: &ReadTx<'_>, id: &SessionId) -> Result<Session> {
    match sessions::find(tx, id)? {
        Some(session) => Ok(session),
        None => Err(not_found("session", id.as_str(), sessions::similar_ids(tx, id.as_str())?)),
    }
}

/// The lane of a task; `None` when the task names no lane, or one that was removed.
pub fn lane_of(tx: &ReadTx<'_>, task: &Task) -> Result<Option<Lane>, StoreError> {
    Ok(task.fields.lane.as_ref().map(|name| lanes::find(tx, name)).transpose()?.flatten())
}

/// The session of a session run, final or not.
///
/// # Errors
/// `not_found`.
pub fn session_of_run(tx: &ReadTx<'_>, run_id: &RunId) -> Result<Session> {
    match sessions::by_run_id(tx, run_id)? {
        Some(session) => Ok(session),
        None => Err(unknown_run(run_id)),
    }
}

/// The `not_found` error for a `run_id` that no session has.
pub(crate) fn unknown_run(run_id: &RunId) -> anyhow::Error {
    Refusal::not_found("session with the run", shown_run(run_id)).into()
}

/// The `run_id` shortened for an error: the caller's text may have any length.
pub(crate) fn shown_run(run_id: &RunId) -> String {
    run_id.as_str().chars().take(64).collect()
}

/// The role and the lane that the caller named. A role or lane that the caller did not name is that of the acting session.
///
/// # Errors
/// `not_found` when the acting session is not registered.
pub fn effective_scope(tx: &ReadTx<'_>, actor: &Actor) -> Result<(Option<Role>, Option<LaneName>)> {
    let session = actor.session.as_ref().map(|id| session(tx, id)).transpose()?;
    let (role, lane) = session.map_or((None, None), |session| (Some(session.role), session.lane));
    Ok((actor.role.clone().or(role), actor.lane.clone().or(lane)))
}

/// The role, lane and task that an actor acts in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    pub role: Option<Role>,
    pub lane: Option<LaneName>,
    pub task: Option<TaskId>,
}

/// Like [`effective_scope`], with the task of the acting session. It is no error when that session is not registered.
pub fn implied_scope(tx: &ReadTx<'_>, actor: &Actor) -> Result<Scope> {
    let session = actor.session.as_ref().map(|id| sessions::find(tx, id)).transpose()?.flatten();
    let of_session = session.map(|session| Scope { role: Some(session.role), lane: session.lane, task: session.task });
    let of_session = of_session.unwrap_or_default();
    Ok(Scope {
        role: actor.role.clone().or(of_session.role),
        lane: actor.lane.clone().or(of_session.lane),
        task: of_session.task,
    })
}

/// Whether a session is unregistered, but has messages or started jobs.
pub fn is_unregistered(tx: &ReadTx<'_>, session: &SessionId) -> Result<bool> {
    Ok(sessions::find(tx, session)?.is_none() && is_used_key(tx, &session.clone().into())?)
}

/// Whether jobs were started, or messages sent, under this key.
pub fn is_used_key(tx: &ReadTx<'_>, key: &RoutingKey) -> Result<bool> {
    Ok(!jobs::newest(tx, Some(key), 1)?.is_empty() || messages::has_any_to(tx, key)?)
}

/// Refuses an actor that may not write to a task.
///
/// # Errors
/// `stale_claim`, `not_claimant`.
pub fn check_authority(tx: &ReadTx<'_>, task: &Task, actor: &Actor, intent: TaskWrite) -> Result<()> {
    let latest = claims::latest_epoch(tx, &task.id, &actor.name)?;
    match fencing::check(task, actor, latest, intent) {
        Err(Refusal::NotClaimant { task: id, by, you, .. }) => {
            let can_continue = can_continue(tx, task, actor)?;
            Err(Refusal::NotClaimant { task: id, by, you, can_continue }.into())
        }
        checked => Ok(checked?),
    }
}

/// Whether the actor may continue the claim on a task: the actor is a session in the lane in which the claim was made, and the
/// session that made the claim is over.
pub fn can_continue(tx: &ReadTx<'_>, task: &Task, actor: &Actor) -> Result<bool> {
    let find = |id: &SessionId| sessions::find(tx, id);
    let holder = task.state.claim().and_then(|claim| claim.session.as_ref()).map(find).transpose()?.flatten();
    let own_lane = actor.session.as_ref().map(find).transpose()?.flatten().and_then(|session| session.lane);
    let (Some(holder), Some(own_lane)) = (holder, own_lane) else { return Ok(false) };
    let made_in = claims::newest(tx, &task.id)?.and_then(|claim| claim.place.lane);
    let is_over = || {
        let alive = session_process::aliveness(&holder);
        session_process::proof_of_end(&holder, &alive, &mut RunProcesses::default()).is_ok()
    };
    Ok(actor.session.as_ref() != Some(&holder.id) && made_in == Some(own_lane) && is_over())
}

/// The open dependencies of a task. Empty for a closed task. Reads the store only for an open task that has any.
pub fn not_ready_reasons(tx: &ReadTx<'_>, task: &Task) -> Result<Vec<NotReadyReason>> {
    if task.open_deps == 0 || task.state.status().is_closed() {
        return Ok(Vec::new());
    }
    let waiting = tasks::waiting_on(tx, &task.id)?;
    let Some(lane) = lane_of(tx, task)? else { return Ok(waiting) };
    let all = lanes::all(tx)?;
    let Some(below) = lane.parent(&all) else { return Ok(waiting) };
    let mut open = Vec::new();
    for one in waiting {
        // What the lane was cut from, the work has.
        let on = tasks::find(tx, &one.id)?.filter(|on| on.fields.lane.as_ref() == Some(&below.name));
        if !on.is_some_and(|on| on.state.status().is_claimed()) {
            open.push(one);
        }
    }
    Ok(open)
}

pub fn task_view(tx: &ReadTx<'_>, id: &TaskId) -> Result<TaskView> {
    view(tx, &task(tx, id)?)
}

/// Like [`task_view`], for a task that was read or written in this transaction.
pub fn view(tx: &ReadTx<'_>, task: &Task) -> Result<TaskView> {
    Ok(TaskView::new(task, &not_ready_reasons(tx, task)?))
}

fn not_found(noun: &'static str, id: &str, known: Vec<String>) -> anyhow::Error {
    const MAX_SUGGESTIONS: usize = 3;
    let mut near: Vec<(usize, String)> = known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&known.to_lowercase(), &id.to_lowercase()), known))
        .filter(|(distance, _)| *distance <= id.len().max(4) / 3 + 1)
        .collect();
    near.sort();
    let near = near.into_iter().take(MAX_SUGGESTIONS).map(|(_, known)| known).collect();
    Refusal::NotFound { noun, id: id.to_owned(), near }.into()
}
