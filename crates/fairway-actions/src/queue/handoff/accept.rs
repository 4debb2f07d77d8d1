//! Accepts a handoff, with or without the claim, and with or without its commits.

use anyhow::Result;

use super::work::{self, HandedWork};
use super::{HandoffForActor, load_for, record_answer};
use crate::core::lookup;
use crate::queue::lane::{checkout, worktree};
use crate::queue::task::claim_place::{self, PlannedPlace};
use crate::queue::{handoff, landed_here};
use crate::{Answer, App};
use fairway_core::domain::claim::{Claim, Takeover};
use fairway_core::domain::handoff::{Handoff, HandoffStatus};
use fairway_core::domain::lane::Lane;
use fairway_core::domain::rules::{self, claim as lanes_rule};
use fairway_core::domain::task::Task;
use fairway_core::domain::{Actor, LaneName, Refusal, Role};
use fairway_core::store::{ReadTx, WriteTx, claims, tasks};
use fairway_core::wire::{AcceptedHandoffView, LaneSyncView};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acceptance {
    /// The task keeps its claimant.
    WithoutClaim,
    /// The actor gets the claim. A task whose work has begun stays in its lane.
    WithClaim,
    /// The actor gets the claim, and the commits come into the actor's own lane.
    WithWork,
}

/// Accepts an open handoff; the actor must have the role, or be in the lane, that the handoff is for. With the claim, the
/// actor becomes the claimant in the same transaction; when the claim is refused, the handoff stays open.
///
/// # Errors
/// `already_answered`, `role_mismatch`, `lane_mismatch`; with the claim also the refusals of a claim; with the work also
/// `work_not_moved`, `unsaved_work`, `in_use`, `sync_conflict` and the other errors of a sync.
pub fn accept(app: &App, id: i64, how: Acceptance) -> Result<Answer> {
    if how == Acceptance::WithWork {
        return accept_with_work(app, id);
    }
    let task = app.read(|tx| Ok(handoff::find(tx, id)?.task))?;
    if how == Acceptance::WithClaim {
        app.read(|tx| landed_here::not_ready_reasons_now(app, tx, &lookup::task(tx, &task)?).map(drop))?;
    }
    let work = work::find(app, &task)?.filter(HandedWork::is_begun);
    app.mutate(|tx| {
        let asked = load_for(app, tx, id, HandoffStatus::Accepted)?;
        let task = lookup::task(tx, &asked.handoff.task)?;
        if asked.repeat_answer.is_some() {
            return unchanged(&asked.handoff, &task, work.as_ref());
        }
        if how == Acceptance::WithoutClaim {
            let handoff = record_answer(tx, asked.handoff, HandoffStatus::Accepted, None)?;
            let line = format!("accepted handoff {id} of {}; {}", task.id, claimant_clause(&task));
            return answer(&handoff, &task, work.as_ref(), None, line);
        }
        // The commits do not move with the claim.
        let of_work = work.as_ref().and_then(|work| work.lane.clone());
        let of_work = of_work.filter(|lane| task.fields.lane.as_ref() == Some(lane));
        let lane = of_work.or_else(|| asked.handoff.to_lane.clone());
        take(app, tx, asked, &task, lane.as_ref(), work.as_ref(), None)
    })
}

