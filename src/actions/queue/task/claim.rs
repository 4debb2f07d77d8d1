//! Taking a task.

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

/// What is to be claimed, and how.
#[derive(Debug, Clone, Default)]
pub struct ClaimRequest {
    /// This task; `None` takes the first that fits.
    pub id: Option<TaskId>,
    /// In this role.
    pub role: Option<Role>,
    /// In this lane.
    pub lane: Option<LaneName>,
    /// Tasks of every role.
    pub any_role: bool,
    /// For so long without a sign of life; `None` takes the setting.
    pub lease: Option<Duration>,
    /// From its holder, with this reason.
    pub steal: Option<String>,
}

/// Claims a task.
///
/// # Errors
/// The code of the rule that bars it; `nothing_ready` when nothing can be taken.
pub fn claim(app: &App, wish: &ClaimRequest) -> Result<Answer> {
    if let Some(reason) = &wish.steal {
        text_limits::check_line("reason", reason)?;
    }
    if wish.lease.is_some_and(|lease| lease.is_zero()) {
        return Err(Refusal::invalid("lease", "must be longer than nothing: it would have expired at once").into());
    }
    app.mutate(|tx| {
        if let Some(lane) = &wish.lane {
            lookup::lane(tx, lane)?;
        }
        if let Some(session) = &app.actor.session {
            let session = lookup::session(tx, session)?;
            if session.status.is_final() {
                return Err(Refusal::SessionFinal { session: session.id, status: session.status }.into());
            }
        }
        match &wish.id {
            Some(id) => claim_by_id(app, tx, wish, id),
            None => claim_next_ready(app, tx, wish),
        }
    })
}

fn claim_by_id(app: &App, tx: &WriteTx<'_>, wish: &ClaimRequest, id: &TaskId) -> Result<Answer> {
    let task = lookup::task(tx, id)?;
    if let Some(epoch) = app.actor.epoch {
        // Whoever names an epoch wants this claim and no later one, also when they mean to take it over.
        if epoch != task.epoch {
            lookup::check_authority(tx, &task, &app.actor, TaskWrite::Transition)?;
        }
        if let Some(claim) = task.state.claim().filter(|claim| claim.claimant == app.actor.name) {
            return renew(app, tx, wish, &task, claim);
        }
    }
    let granted = decide(app, tx, wish, &task, &OnceCell::new())?;
    grant(app, tx, wish, &task, &granted)
}

/// `claim ID --epoch N` by the holder renews the lease.
fn renew(app: &App, tx: &WriteTx<'_>, wish: &ClaimRequest, task: &Task, claim: &Claim) -> Result<Answer> {
    let lease = wish.lease.or(claim.lease).or(app.settings.lease);
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

/// The first ready task that passes every rule, else the first whose lease has expired.
fn claim_next_ready(app: &App, tx: &WriteTx<'_>, wish: &ClaimRequest) -> Result<Answer> {
    let held = OnceCell::new();
    let (mut skipped, mut taken, mut failed) = (Vec::new(), None, None);
    let mut consider = |task: Task| -> bool {
        match decide(app, tx, wish, &task, &held) {
            Ok(granted) => taken = Some((task, granted)),
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
    let mut go_on = true;
    tasks::for_each_ready(tx, None, None, |task| {
        go_on = consider(task);
        Ok(go_on)
    })?;
    if go_on {
        for task in tasks::expired(tx, tx.now())? {
            if !consider(task) {
                break;
            }
        }
    }
    match (taken, failed) {
        (Some((task, granted)), _) => grant(app, tx, wish, &task, &granted),
        (None, Some(error)) => Err(error),
        (None, None) => Err(Refusal::NothingReady { skipped }.into()),
    }
}

/// The paths of all tasks that others hold: asked for once, by the first task that has paths of its own.
type HeldPathsCache = OnceCell<Vec<rule::HeldPaths>>;

fn decide(app: &App, tx: &ReadTx<'_>, wish: &ClaimRequest, task: &Task, held: &HeldPathsCache) -> Result<ClaimGrant> {
    let claimer = ClaimantFacts {
        actor: &app.actor,
        role: wish.role.as_ref(),
        lane: wish.lane.as_ref(),
        any_role: wish.any_role,
        steal: wish.steal.as_deref(),
    };
    // The cheap rule first: a store with a million tasks of other roles is passed quickly.
    if wish.id.is_none() {
        rule::check_role_and_lane(task, &claimer)?;
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
    Ok(rule::decide(task, &claimer, &facts, app.env.now())?)
}

/// The rule that bars a claim by anybody on a ready task, whatever its role: lane or paths.
///
/// # Errors
/// As the store fails.
pub fn blocking_rule(app: &App, tx: &ReadTx<'_>, task: &Task) -> Result<Option<Refusal>> {
    let anybody = ClaimRequest { id: Some(task.id.clone()), any_role: true, ..ClaimRequest::default() };
    match decide(app, tx, &anybody, task, &OnceCell::new()) {
        Ok(_) => Ok(None),
        Err(error) => error.downcast().map(Some),
    }
}

fn grant(app: &App, tx: &WriteTx<'_>, wish: &ClaimRequest, task: &Task, granted: &ClaimGrant) -> Result<Answer> {
    let actor = crate::domain::Actor { role: wish.role.clone(), ..app.actor.clone() };
    let claim = task.new_claim(&actor, tx.now(), wish.lease.or(app.settings.lease));
    install(tx, task, &claim, &granted.takeover)?;
    let how = match &granted.takeover {
        Takeover::Fresh => String::new(),
        Takeover::Expired { from } => format!(" (the lease of {from} had expired)"),
        Takeover::Stolen { from, .. } => format!(" from {from}"),
        Takeover::HandedOver { from } => from.as_ref().map(|from| format!(" from {from}")).unwrap_or_default(),
    };
    let line = format!("claimed {} under epoch {}{how}: {}", task.id, claim.epoch, task.fields.title);
    let answer = answer(tx, task, line)?;
    Ok(match &granted.conflict {
        Some(conflict) => answer.note(format!("warning: {conflict}")),
        None => answer,
    })
}

fn answer(tx: &ReadTx<'_>, task: &Task, line: String) -> Result<Answer> {
    Answer::new(&json!({ "task": lookup::task_view(tx, &task.id)? }), &task.id, line)
}

/// Puts a claim in force, ends the one before it, and records both.
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
