//! Claim a task, or renew its lease.

use std::{cell::OnceCell, time::Duration};

use anyhow::Result;
use serde_json::json;

use crate::{
    actions::{Answer, App, core::lookup},
    domain::{
        Event, EventKind, LaneName, Refusal, Role, TaskId,
        claim::{Claim, Takeover},
        refusal::SkippedTask,
        rules::{
            claim as rule,
            claim::{ClaimFacts, ClaimGrant, ClaimantFacts, PathPolicy},
            fencing::TaskWrite,
        },
        task::{Task, TaskState},
        text_limits,
    },
    store::{ReadTx, WriteTx, claims, lanes, tasks},
};

/// A claim request.
#[derive(Debug, Clone, Default)]
pub struct ClaimRequest {
    /// The task; `None` for the next ready task that fits.
    pub id: Option<TaskId>,
    /// The claimant's role.
    pub role: Option<Role>,
    /// The claimant's lane.
    pub lane: Option<LaneName>,
    /// Whether tasks of any role fit.
    pub any_role: bool,
    /// The lease: another actor may take over after this time without a heartbeat. `None` for the setting.
    pub lease: Option<Duration>,
    /// The reason for a takeover from the claimant.
    pub steal: Option<String>,
}

/// Claims a task.
///
/// # Errors
/// The code of the rule that excludes the task; `nothing_ready` if no task can be claimed.
pub fn claim(app: &App, request: &ClaimRequest) -> Result<Answer> {
    if let Some(reason) = &request.steal {
        text_limits::check_line("reason", reason)?;
    }
    if request.lease.is_some_and(|lease| lease.is_zero()) {
        return Err(Refusal::invalid("lease", "must be greater than zero").into());
    }
    app.mutate(|tx| {
        if let Some(lane) = &request.lane {
            lookup::lane(tx, lane)?;
        }
        if let Some(session) = &app.actor.session {
            let session = lookup::session(tx, session)?;
            if session.status.is_final() {
                return Err(Refusal::SessionFinal { session: session.id, status: session.status }.into());
            }
        }
        match &request.id {
            Some(id) => claim_by_id(app, tx, request, id),
            None => claim_next_ready(app, tx, request),
        }
    })
}

fn claim_by_id(app: &App, tx: &WriteTx<'_>, request: &ClaimRequest, id: &TaskId) -> Result<Answer> {
    let task = lookup::task(tx, id)?;
    if let Some(epoch) = app.actor.epoch {
        // An epoch names one claim. A later claim refuses it, even for a takeover.
        if epoch != task.epoch {
            lookup::check_authority(tx, &task, &app.actor, TaskWrite::Transition)?;
        }
        if let Some(claim) = task.state.claim().filter(|claim| claim.claimant == app.actor.name) {
            return renew(app, tx, request, &task, claim);
        }
    }
    let granted = decide(app, tx, request, &task, &OnceCell::new())?;
    grant(app, tx, request, &task, &granted)
}

/// Renews the lease: `claim ID --epoch N` by the claimant.
fn renew(app: &App, tx: &WriteTx<'_>, request: &ClaimRequest, task: &Task, claim: &Claim) -> Result<Answer> {
    let lease = request.lease.or(claim.lease).or(app.settings.lease);
    let (TaskState::InProgress(_), Some(lease)) = (&task.state, lease) else {
        let line = format!("unchanged: {} is yours under epoch {}, without a lease", task.id, claim.epoch);
        return answer(tx, task, line);
    };
    let until = tx.now().plus(lease);
    let renewed = Claim { lease: Some(lease), lease_until: Some(until), ..claim.clone() };
    tasks::set_state(tx, task, &TaskState::InProgress(renewed))?;
    tx.record(
        &Event::new(EventKind::TaskRenewed)
            .task(&task.id)
            .lane(task.fields.lane.as_ref())
            .with("epoch", claim.epoch)
            .with("lease_until", until.to_string()),
    )?;
    answer(tx, task, format!("renewed {} until {until}", task.id))
}

/// Claims the first ready task that passes every rule, else the first one with an expired lease.
fn claim_next_ready(app: &App, tx: &WriteTx<'_>, request: &ClaimRequest) -> Result<Answer> {
    let held = OnceCell::new();
    let (mut skipped, mut found, mut failed) = (Vec::new(), None, None);
    let mut consider = |task: Task| -> bool {
        match decide(app, tx, request, &task, &held) {
            Ok(granted) => found = Some((task, granted)),
            Err(error) => match error.downcast_ref::<Refusal>() {
                Some(refusal) => {
                    skipped.push(SkippedTask { task: task.id.clone(), code: refusal.code() });
                    return true;
                }
                None => failed = Some(error),
            },
        }
        false
    };
    let mut continues = true;
    tasks::for_each_ready(tx, None, None, |task| {
        continues = consider(task);
        Ok(continues)
    })?;
    if continues {
        for task in tasks::expired(tx, tx.now())? {
            if !consider(task) {
                break;
            }
        }
    }
    match (found, failed) {
        (Some((task, granted)), _) => grant(app, tx, request, &task, &granted),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Refusal::NothingReady { skipped }.into()),
    }
}