/// Accepts with the claim and brings the commits into the actor's own lane. The merge is worked out first, so a
/// conflict changes nothing. After a crash either nothing has moved, or the same command finishes the acceptance.
fn accept_with_work(app: &App, id: i64) -> Result<Answer> {
    if let Some(answer) = app.stored_response()? {
        return Ok(answer);
    }
    worktree::check_actor(app)?;
    let load = || {
        app.read(|tx| {
            let asked = load_for(app, tx, id, HandoffStatus::Accepted)?;
            let task = lookup::task(tx, &asked.handoff.task)?;
            Ok((work::own_lane(app, tx, &asked.handoff)?, asked, task))
        })
    };
    let (own, _, task) = load()?;
    let _held = work::lock(app, &own, &task)?;
    let (own, asked, task) = load()?;
    if asked.repeat_answer.is_some() {
        return repeat_with_work(app, &asked.handoff, &task, &own);
    }
    app.read(|tx| {
        landed_here::not_ready_reasons_now(app, tx, &task)?;
        plan_claim(app, tx, &asked.handoff, &task, Some(&own.name), asked.role.clone()).map(drop)
    })?;
    let update = work::prepare(app, &asked.handoff, &task, &own)?;
    let Some(update) = update else {
        let work = work::find(app, &task.id)?.filter(HandedWork::is_begun);
        return app.mutate(|tx| take_into(app, tx, id, &own.name, &task, work.as_ref(), None));
    };
    let base = checkout::base(app, &own);
    if update.behind == 0 {
        let work = HandedWork::of_lane(app, &own, base, &update.head)?;
        let moved = Moved {
            view: update.view("up_to_date", Some(&update.head), false),
            line: update.line("up_to_date", false),
        };
        return app.mutate(|tx| take_into(app, tx, id, &own.name, &task, Some(&work), Some(moved)));
    }
    let (how, plan) = update.plan(app, false)?;
    let work = HandedWork::of_lane(app, &own, base, &plan.to)?;
    let moved = Moved { view: update.view(how, Some(&plan.to), false), line: update.line(how, false) };
    update.apply(app, &plan, |tx| take_into(app, tx, id, &own.name, &task, Some(&work), Some(moved)))
}

struct Moved {
    view: LaneSyncView,
    line: String,
}

/// The answer to a repeat by the same actor: the work is in the actor's lane, or stays where the first acceptance left
/// it.
fn repeat_with_work(app: &App, handoff: &Handoff, task: &Task, own: &Lane) -> Result<Answer> {
    let work = work::find(app, &task.id)?.filter(HandedWork::is_begun);
    if task.fields.lane.as_ref() == Some(&own.name) {
        return app.mutate(|_| unchanged(handoff, task, work.as_ref()));
    }
    let place = work.as_ref().map_or_else(|| "elsewhere".to_owned(), HandedWork::place);
    let why = format!("it is accepted already, without --move, and its work stays in {place}");
    let hint = match (work.as_ref().and_then(|work| work.branch.as_ref()), &own.worktree) {
        (Some(branch), Some(dir)) => format!(
            "bring its commits into the lane {} yourself: git -C {} merge {}",
            own.name,
            shell_words::quote(dir),
            shell_words::quote(branch)
        ),
        _ => format!("see where it is: fairway task show {}", task.id),
    };
    Err(Refusal::WorkNotMoved { handoff: handoff.id, why, hint }.into())
}

/// Accepts with the claim, in the actor's own lane, unless the task has changed lanes since its commits were found.
fn take_into(
    app: &App,
    tx: &WriteTx<'_>,
    id: i64,
    own: &LaneName,
    planned: &Task,
    work: Option<&HandedWork>,
    moved: Option<Moved>,
) -> Result<Answer> {
    let asked = load_for(app, tx, id, HandoffStatus::Accepted)?;
    let task = lookup::task(tx, &asked.handoff.task)?;
    if asked.repeat_answer.is_some() || task.fields.lane != planned.fields.lane {
        let why = format!("{} has changed meanwhile", task.id);
        let hint = format!("try again: fairway handoff accept {id} --move");
        return Err(Refusal::WorkNotMoved { handoff: id, why, hint }.into());
    }
    take(app, tx, asked, &task, Some(own), work, moved)
}

fn take(
    app: &App,
    tx: &WriteTx<'_>,
    asked: HandoffForActor,
    task: &Task,
    lane: Option<&LaneName>,
    work: Option<&HandedWork>,
    moved: Option<Moved>,
) -> Result<Answer> {
    let planned = plan_claim(app, tx, &asked.handoff, task, lane, asked.role)?;
    // The answer first: in the event log the handoff comes before its claim.
    let handoff = record_answer(tx, asked.handoff, HandoffStatus::Accepted, None)?;
    let claim = planned.install(app, tx, task)?;
    let line = format!(
        "accepted handoff {} of {}, which is now claimed by {} under epoch {}: {}",
        handoff.id, task.id, claim.claimant, claim.epoch, task.fields.title
    );
    answer(&handoff, &lookup::task(tx, &task.id)?, work, moved, line)
}