/// The paths of all tasks that others have claimed. Loaded once, by the first task with paths.
type HeldPathsCache = OnceCell<Vec<rule::HeldPaths>>;

fn decide(
    app: &App,
    tx: &ReadTx<'_>,
    request: &ClaimRequest,
    task: &Task,
    held: &HeldPathsCache,
) -> Result<ClaimGrant> {
    let claimant = ClaimantFacts {
        actor: &app.actor,
        role: request.role.as_ref(),
        lane: request.lane.as_ref(),
        any_role: request.any_role,
        steal: request.steal.as_deref(),
    };
    // The cheap rule first: it skips tasks of other roles without a query.
    if request.id.is_none() {
        rule::check_role_and_lane(task, &claimant)?;
    }
    let lane = match &task.fields.lane {
        Some(name) => lanes::find(tx, name)?,
        None => None,
    };
    let in_lane = match &lane {
        Some(lane) => tasks::held_in_lane(tx, &lane.name, Some(&task.id))?,
        None => 0,
    };
    let waiting = lookup::not_ready_reasons(tx, task)?;
    let policy = if task.fields.paths.is_empty() { PathPolicy::Off } else { app.settings.path_policy };
    if policy != PathPolicy::Off && held.get().is_none() {
        let _ = held.set(tasks::held_paths(tx, &app.actor.name)?);
    }
    let facts = ClaimFacts {
        lane: lane.as_ref().map(|lane| (lane, in_lane)),
        waiting: &waiting,
        held_paths: held.get().map(Vec::as_slice).unwrap_or_default(),
        path_policy: policy,
    };
    Ok(rule::decide(task, &claimant, &facts, app.env.now())?)
}

/// The rule that keeps every actor from claiming a ready task: its lane or its paths.
///
/// # Errors
/// As the store fails.
pub fn blocking_rule(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Option<Refusal>> {
    let any_actor = ClaimRequest { id: Some(task.id.clone()), any_role: true, ..ClaimRequest::default() };
    match decide(app, tx, &any_actor, task, &OnceCell::new()) {
        Ok(_) => Ok(None),
        Err(error) => error.downcast().map(Some),
    }
}

fn grant(app: &App, tx: &WriteTx<'_>, request: &ClaimRequest, task: &Task, granted: &ClaimGrant) -> Result<Answer> {
    let actor = crate::domain::Actor { role: request.role.clone(), ..app.actor.clone() };
    let claim = task.new_claim(&actor, tx.now(), request.lease.or(app.settings.lease));
    install(tx, task, &claim, &granted.takeover)?;
    let how = match &granted.takeover {
        Takeover::Fresh => String::new(),
        Takeover::Expired { from } => format!(" (the lease of {from} had expired)"),
        Takeover::Stolen { from, .. } => format!(" from {from}"),
        Takeover::HandedOver { from } => from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default(),
    };
    let line = format!("claimed {}{how}: {}", task.id, task.fields.title);
    let answer = answer(tx, task, line)?;
    Ok(match &granted.conflict {
        Some(conflict) => answer.note(format!("warning: {conflict}")),
        None => answer,
    })
}

fn answer(tx: &ReadTx<'_>, task: &Task, line: String) -> Result<Answer> {
    Answer::new(&json!({ "task": lookup::task_view(tx, &task.id)? }), &task.id, line)
}

/// Installs a claim and ends the previous one, with the event.
///
/// # Errors
/// As the store fails.
pub fn install(tx: &WriteTx<'_>, task: &Task, claim: &Claim, takeover: &Takeover) -> Result<()> {
    if let Some(how) = takeover.previous_end() {
        claims::end(tx, &task.id, how)?;
    }
    tasks::set_state(tx, task, &TaskState::InProgress(claim.clone()))?;
    claims::insert(tx, &task.id, claim)?;
    let (how, from, reason) = match takeover {
        Takeover::Fresh => ("fresh", None, None),
        Takeover::Expired { from } => ("expired", Some(from.as_str()), None),
        Takeover::Stolen { from, reason } => ("stolen", Some(from.as_str()), Some(reason.as_str())),
        Takeover::HandedOver { from } => ("handed_over", from.as_deref(), None),
    };
    tx.record(
        &Event::new(EventKind::TaskClaimed)
            .task(&task.id)
            .lane(task.fields.lane.as_ref())
            .with("epoch", claim.epoch)
            .with("claimant", claim.claimant.as_str())
            .with("role", claim.role.as_ref().map(ToString::to_string))
            .with("takeover", how)
            .with("from", from)
            .with("reason", reason),
    )?;
    Ok(())
}