fn unchanged(handoff: &Handoff, task: &Task, work: Option<&HandedWork>) -> Result<Answer> {
    let line = format!("unchanged: handoff {} is accepted already; {}", handoff.id, claimant_clause(task));
    answer(handoff, task, work, None, line)
}

/// Who has claimed the task, as a clause of a sentence.
fn claimant_clause(task: &Task) -> String {
    let id = &task.id;
    match task.state.claim() {
        Some(claim) => format!("{id} is claimed by {}", claim.claimant),
        None if task.state.status().is_closed() => format!("{id} is {}", task.state.status()),
        None => format!("{id} is not claimed; to claim it: fairway claim {id}"),
    }
}

fn answer(
    handoff: &Handoff,
    task: &Task,
    work: Option<&HandedWork>,
    moved: Option<Moved>,
    mut line: String,
) -> Result<Answer> {
    let claim = task.state.claim();
    line = format!("{line}\n  summary: {}", handoff.summary);
    if let Some(work) = work {
        line = format!("{line}\n  {}", work.line());
    }
    if let Some(moved) = &moved {
        line = format!("{line}\n  moved: {}", moved.line);
    }
    let view = AcceptedHandoffView {
        handoff: handoff.clone(),
        claimant: claim.map(|claim| claim.claimant.clone()),
        epoch: claim.map(|claim| claim.epoch),
        work: work.map(HandedWork::view),
        moved: moved.map(|moved| moved.view),
    };
    Answer::new(&view, handoff.id, line)
}

pub(super) struct PlannedClaim {
    takeover: Takeover,
    place: PlannedPlace,
    role: Option<Role>,
}

/// Plans the move of the claim to the actor. `lane` is the lane into which the task goes, by default the one that a claim
/// would choose.
pub(super) fn plan_claim(
    app: &App,
    tx: &ReadTx<'_>,
    handoff: &Handoff,
    task: &Task,
    lane: Option<&LaneName>,
    role: Option<Role>,
) -> Result<PlannedClaim> {
    // An acceptor without a role acts in the role that the handoff is for.
    let role = role.or_else(|| handoff.to_role.clone());
    // The handoff of a claim stays acceptable after a later session has continued the claim.
    let first_epoch = claims::chain(tx, &task.id)?.map_or(task.epoch, |chain| chain.first_epoch);
    let takeover = rules::handoff::claim_takeover(handoff, task, first_epoch, &app.actor, role.as_ref())?;
    let session = app.actor.session.as_ref().map(|id| lookup::session(tx, id)).transpose()?;
    if let Some(session) = &session {
        session.check_open()?;
    }
    let home = session.and_then(|session| session.lane);
    let place = claim_place::plan(tx, task, &takeover, &app.actor, home.as_ref())?;
    let place = match lane {
        Some(lane) => place.put_in(lane),
        None => place,
    };
    let waiting = landed_here::not_ready_reasons(app, tx, task)?;
    if !waiting.is_empty() {
        return Err(Refusal::DepsOpen { task: task.id.clone(), waiting }.into());
    }
    check_lane_capacity(tx, handoff, task, place.task_lane.as_ref())?;
    Ok(PlannedClaim { takeover, place, role })
}

impl PlannedClaim {
    /// Makes the claim, in the transaction that records the acceptance.
    pub(super) fn install(self, app: &App, tx: &WriteTx<'_>, task: &Task) -> Result<Claim> {
        let actor = Actor { role: self.role, ..app.actor.clone() };
        let claim = task.new_claim(&actor, tx.now(), app.settings.claims.lease);
        claim_place::install(app, tx, task, &claim, &self.takeover, &self.place)?;
        Ok(claim)
    }
}

/// Checks the WIP limits of the lane in which the task will be, and of the handoff's lane.
fn check_lane_capacity(tx: &ReadTx<'_>, handoff: &Handoff, task: &Task, lane: Option<&LaneName>) -> Result<()> {
    let mut lanes: Vec<_> = lane.into_iter().chain(&handoff.to_lane).collect();
    lanes.dedup();
    for name in lanes {
        let lane = lookup::lane(tx, name)?;
        lanes_rule::check_capacity(&lane, tasks::held_in_lane(tx, name, Some(&task.id))?)?;
    }
    Ok(())
}
